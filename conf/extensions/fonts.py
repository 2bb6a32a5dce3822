"""글꼴에서 이 사이트가 쓰는 글자만 골라 담습니다.

한글 글꼴 하나는 1 MB가 넘습니다. 쪽을 모두 쓴 다음, 거기에 나온 글자만 남깁니다. 쪽이
달라지면 글꼴도 함께 달라지므로, 빠진 글자가 있을 수 없습니다. 굵은 글꼴에는 굵게 쓴
글자만 있습니다. 거기에 없는 글자는 보통 글꼴을 굵혀 그립니다(``site.css``). 코드의
한글은 따로 두어, 그것이 있는 쪽에서만 읽습니다.

원본은 ``conf/fonts``에 있고, 허가서(SIL OFL 1.1)에 따라 줄인 글꼴에는 다른 이름을
붙입니다.
"""

import hashlib
import html
import re
import string
from pathlib import Path

import model_scripts
from fontTools import subset
from fontTools.ttLib import TTFont

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "fonts"
SCRIPTS = HERE.parent / "static"
PACKAGE = HERE.parents[1] / "transformer_notes" / "figures" / "fonts"
#: 사이트의 글꼴마다 (원본, 글자를 모으는 곳).
FACES = {
    "NotesSans-Regular": (PACKAGE / "Pretendard-Regular.otf", "text"),
    "NotesSans-Bold": (SOURCES / "Pretendard-Bold.woff2", "bold"),
    "NotesCode-Regular": (SOURCES / "D2Coding.woff2", "code"),
    "NotesCode-Hangul": (SOURCES / "D2Coding.woff2", "hangul"),
    "NotesMath-Regular": (SOURCES / "STIXTwoMath.woff2", "math"),
    "NotesAnswers-Regular": (PACKAGE / "Pretendard-Regular.otf", "answers"),
}
LICENCE = "This Font Software is licensed under the SIL Open Font License, Version 1.1."
#: 자리를 맞추고 부호를 붙이는 것. 쓰지 않는 다른 생김새는 담지 않습니다.
FEATURES = ["ccmp", "kern", "locl", "mark", "mkmk"]
#: 굵게 쓰는 것. 꼬리표나 클래스의 이름입니다.
BOLD = re.compile(
    r"(?s)<(h[1-6]|strong|b|th|dt|legend|summary)\b.*?</\1>"
    r"|<(p|span|div)\b[^>]*class=\"[^\"]*(?:title|rubric|number)[^>]*>.*?</\2>"
)
#: ``site.css``의 unicode-range와 같아야 합니다.
FIRST_HANGUL = "\u2e80"
#: 글에는 없지만 브라우저가 그리는 수식의 글자: 근호, 기울인 로마자와 그리스 문자.
DRAWN = {*"√‾ℎ", *map(chr, range(0x1D434, 0x1D468)), *map(chr, range(0x1D6E2, 0x1D71C))}


def letters(pages):
    """글의 갈래마다 쪽들에 나온 글자. 영문자와 숫자는 언제나 담습니다."""
    found = {name: set(string.printable) for name in ("text", "bold", "code", "math")}
    found["math"] |= DRAWN
    for page in pages:
        rest = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", page)
        for name, tags in (("math", "math"), ("code", "pre|code")):
            inside = re.compile(rf"(?s)<({tags})\b.*?</\1>")
            found[name] |= _text("".join(m[0] for m in inside.finditer(rest)))
            rest = inside.sub("", rest)
        found["text"] |= _text(rest)
        found["bold"] |= _text("".join(m[0] for m in BOLD.finditer(rest)))
    # 수식 안의 한글과, 코드의 글꼴에 없는 글자는 본문의 글꼴이 그립니다.
    found["text"] |= (found["math"] - DRAWN) | found["code"]
    for script in SCRIPTS.glob("*.js"):  # 스크립트가 화면에 적는 글
        found["text"] |= set(script.read_text("utf-8"))
    found["hangul"] = {letter for letter in found["code"] if letter >= FIRST_HANGUL}
    found["code"] -= found["hangul"]
    return {name: "".join(sorted(found[name] - {"\n"})) for name in found}


def _text(page):
    return set(html.unescape(re.sub(r"(?s)<[^>]*>", "", page)))


def reduce(source, name, text, target):
    """원본에서 text의 글자만 남겨 name이라는 글꼴로 적습니다."""
    options = subset.Options(
        flavor="woff2",
        layout_features=FEATURES,
        name_IDs=[0, 1, 2, 13, 14],
        name_languages=[0x409],
        hinting=False,
        recalc_timestamp=False,
    )
    font = TTFont(source, recalcTimestamp=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=text)
    subsetter.subset(font)
    if "MATH" in font:
        level_roots(font)
    family, style = name.split("-")
    for place, said in ((1, family), (2, style), (13, LICENCE)):
        font["name"].setName(said, place, 3, 1, 0x409)
    if "CFF " in font:
        font["CFF "].cff.fontNames = [name]
    partial = target.with_suffix(".new")
    subset.save_font(font, partial, options)
    partial.replace(target)


def level_roots(font):
    """큰 근호의 폭을 작은 근호의 폭에 맞춥니다.

    Chromium은 어느 근호를 그리든 가장 넓은 것만큼 자리를 비웁니다. 그래서 폭이 다르면
    √의 식 뒤에 빈칸이 남습니다.
    """
    root = font.getBestCmap()[ord("√")]
    width, _ = font["hmtx"][root]
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(root)
    taller = variants.VertGlyphConstruction[place]
    names = [record.VariantGlyph for record in taller.MathGlyphVariantRecord]
    names += [part.glyph for part in taller.GlyphAssembly.PartRecords]
    for name in {*names} - {root}:
        glyph, (wide, _) = font["glyf"][name], font["hmtx"][name]
        glyph.coordinates.scale((width / wide, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = width, glyph.xMin


def write(app, exception):
    if exception:
        return
    out = Path(app.outdir)  # Sphinx의 것은 replace가 파일의 이름을 바꾸지 않습니다
    home, kept = out / "_static" / "fonts", out.with_name("fonts")
    for folder in (home, kept):
        folder.mkdir(parents=True, exist_ok=True)
    found = letters(p.read_text("utf-8") for p in out.rglob("*.html"))
    # 브라우저 속의 모델이 답에 쓸 글자. 다른 쪽은 이 글꼴을 읽지 않습니다.
    found["answers"] = "".join(sorted(model_scripts.letters() - set(found["text"])))
    for face, (source, what) in FACES.items():
        makers = source.read_bytes(), Path(__file__).read_bytes(), face, found[what]
        key = hashlib.sha256(repr(makers).encode()).hexdigest()[:16]
        stored = kept / f"{key}.woff2"
        if not stored.exists():
            reduce(source, face, found[what], stored)
        (home / f"{face}.woff2").write_bytes(stored.read_bytes())


def setup(app):
    app.connect("build-finished", write)
