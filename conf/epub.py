"""지은 사이트를 EPUB 한 권으로 묶습니다: ``build/transformer-notes.epub``.

같은 사이트에서는 언제나 같은 바이트가 나옵니다. epubcheck가 있으면 검사하고, 잘못이
있으면 앞서 묶은 책을 그대로 둡니다.
"""

import posixpath
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import leaves
import offered

BOOK = offered.BUILD / "transformer-notes.epub"
TYPES = {
    ".css": "text/css",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".xhtml": "application/xhtml+xml",
}
#: 쪽에 있으면 목록에 적어야 하는 것.
DRAWN = {"mathml": b"<math ", "svg": b"<svg "}


def main():
    book = leaves.read(address)
    with tempfile.TemporaryDirectory(dir=offered.BUILD) as folder:
        new = Path(folder, BOOK.name)
        pack(files(book), new)
        if checker := shutil.which("epubcheck"):
            check(checker, new)
        new.replace(BOOK)
    offered.offer()
    print(f"EPUB을 만들었습니다: {BOOK}")


def address(folder, page, anchor):
    path = posixpath.relpath(f"{page}.xhtml", folder)
    return f"{path}#{anchor}" if anchor else path


def files(book):
    """책에 들 파일: 이름마다 그 바이트. 읽는 순서입니다."""
    listed = leaves.contents(book, address, deep=True)
    pages = {
        "cover": leaves.page("표지", leaves.cover()),
        "nav": leaves.page("차례", f'<nav epub:type="toc">{listed}</nav>'),
    }
    for leaf in book:
        root = "../" * leaf.page.count("/")
        pages[leaf.page] = leaves.page(leaf.title, leaves.xhtml(leaf.body), root)
    written = {f"{name}.xhtml": text.encode() for name, text in pages.items()}
    return written | leaves.materials(book)


def pack(inside, target):
    """시각 없이 묶습니다. ``mimetype``이 맨 앞에, 눌리지 않고 있어야 합니다."""
    whole = {
        "META-INF/container.xml": (leaves.OURS / "container.xml").read_bytes(),
        "book/content.opf": package(inside).encode(),
    }
    whole |= {f"book/{name}": content for name, content in inside.items()}
    with ZipFile(target, "w") as archive:
        archive.writestr(ZipInfo("mimetype"), b"application/epub+zip")
        for name, content in whole.items():
            entry = ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, ZIP_DEFLATED)


def package(inside):
    """책의 이름과 든 것을 적은 ``content.opf``입니다."""
    items = []
    for number, (name, content) in enumerate(inside.items()):
        kind = posixpath.splitext(name)[1]
        marks = {"nav.xhtml": ["nav"], "cover.svg": ["cover-image"]}.get(name, [])
        if kind == ".xhtml":
            marks += [mark for mark, tag in DRAWN.items() if tag in content]
        items.append((f"f{number}", name, TYPES[kind], " ".join(marks)))
    return leaves.render(
        "package.opf",
        title=leaves.TITLE,
        subtitle=leaves.SUBTITLE,
        rights=leaves.LICENCE,
        items=items,
    )


def check(checker, path):
    """잘못이 있으면 끝냅니다."""
    command = [checker]
    if Path(checker).read_bytes()[:2] == b"PK":  # 데비안의 것은 JAR 파일입니다
        command = ["java", "-jar", checker]
    if subprocess.run([*command, "--failonwarnings", path]).returncode:
        sys.exit("epubcheck가 잘못을 찾았습니다. 앞서 만든 책은 그대로입니다.")


if __name__ == "__main__":
    main()
