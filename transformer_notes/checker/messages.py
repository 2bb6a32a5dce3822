"""검사기가 하는 말: 실수의 제목, 예, 보고서."""

import dataclasses
import textwrap

import numpy as np

#: 실수의 번호와 제목. 실수의 목록과 같은지 시험합니다.
TITLES = {
    1: "대각선까지 가린다",
    2: "참과 거짓이 뒤집혔다",
    3: "더하지 않고 곱한다",
    4: "float16에서 mask * -1e9을 더한다",
    5: "열이 아니라 행을 가린다",
    6: "Keras가 마스크를 조용히 버린다",
    7: "크로스 어텐션을 답의 패딩으로 가린다",
    8: "√d_k로 나누지 않는다",
    9: "소프트맥스를 다른 축으로 씌운다",
    10: "축을 바꾸지 않고 reshape로 헤드를 나누거나 합친다",
    11: "크로스 어텐션의 인자가 뒤바뀐다",
    12: "W^O에 활성 함수를 씌운다",
    13: "헤드마다 모델만큼 넓다",
    14: "드롭아웃한 가중치를 그린다",
    15: "사인이 된 값에 코사인을 씌운다",
    16: "i를 쌍이 아니라 열의 번호로 읽는다",
    17: "위치 0의 행을 0으로 둔다",
    18: "위치의 표를 어휘 집합의 크기로 만든다",
    19: "한 토큰씩 만들면서 위치를 넘기지 않는다",
    20: "위치의 표를 반정밀도로 만든다",
    21: "초기화의 이름으로 위치 방식을 부른다",
    22: "임베딩을 나누거나, 곱하지 않는다",
    23: "피드포워드에 ReLU가 없다",
    24: "두 번째 변환 뒤에도 ReLU를 둔다",
    25: "층 하나를 여러 번 부른다",
    26: "층 정규화의 축, 분산, ε이 다르다",
    27: "드롭아웃이 엉뚱한 곳에 있다",
    28: "잔차를 정규화한 입력에서 가져온다",
    29: "소프트맥스를 두 번 씌운다",
    30: "패딩까지 평균한다",
    31: "디코더의 입력과 정답을 밀지 않는다",
    32: "답을 만들 때 임베딩의 배율을 잊는다",
    33: "레이블 스무딩이 패딩에도 몫을 준다",
    34: "웜업 스케줄의 0번째 스텝",
    35: "길이가 다른 합을 견주고, 끝난 답이 자란다",
    36: "캐시를 썼더니 출력이 다르다",
    37: "한 스텝의 상태를 문장으로 쓴다",
    38: "get_config가 없거나 모자라다",
    39: "시험 문장까지 넣어 어휘 집합을 만든다",
    40: "조합형 한글을 다른 글로 본다",
    41: "batch_size = q.shape[0]",
    42: "앞 스텝의 상태를 넘기지 않는다",
    43: "시점마다 인코더와 디코더가 따로 있다고 읽는다",
    44: "어휘 집합은 둘인데 임베딩은 하나다",
    45: "정규화한 입력으로 덮어쓴다",
    46: "평균을 다시 평균한다",
    47: "마스크를 만들거나 받고도 쓰지 않는다",
    48: "잔차를 빠뜨린다",
    49: "잔차로 다른 것을 더한다",
    50: "층 정규화를 빠뜨린다",
    51: "층 정규화 하나를 여러 곳에 쓴다",
    52: "하위 층을 빠뜨린다",
    53: "하위 층의 차례가 다르다",
    54: "패딩과 특수 토큰까지 가린다",
    55: "가리지 않은 토큰까지 채점한다",
    56: "고른 토큰을 80 : 10 : 10으로 나누지 않는다",
    57: "정답까지 가린다",
}
#: 제목만으로는 모자랄 때 예의 앞에 적는 말.
ALSO = {
    2: "True의 뜻을 반대로 알려 준 것이면 틀린 것이 아닙니다. 명령이면 --mask-true "
    '{other}를, 함수이면 mask_true="{other}"를 주세요.',
    3: "0이나 0에 가까운 수로 채운 것도 같습니다. 점수가 0인 자리도 몫을 받습니다.",
}
#: 판정마다 첫머리에 적는 말.
VERDICTS = {
    "right": "맞습니다",
    "known": "틀렸습니다",
    "wrong": "틀렸습니다",
    "unjudged": "모르겠습니다",
}
#: 실수의 목록이 있는 쪽. 지은 사이트 안의 주소입니다.
PAGE = "paper/mistakes.html"
#: 예에서 이보다 큰 배열은 앞부분만 보입니다.
LARGEST = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Example:
    """넣은 것과, 나와야 할 것과, 나온 것."""

    #: 인자의 이름과 값.
    inputs: dict
    #: 나와야 할 값. 없으면 None입니다.
    expected: object = None
    #: 후보가 낸 값. 예외를 냈으면 그 글입니다.
    given: object = None
    #: `expected`가 무엇인지.
    wanted: str = "나와야 할 값"

    def __str__(self):
        lines = [_line(f"넣은 {name}", value) for name, value in self.inputs.items()]
        if self.expected is not None:
            lines.append(_line(self.wanted, self.expected))
        if self.given is not None:
            lines.append(_line("나온 값", self.given))
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """검사의 결과. `str`로 바꾸면 읽을 글이 됩니다."""

    #: `VERDICTS`의 하나: 맞음, 아는 실수, 다른 잘못, 모름.
    verdict: str
    #: 알아본 실수의 번호. 작은 것부터 적습니다.
    mistakes: tuple = ()
    #: 어긋난 것을 보이는 가장 작은 `Example`. 없으면 None입니다.
    example: Example | None = None
    #: 사람이 읽을 글.
    message: str = ""

    @property
    def passed(self):
        """맞았는지. 모르는 것은 맞은 것이 아닙니다."""
        return self.verdict == "right"

    def __str__(self):
        return self.message


def link(number):
    """실수를 설명하는 자리의 주소입니다."""
    return f"{PAGE}#mistake-{number}"


def right(candidate, remark=""):
    notes = filter(None, (remark, *candidate.order()))
    return _report("right", candidate, "", notes=notes)


def unjudged(candidate, *sentences):
    """맞는지도 틀리는지도 모르는 것의 보고서입니다. 문장들은 그 까닭입니다."""
    said = "맞는지도 틀리는지도 알 수 없습니다."
    return _report("unjudged", candidate, said, map(_wrap, sentences))


def uncompared(candidate, why):
    """성질은 모두 맞지만 식의 값과 견주지는 못한 것의 보고서입니다."""
    return unjudged(
        candidate,
        f"본 것: {candidate.kind.looked}. 어긋난 것을 찾지 못했습니다.",
        f"보지 못한 것: 식으로 계산한 값. {why}",
        f"견주려면: {candidate.kind.comparable}",
    )


def known(candidate, examples):
    """알아본 실수들의 보고서입니다. `examples`는 번호와 예의 사전입니다."""
    numbers = tuple(sorted(examples))
    shown = {n: _as_given(candidate, example) for n, example in examples.items()}
    count = (
        f"아는 실수 {len(numbers)}가지가 있습니다."
        if numbers[1:]
        else "아는 실수입니다."
    )
    parts = []
    other = "attend" if candidate.mask_true == "hide" else "hide"
    for number in numbers:
        hint = ALSO.get(number, "").format(other=other)
        also = f"{_indent(_wrap(hint))}\n" if hint else ""
        parts.append(
            f"실수 {number}: {TITLES[number]}\n{also}{_indent(shown[number])}\n"
            f"  읽을 곳: {link(number)}"
        )
    return _report(
        "known", candidate, count, parts, shown[numbers[0]], numbers, candidate.order()
    )


def unknown(candidate, sentence, example):
    """아는 실수가 아닐 때, 처음 어긋난 성질의 보고서입니다."""
    example = _as_given(candidate, example)
    parts = [f"어긋난 것: {sentence}\n{_indent(example)}"]
    said = "아는 실수 가운데 하나는 아닙니다."
    notes = candidate.unnamed()
    return _report("wrong", candidate, said, parts, example, notes=notes)


def raised(candidate, failure):
    """후보가 낸 예외의 보고서입니다."""
    example = Example(failure.inputs, given=failure.text)
    told = "\n".join(filter(None, (failure.text, failure.place, failure.shapes)))
    notes = candidate.unnamed()
    return _report(
        "wrong", candidate, "실행하지 못했습니다.", [told], example, notes=notes
    )


def _report(verdict, candidate, said, parts=(), example=None, numbers=(), notes=()):
    first = f"{VERDICTS[verdict]}: {candidate.kind.title}. {said}".removesuffix(". ")
    return Report(verdict, numbers, example, "\n\n".join([first, *parts, *notes]))


def _as_given(candidate, example):
    """참이 '가림'인 후보가 낸 마스크는 후보가 내는 대로 뒤집어 보입니다."""
    turned = candidate.mask_true == "hide" and candidate.kind.gives_mask
    if not turned or example.expected is None:  # 꼴이 다른 것은 뒤집지 않았습니다
        return example
    expected, given = (
        1 - value if isinstance(value, np.ndarray) else value
        for value in (example.expected, example.given)
    )
    return dataclasses.replace(example, expected=expected, given=given)


def _wrap(text):
    """터미널의 80칸에 들도록 줄을 나눕니다. 한글은 두 칸입니다."""
    return textwrap.fill(text, 44, break_long_words=False, break_on_hyphens=False)


def _indent(text):
    return "\n".join(f"  {line}" for line in str(text).split("\n"))


def _line(name, value):
    if isinstance(value, np.ndarray) and value.ndim:
        whole = value.size <= LARGEST
        text = f"모양 {value.shape}"
        shown = value if whole else value.reshape(-1)[: LARGEST // 4]
        if shown.dtype.kind == "f":  # 반올림해서 0이 된 음수를 -0으로 적지 않습니다
            shown = np.round(shown.astype(np.float64), 4) + 0.0
        body = np.array2string(shown, precision=4, suppress_small=True, threshold=1000)
        if not whole:
            body += " …"
        return f"{name} ({text}):\n{_indent(body)}"
    if isinstance(value, float | np.floating | np.ndarray):
        value = f"{float(value):.6g}"
    return f"{name}: {value}"
