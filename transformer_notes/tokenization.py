"""글과 토큰 번호 사이를 오가는 바이트 페어 인코딩 토크나이저 (논문 5.1절)."""

import collections
import json
import re
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from transformer_notes import _arguments
from transformer_notes._files import replacing

#: 특수 토큰. 순서가 곧 번호입니다.
SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>")
#: 정규화의 이름과 그 단계. 두 번 해도 한 번 한 것과 같습니다.
#:
#: - ``"nfc"``: 한글의 완성형과 조합형을 같은 글로 봅니다. 어느 표기였는지만 잃고 글은
#:   그대로입니다.
#: - ``"korean"``: NFC에 더해 전각 숫자를 ASCII로, 이어진 빈칸을 공백 하나로 바꾸고, 양
#:   끝의 빈칸을 뗍니다. ㅋ, ㅎ, ㅠ, ㅜ, !, ?, ., ~가 저마다 셋 이상 이어지면 둘만
#:   남깁니다. 말줄임표로 쓴 '...'도 '..'이 됩니다. 숫자의 폭, 빈칸의 종류와 수,
#:   되풀이한 횟수는 되돌리지 못합니다.
#:
#: :meta hide-value:
NORMALIZATIONS = {
    "nfc": normalizers.NFC(),
    "korean": normalizers.Sequence(
        [
            normalizers.NFC(),
            *map(normalizers.Replace, "０１２３４５６７８９", "0123456789"),
            normalizers.Replace(tokenizers.Regex(r"\s+"), " "),
            normalizers.Strip(),
            *(
                normalizers.Replace(tokenizers.Regex(f"[{mark}]{{3,}}"), mark * 2)
                for mark in "ㅋㅎㅠㅜ!?.~"
            ),
        ]
    ),
}


#: 베낄 조각의 자리에 놓는 글자. 유니코드의 사용자 영역이라 보통 글에는 없습니다.
#:
#: :meta hide-value:
PLACEHOLDERS = "".join(map(chr, range(0xE000, 0xE010)))
#: 옮기지 않고 베낄 조각을 찾는 식. 조각은 부른 함수, 코드의 이름, 수, 괄호와 따옴표로
#: 묶은 것, 명령의 인자, 서식 문자입니다. 한글이 든 것과, 빈칸이 들었는데 부른 함수가
#: 아닌 것은 두고 갑니다. 브라우저도 이 식을 그대로 씁니다.
#:
#: :meta hide-value:
COPIED = re.compile(
    "|".join(
        [
            r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_.]*"
            r"\((?!e?s\))(?:[^()가-힣]|\([^()가-힣]*\))*\)",
            r"(?<![A-Za-z0-9_.])(?![eE]\.g|i\.e|a\.k)"
            r"(?=[A-Za-z0-9_.]*(?:_|[A-Za-z0-9]\.[A-Za-z_]|[a-z][A-Z]))"
            r"[A-Za-z_][A-Za-z0-9_.]*[A-Za-z0-9_]",
            r"(?<![A-Za-z0-9_.])[0-9]+(?:\.[0-9]+)*(?![A-Za-z0-9_])",
            r"<[^<>\s가-힣]+>|\[[^\[\]\s가-힣]*\]|\{[^{}\s가-힣]*\}",
            r'"[^"\s가-힣]+"|'
            r"(?<![A-Za-z0-9가-힣])'[^'\s가-힣]+'(?![A-Za-z])",
            r"(?<![A-Za-z0-9_-])--?[A-Za-z][A-Za-z0-9_-]*",
            r"\\[A-Za-z0-9]+|%[A-Za-z]",
            f"[{PLACEHOLDERS[0]}-{PLACEHOLDERS[-1]}]",
        ]
    )
)


def copied_spans(text):
    """글에서 베낄 조각을 나온 차례로 모읍니다. 자리표보다 많은 것은 두고 갑니다.

    Args:
        text: 원문.

    Returns:
        서로 다른 문자열의 목록, 길어도 `PLACEHOLDERS`만큼.

    Examples:
        >>> copied_spans("os.killpg(pid, 9)는 sig가 0이면 '-x'와 max_workers를, e.g.")
        ['os.killpg(pid, 9)', '0', "'-x'", 'max_workers']
        >>> len(copied_spans(" ".join(map(str, range(50)))))
        16
        >>> copied_spans("9, " + PLACEHOLDERS) == list(PLACEHOLDERS)  # 자리표가 먼저
        True
    """
    found = dict.fromkeys(COPIED.findall(text))
    # 글에 자리표가 적혀 있으면 그것부터 넣습니다. 남겨 두면 되돌릴 때 지워집니다.
    return sorted(found, key=lambda span: span not in PLACEHOLDERS)[: len(PLACEHOLDERS)]


def hide(text, spans):
    """베낄 조각을 저마다의 자리표 한 글자로 바꿉니다.

    Args:
        text: 원문이나 번역.
        spans: 원문의 `copied_spans`.

    Returns:
        글.

    Examples:
        >>> spans = copied_spans("Call os.killpg with 9.")
        >>> found = hide("9로 os.killpg를 부릅니다.", spans)
        >>> found == f"{PLACEHOLDERS[1]}로 {PLACEHOLDERS[0]}를 부릅니다."
        True
    """
    marks = dict(zip(spans, PLACEHOLDERS))
    return COPIED.sub(lambda found: marks.get(found[0], found[0]), text)


def show(text, spans):
    """자리표를 조각으로 되돌립니다. 짝이 되는 조각이 없는 자리표는 지웁니다.

    Examples:
        >>> spans = copied_spans("Call os.killpg with 9.")
        >>> show(hide("os.killpg를 9로 부릅니다.", spans), spans)
        'os.killpg를 9로 부릅니다.'
    """
    marks = dict(zip(PLACEHOLDERS, spans))
    return "".join(marks.get(c, "") if c in PLACEHOLDERS else c for c in text)


def pad_rows(rows, pad_id=0, length=None):
    """길이가 서로 다른 줄의 뒤를 채워 배열 하나로 만듭니다.

    Args:
        rows: 토큰 번호의 줄 여럿.
        pad_id: 채울 번호.
        length: 배열의 길이. None이면 가장 긴 줄에 맞춥니다.

    Returns:
        int32, (batch, length).

    Examples:
        >>> pad_rows([[5, 6, 7], [8]])
        array([[5, 6, 7],
               [8, 0, 0]], dtype=int32)
        >>> pad_rows([]).shape
        (0, 0)
    """
    if length is None:
        length = max(map(len, rows), default=0)
    padded = np.full((len(rows), length), pad_id, np.int32)
    for line, row in zip(padded, rows):
        line[: len(row)] = row
    return padded


def text_rows(tokenizer, texts):
    """글마다의 번호입니다. 끝은 `<eos>`이고 패딩은 없습니다.

    Args:
        tokenizer: `Tokenizer`.
        texts: 문자열의 목록. 저마다 비어 있지 않아야 합니다.

    Returns:
        int32 (length,)의 목록. texts와 순서가 같습니다.

    Raises:
        TypeError: 문자열의 목록이 아닌 것.
        ValueError: 빈 글, 짝이 없는 서로게이트가 든 글.

    Examples:
        >>> tokenizer = Tokenizer.train(["책을 책을 책은"], vocab_size=10)
        >>> [row.tolist() for row in text_rows(tokenizer, ["책은", "책을"])]
        [[8, 5, 3], [9, 3]]
        >>> text_rows(tokenizer, ["책은", ""])
        Traceback (most recent call last):
            ...
        ValueError: texts에는 글이 필요합니다. 받은 것: 1번째의 빈 글...
    """
    ids = tokenizer.encode(_strings(texts), eos=True)
    rows = [row[row != tokenizer.pad_id] for row in ids]
    for place, row in enumerate(rows):
        if len(row) == 1:  # <eos>뿐입니다
            raise ValueError(
                f"texts에는 글이 필요합니다. 받은 것: {place}번째의 빈 글. "
                "빈 글을 걸러 주세요."
            )
    return rows


class Tokenizer:
    """글자에서 출발해 자주 이웃하는 쌍을 합친 서브워드로 글을 나눕니다.

    글은 네 단계를 지납니다. 되돌릴 때는 토큰을 이어 붙이고 맨 앞의 공백 하나를 뗍니다.
    첫 단계는 되돌리지 않습니다. 모르는 글자가 없으면 `normalize`의 글이 돌아옵니다.

    1. 정규화합니다. 기본인 NFC는 한글의 완성형과 조합형을 같은 글로 만듭니다.
    2. 맨 앞에 공백을 하나 붙입니다. 첫 낱말도 다른 낱말과 같은 꼴이 됩니다.
    3. 공백 앞과 문장 부호의 양옆에서 자릅니다. 공백은 뒤따르는 낱말에 붙습니다.
    4. 조각마다 글자로 나눈 뒤, 배운 순서대로 쌍을 합칩니다.

    특수 토큰의 번호는 언제나 같습니다: `<pad>` 0, `<unk>` 1, `<bos>` 2, `<eos>` 3.
    글에 적힌 "<eos>"는 특수 토큰이 아니라 글자 다섯 개입니다.

    `Tokenizer.train`이나 `Tokenizer.load`로 만듭니다.

    Examples:
        >>> texts = ["나는 어제 책을 읽었다", "나는 책을 샀다", "책은 어제 샀다"]
        >>> tokenizer = Tokenizer.train(texts, vocab_size=24)
        >>> tokenizer.tokenize("나는 어제 책은 읽었다")
        [' 나는', ' 어제', ' 책', '은', ' ', '읽', '었', '다']
        >>> ids = tokenizer.encode(["책을 읽었다", "책"], eos=True)
        >>> tokenizer.decode(ids)
        ['책을 읽었다', '책']
    """

    pad_id, unk_id, bos_id, eos_id = range(len(SPECIAL_TOKENS))

    def __init__(self, backend):
        self._backend = backend
        self._backend.encode_special_tokens = True  # 파일에는 적히지 않는 설정입니다
        self._ids = backend.get_vocab()

    @classmethod
    def train(cls, texts, vocab_size, min_frequency=2, normalization="nfc"):
        """말뭉치에서 어휘 집합을 배웁니다. 결과는 글의 순서와 관계없이 같습니다.

        가장 자주 이웃한 쌍부터 합칩니다. 횟수가 같으면 번호가 작은 쌍이 먼저입니다.

        Args:
            texts: 문자열의 목록. 공유할 언어는 한 말뭉치로 이어서 넘깁니다.
            vocab_size: 어휘 집합의 크기. 특수 토큰 4개와 말뭉치의 글자가 모두 들어가야
                합니다. 더 합칠 쌍이 없으면 이보다 작게 끝납니다.
            min_frequency: 이보다 드물게 이웃한 쌍은 합치지 않습니다.
            normalization: 다듬는 방법. `NORMALIZATIONS`의 이름.

        Returns:
            `Tokenizer`.

        Raises:
            TypeError: 문자열의 목록이 아닌 말뭉치.
            ValueError: 빈 말뭉치, 짝이 없는 서로게이트가 든 글, 글자가 다 들어가지 않는
                크기, 모르는 정규화.

        Examples:
            >>> Tokenizer.train(["책을 책을"], vocab_size=20).vocabulary[4:]
            [' ', '을', '책', ' 책', ' 책을']
            >>> Tokenizer.train(["책을"], vocab_size=20).vocabulary[4:]  # 한 번뿐입니다
            [' ', '을', '책']
            >>> Tokenizer.train(["책을 책을"], vocab_size=7).vocabulary[4:]  # 글자까지
            [' ', '을', '책']
            >>> Tokenizer.train(["책을"], vocab_size=6)
            Traceback (most recent call last):
                ...
            ValueError: vocab_size에는 7 이상의 정수가 필요합니다...
            >>> Tokenizer.train(["", " "], vocab_size=20)
            Traceback (most recent call last):
                ...
            ValueError: texts에는 글자가 있는 문장이 필요합니다...
        """
        texts = _strings(texts)
        backend = untrained(normalization)
        characters = set()
        for text in texts:
            characters.update(backend.normalizer.normalize_str(text))
        if characters <= {" "}:
            raise ValueError(
                "texts에는 글자가 있는 문장이 필요합니다. 받은 것: 공백뿐인 문장 "
                f"{len(texts)}개. 말뭉치를 제대로 읽었는지 살펴보세요."
            )
        smallest = len(SPECIAL_TOKENS) + len(characters)
        if vocab_size < smallest:
            raise ValueError(
                f"vocab_size에는 {smallest} 이상의 정수가 필요합니다. 특수 토큰 "
                f"{len(SPECIAL_TOKENS)}개와 글자 {len(characters)}종의 자리입니다. "
                f"받은 것: {vocab_size}. "
                "크기를 늘리거나 말뭉치에서 드문 글자를 빼 주세요."
            )
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=list(SPECIAL_TOKENS),
            show_progress=False,
        )
        backend.train_from_iterator(texts, trainer)
        return cls(backend)

    @property
    def vocab_size(self):
        """어휘 집합의 크기. 특수 토큰도 셉니다."""
        return len(self._ids)

    @property
    def vocabulary(self):
        """번호 차례로 늘어놓은 토큰의 목록."""
        return sorted(self._ids, key=self._ids.get)

    def normalize(self, text):
        """토크나이저가 읽는 꼴의 글. 두 번 해도 한 번 한 것과 같습니다.

        Raises:
            TypeError: 문자열이 아닌 글.
            ValueError: 짝이 없는 서로게이트가 든 글.

        Examples:
            >>> tokenizer = Tokenizer.train(["책"], 20, normalization="korean")
            >>> tokenizer.normalize(" １２권... 　재밌다ㅋㅋㅋㅋ")
            '12권.. 재밌다ㅋㅋ'
        """
        (text,) = _strings([text])
        return self._backend.normalizer.normalize_str(text).removeprefix(" ")

    def hide(self, texts):
        """글의 베낄 조각을 자리표로 바꿉니다. 자리표를 배운 토크나이저만 그렇게 합니다.

        Args:
            texts: 문자열의 목록.

        Returns:
            `(texts, spans)`. 모델이 읽을 글의 목록과, 글마다 자리표로 바꾼 조각의
            목록입니다. 답에서는 모듈의 `show`로 되돌립니다.

        Raises:
            TypeError: 문자열의 목록이 아닌 것.
            ValueError: 짝이 없는 서로게이트가 든 글.

        Examples:
            >>> texts = ["os.path를 봅니다", "9를 봅니다"]
            >>> Tokenizer.train(texts, 40).hide(texts) == (texts, [[], []])
            True
            >>> hidden = [hide(text, copied_spans(text)) for text in texts]
            >>> found, spans = Tokenizer.train(hidden, 40).hide(texts)
            >>> found == hidden, spans
            (True, [['os.path'], ['9']])
        """
        count = sum(mark in self._ids for mark in PLACEHOLDERS)
        spans = [copied_spans(text)[:count] for text in _strings(texts)]
        return list(map(hide, texts, spans)), spans

    def tokenize(self, text):
        """문자열 하나를 토큰의 목록으로 나눕니다. 모르는 글자는 `<unk>`입니다.

        Raises:
            TypeError: 문자열이 아닌 글.
            ValueError: 짝이 없는 서로게이트가 든 글.
        """
        (text,) = _strings([text])
        return self._backend.encode(text, add_special_tokens=False).tokens

    def unknown_characters(self, texts):
        """글에서 `<unk>`가 될 글자와 그 횟수를 셉니다.

        Args:
            texts: 문자열, 또는 문자열의 목록.

        Returns:
            `collections.Counter`. 모르는 글자가 없으면 비어 있습니다.

        Raises:
            TypeError: 문자열이 아닌 글.
            ValueError: 짝이 없는 서로게이트가 든 글.

        Examples:
            >>> tokenizer = Tokenizer.train(["책을 읽었다"], vocab_size=20)
            >>> tokenizer.unknown_characters("책을 샀다")
            Counter({'샀': 1})
        """
        texts = _strings([texts] if isinstance(texts, str) else texts)
        normalize = self._backend.normalizer.normalize_str
        return collections.Counter(
            character
            for text in texts
            for character in normalize(text)
            if character not in self._ids
        )

    def encode(
        self, texts, *, bos=False, eos=False, max_length=None, padding="longest"
    ):
        """글을 토큰 번호로 바꿉니다.

        Args:
            texts: 문자열, 또는 문자열의 목록.
            bos: 맨 앞에 `<bos>`를 붙일지.
            eos: 맨 뒤에 `<eos>`를 붙일지.
            max_length: 한 줄의 가장 큰 길이. `<bos>`와 `<eos>`도 셉니다. 넘치는 글은
                뒤를 자르되 `<eos>`는 남깁니다. None이면 자르지 않습니다.
            padding: "longest"이면 가장 긴 줄에, "max_length"이면 `max_length`에 맞추어
                뒤를 `<pad>`로 채웁니다.

        Returns:
            int32 배열. 문자열 하나이면 (length,), 여럿이면 (batch, length).

        Raises:
            TypeError: 문자열이 아닌 글, `max_length` 없는 "max_length".
            ValueError: 짝이 없는 서로게이트가 든 글, 토큰 하나도 담지 못하는 길이,
                모르는 `padding`.

        Examples:
            >>> tokenizer = Tokenizer.train(["책을 책을 책은"], vocab_size=10)
            >>> tokenizer.encode("책은", bos=True, eos=True)
            array([2, 8, 5, 3], dtype=int32)
            >>> tokenizer.encode(["책은", "책을"], eos=True)
            array([[8, 5, 3],
                   [9, 3, 0]], dtype=int32)
            >>> tokenizer.encode("책을 책은")  # 달라고 하지 않으면 글뿐입니다
            array([9, 8, 5], dtype=int32)
            >>> tokenizer.encode("책을 책은", bos=True, eos=True, max_length=3)
            array([2, 9, 3], dtype=int32)
            >>> tokenizer.encode(["책은"], max_length=4, padding="max_length")
            array([[8, 5, 0, 0]], dtype=int32)
            >>> tokenizer.encode("책은", bos=True, eos=True, max_length=2)
            Traceback (most recent call last):
                ...
            ValueError: max_length에는 3 이상의 정수가 필요합니다. 받은 것: 2.
            >>> tokenizer.encode("책은", padding="left")
            Traceback (most recent call last):
                ...
            ValueError: padding에는 'longest', 'max_length' 가운데 하나가 필요합니다...
        """
        _arguments.choice("padding", padding, ("longest", "max_length"))
        single = isinstance(texts, str)
        texts = _strings([texts] if single else texts)
        before, after = [self.bos_id] * bool(bos), [self.eos_id] * bool(eos)
        room = None
        if max_length is not None or padding == "max_length":
            around = len(before) + len(after)
            # 둘 말고도 토큰 하나의 자리가 있어야 합니다.
            room = _arguments.integer("max_length", max_length, around + 1) - around

        encodings = self._backend.encode_batch(texts, add_special_tokens=False)
        rows = [before + encoding.ids[:room] + after for encoding in encodings]
        length = max_length if padding == "max_length" else None
        ids = pad_rows(rows, self.pad_id, length)
        return ids[0] if single else ids

    def decode(self, ids):
        """토큰 번호를 글로 되돌립니다.

        `<pad>`, `<bos>`, `<eos>`는 건너뜁니다. `<unk>`는 잃은 글자가 있던 자리이므로
        그대로 적습니다. 모르는 글자가 없는 글은 `normalize`의 글로 정확히 돌아옵니다.

        Args:
            ids: 정수, (..., length). 줄마다 길이가 다른 목록도 됩니다.

        Returns:
            문자열. 여러 줄이면 문자열의 목록.

        Raises:
            TypeError: 정수가 아닌 번호, 목록이 아닌 번호 하나.
            ValueError: 음수이거나 어휘 집합을 벗어난 번호.

        Examples:
            >>> tokenizer = Tokenizer.train(["책을 책을 책은"], vocab_size=10)
            >>> tokenizer.decode([2, 8, 1, 5, 3]), tokenizer.decode([[8, 5], [9, 0]])
            ('책<unk>은', ['책은', '책을'])
            >>> tokenizer.decode([])
            ''
            >>> tokenizer.decode([10])
            Traceback (most recent call last):
                ...
            ValueError: ids에는 0부터 9까지의 번호가 필요합니다. 받은 것: 10...
            >>> tokenizer.decode([0.9, 0.1])
            Traceback (most recent call last):
                ...
            TypeError: ids에는 정수 토큰 번호가 필요합니다. 받은 dtype: float64...
        """
        try:
            array = np.asarray(ids)
        except ValueError:  # 길이가 서로 다른 줄
            return [self.decode(row) for row in ids]
        if array.ndim > 1:
            return [self.decode(row) for row in array]
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise TypeError(
                f"ids에는 정수 토큰 번호가 필요합니다. 받은 dtype: {array.dtype}. "
                "로짓이라면 argmax로 번호를 먼저 골라 주세요."
            )
        outside = array[(array < 0) | (array >= self.vocab_size)]
        if outside.size:
            raise ValueError(
                f"ids에는 0부터 {self.vocab_size - 1}까지의 번호가 필요합니다. "
                f"받은 것: {outside[0]}. 모델과 토크나이저가 같은 어휘 집합을 쓰는지 "
                "살펴보세요."
            )
        silent = {self.pad_id, self.bos_id, self.eos_id}
        kept = [token_id for token_id in array.tolist() if token_id not in silent]
        return self._backend.decode(kept, skip_special_tokens=False)

    def save(self, path):
        """JSON 파일 하나로 저장합니다. 쓰다가 멈추어도 반쯤 쓴 파일은 남지 않습니다.

        파일은 `tokenizers` 라이브러리도 읽습니다.

        Raises:
            OSError: 쓸 수 없는 자리.
        """
        text = self._backend.to_str(pretty=True)
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path):
        """`save`로 저장한 파일을 읽습니다.

        Raises:
            OSError: 읽을 수 없는 파일.
            ValueError: 망가졌거나 이 클래스가 저장하지 않은 파일.

        Examples:
            >>> import tempfile
            >>> tokenizer = Tokenizer.train(["책을 책을 책은"], vocab_size=10)
            >>> path = Path(tempfile.mkdtemp()) / "tokenizer.json"
            >>> tokenizer.save(path)
            >>> '      " 책": 8,' in path.read_text("utf-8").splitlines()
            True
            >>> again = Tokenizer.load(path)
            >>> again.vocabulary == tokenizer.vocabulary
            True
            >>> again.tokenize("책을<eos>")  # 글에 적힌 것은 특수 토큰이 아닙니다
            [' 책을', '<unk>', '<unk>', '<unk>', '<unk>', '<unk>']
            >>> tokenizers.Tokenizer(models.BPE()).save(str(path))  # 다르게 나누는 것
            >>> Tokenizer.load(path)
            Traceback (most recent call last):
                ...
            ValueError: ...특수 토큰이나 글을 나누는 방법이 다른 토크나이저...
        """
        content = Path(path).read_bytes()
        try:
            backend = tokenizers.Tokenizer.from_str(content.decode("utf-8"))
        except Exception as error:  # 라이브러리가 Exception을 그대로 냅니다
            raise ValueError(
                "path에는 Tokenizer.save로 저장한 온전한 파일이 필요합니다. 받은 것: "
                f"{path} ({len(content)}바이트, {error}). "
                "원본을 다시 복사하거나 Tokenizer.train으로 다시 만들어 주세요."
            ) from None
        ids = sorted(backend.get_vocab().values())
        # 번호를 먼저 봅니다. 라이브러리는 빠진 번호를 하나씩 세며 적으므로, 커다란
        # 번호가 하나만 있어도 _frame이 몇 분씩 걸립니다.
        if ids != list(range(len(ids))) or all(
            _frame(backend) != _frame(untrained(name)) for name in NORMALIZATIONS
        ):
            raise ValueError(
                "path에는 Tokenizer.save로 저장한 파일이 필요합니다. 받은 것: "
                f"{path}, 특수 토큰이나 글을 나누는 방법이 다른 토크나이저. "
                "tokenizers.Tokenizer.from_file로 읽거나 Tokenizer.train으로 새로 "
                "만들어 주세요."
            )
        return cls(backend)


def untrained(normalization="nfc"):
    """특수 토큰과 네 단계만 갖추고 아직 아무것도 배우지 않은 토크나이저를 만듭니다.

    `Tokenizer.train`은 여기에서 배우기 시작하고, `Tokenizer.load`는 읽은 파일이 배운 것
    말고는 이것과 같은지 봅니다.

    Args:
        normalization: `NORMALIZATIONS`의 이름.

    Returns:
        `tokenizers.Tokenizer`.

    Raises:
        ValueError: 모르는 정규화.

    Examples:
        >>> untrained().normalizer.normalize_str("책을")
        ' 책을'
        >>> untrained("nfkc")
        Traceback (most recent call last):
            ...
        ValueError: normalization에는 'nfc', 'korean' 가운데 하나가 필요합니다...
    """
    _arguments.choice("normalization", normalization, NORMALIZATIONS)
    backend = tokenizers.Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS[1]))
    backend.add_special_tokens(list(SPECIAL_TOKENS))
    backend.normalizer = normalizers.Sequence(
        [NORMALIZATIONS[normalization], normalizers.Prepend(" ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(" ", "merged_with_next"),
            # 부호를 떼므로 글에 적힌 "<eos>"가 합쳐져 특수 토큰이 되는 일도 없습니다.
            pre_tokenizers.Punctuation("isolated"),
        ]
    )
    backend.decoder = decoders.Sequence(
        [decoders.Fuse(), decoders.Strip(" ", left=1, right=0)]
    )
    return backend


def _frame(backend):
    """토크나이저에서 배운 것(어휘 집합과 합치는 순서)을 뺀 나머지 설정입니다."""
    frame = json.loads(backend.to_str())
    for learned in ("vocab", "merges"):
        frame["model"].pop(learned, None)
    return frame


def _strings(texts):
    """문자열의 목록으로 바꿉니다. 문자열이 아닌 것은 자리를 말하며 거절합니다.

    Examples:
        >>> _strings("책")
        Traceback (most recent call last):
            ...
        TypeError: texts에는 문자열의 목록이 필요합니다...
        >>> _strings(["책", None])
        Traceback (most recent call last):
            ...
        TypeError: texts에는 문자열이 필요합니다. 받은 것: 1번째의 NoneType None...
        >>> _strings([chr(0xD800)])
        Traceback (most recent call last):
            ...
        UnicodeEncodeError: ...
    """
    if isinstance(texts, str):
        raise TypeError(
            "texts에는 문자열의 목록이 필요합니다. 받은 것: 문자열 하나. "
            "[text]처럼 목록에 담아 주세요."
        )
    texts = list(texts)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                "texts에는 문자열이 필요합니다. 받은 것: "
                f"{place}번째의 {type(text).__name__} {text!r}. "
                "빠진 값을 지우거나 str로 바꾸어 주세요."
            )
        text.encode("utf-8")  # 짝이 없는 서로게이트를 거절합니다
    return texts
