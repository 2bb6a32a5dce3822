"""기술 문서와 그 번역을 문장의 짝으로 다듬습니다."""

import re

#: 문장이 끝난 자리의 공백. 줄임말의 점 뒤에서는 자르지 않습니다.
_END = re.compile(
    r"(?<!\b[eE]\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)"
    r"(?:(?<=[.?!])|(?<=[.?!][)\"']))\s+"
)
#: 한 문장의 짝에서 번역의 글자 수를 원문의 글자 수로 나눈 값의 범위. 벗어나면 짝이
#: 어긋난 것으로 봅니다. 파이썬 문서의 백에 아흔아홉은 이 안에 있습니다.
_RATIOS = 0.2, 1.25
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*[A-Za-z0-9_]")
_CODE = re.compile(r"_|\w\.\w|[a-z][A-Z]")


def clean_markup(text):
    """뜻이 없는 표시를 지웁니다: 역따옴표, 링크의 밑줄, 뒤에 코드가 온다는 쌍점 둘.

    이어진 공백은 하나로 줄이고 양 끝의 공백은 지웁니다.

    Args:
        text: reStructuredText에서 뽑은 글.

    Returns:
        다듬은 글. 두 번 다듬어도 같습니다.

    Examples:
        >>> clean_markup("Use `Sphinx`_  like this ::")
        'Use Sphinx like this:'
    """
    text = re.sub(r"`+([^`]+)`+_{0,2}", r"\1", text)
    text = re.sub(r"[\s:]*::\s*$", ":", text)
    return " ".join(text.split())


def sentence_pairs(source, target):
    """글과 번역을 문장의 짝으로 나눕니다. 짝이 맞지 않아 보이면 나누지 않습니다.

    문장의 수가 같고, 짝마다 번역의 글자 수가 원문의 0.2배에서 1.25배일 때에만 나눕니다.
    영어를 한국어로 옮긴 글에 맞춘 값입니다. 순서를 바꾸어 옮긴 것은 가려내지 못합니다.

    Args:
        source: 원문.
        target: 번역.

    Returns:
        `(원문의 문장, 번역의 문장)`의 목록. 나누지 않으면 하나뿐입니다.

    Examples:
        >>> sentence_pairs("Return 0. See e.g. os.", "0을 반환합니다. os를 보세요.")
        [('Return 0.', '0을 반환합니다.'), ('See e.g. os.', 'os를 보세요.')]
        >>> len(sentence_pairs("Return 0. See os.", "0을 반환하니 os를 보세요."))
        1
    """
    sources, targets = _END.split(source), _END.split(target)
    if len(sources) == len(targets):
        least, most = _RATIOS
        if all(
            least <= len(b) / max(len(a), 1) <= most for a, b in zip(sources, targets)
        ):
            return list(zip(sources, targets))
    return [(source, target)]


def letters(text):
    """글자만 남기고 작은 글자로 바꿉니다. 이것이 같은 두 문장은 같은 문장으로 봅니다.

    Args:
        text: 글.

    Returns:
        낱말을 공백 하나로 이은 글. 숫자와 부호는 없습니다.

    Examples:
        >>> letters("Added in 3.7:") == letters("added in 3.12.")
        True
    """
    return " ".join(re.findall(r"[^\W\d_]+", text.casefold()))


def identifiers(text):
    """글에 나온 코드의 이름을 모읍니다.

    로마자로 시작하고 로마자, 숫자, 밑줄, 점으로 된 낱말 가운데 밑줄이나 안쪽의 점이
    있거나, 소문자 뒤에 대문자가 오는 것입니다. 조사가 바로 붙어 있어도 찾습니다.
    `data`처럼 보통 낱말과 같은 이름은 가려내지 못합니다.

    Args:
        text: 글.

    Returns:
        이름의 집합.

    Examples:
        >>> sorted(identifiers("os.killpg와 ThreadPool을 e.g. data와 max_workers로"))
        ['ThreadPool', 'max_workers', 'os.killpg']
    """
    names = {name for name in _NAME.findall(text) if _CODE.search(name)}
    return names - {"e.g", "i.e"}
