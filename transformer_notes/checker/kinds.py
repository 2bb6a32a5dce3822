"""검사하는 것 한 가지가 정하는 것들.

한 가지를 보태려면 `Kind`를 이어받아 이름과 `cases`와 `reference`를 적고 `registry`에
올립니다. 가중치가 있으면 `factory`와 `readings`를, 여러 꼴의 인자를 받아 주려면
`styles`와 `arrange`를 더합니다. 나머지는 그럴 까닭이 있을 때만 바꿉니다.
"""

import dataclasses
import itertools

import numpy as np

from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import close, to_numpy

#: 맞지만 논문과 다른 것에 덧붙일 말.
PRE_NORM = "하위 층의 앞에서 정규화합니다(pre-norm). 논문은 뒤에서 합니다(post-norm)."


class Misfit(Exception):
    """후보의 결과가 견줄 수 있는 꼴이 아닙니다. 글이 그 까닭입니다."""


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """후보에게 한 번 넣을 것. 앞에 있는 것이 더 작습니다."""

    #: 인자의 이름과 값. 값은 NumPy 배열이나 파이썬의 수나 함수입니다.
    inputs: dict
    #: 첫 축의 크기. 배치가 없으면 None입니다.
    batch: int | None = None


def changed(case, **inputs):
    """인자 몇을 바꾼 `Case`입니다."""
    return dataclasses.replace(case, inputs=case.inputs | inputs)


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """후보를 한 번 부른 결과. `failure`나 `misfit`이 있으면 `value`는 None입니다."""

    value: object = None
    #: 후보가 돌려준 그대로.
    raw: object = None
    tolerance: float = 0.0
    #: 예외를 냈으면 `candidates.Failure`.
    failure: object = None
    #: 결과의 꼴이 다르면 그 까닭.
    misfit: str = ""
    #: 후보가 반정밀도로 계산하는지.
    half: bool = False


class Kind:
    """검사하는 것 한 가지. 이어받는 것이 그대로 쓰거나 바꿉니다. 상태는 없습니다."""

    #: `check`의 `what`에 적는 이름.
    name = ""
    #: 사람이 읽을 이름.
    title = ""
    #: 인자마다 흔히 쓰는 이름들. 첫째가 우리의 이름입니다.
    arguments = ()
    #: 만들 때의 인자마다 흔히 쓰는 이름들. 만들지 않고 바로 부르는 것이면 비웁니다.
    factory = ()
    #: 만들어 볼 크기들. `factory`와 같은 순서의 튜플입니다.
    sizes = ((),)
    #: 후보가 더 요구하면 채워 줄 인자의 이름과 값.
    extras = {}
    #: `reference`의 스위치. "26"이나 "26 n-1"처럼 실수의 번호로 시작합니다.
    switches = ()
    #: 스위치 없이, 가중치나 dtype이나 학습할 때의 결과에서 드러나는 실수의 번호.
    shown = ()
    #: 한꺼번에 켜 보는 스위치의 수.
    together = 3
    #: 인자 가운데 마스크의 이름.
    masks = ()
    #: 돌려주는 것이 마스크인지.
    gives_mask = False
    #: 인자마다의 모양과, 돌려주는 것. 사람이 읽습니다.
    shapes = {}
    returns = ""

    @property
    def sees(self):
        """이름을 댈 수 있는 실수의 번호들. 작은 것이 먼저입니다."""
        return sorted({*map(number, self.switches), *self.shown})

    def prepare(self, trial):
        """사례를 모두 실행한 뒤, 견주기 전에 한 번 불립니다."""

    def filled(self, size):
        """만들 때 더 요구하면 채워 줄 인자의 이름과 값."""
        return {}

    def takes(self, case, style):
        """이 꼴로 넣을 수 있는 사례인지."""
        return True

    def sizes_of(self, built):
        """이미 만들어진 것에 넣어 볼 크기들입니다.

        `sizes` 그대로이면 모두 넣고, 아니면 하나가 실행되는 데서 멈춥니다.
        """
        return self.sizes

    def cases(self, rng, size):
        """작은 것부터 `Case`를 늘어놓습니다. 첫 배치의 크기가 먼저 다 나옵니다."""
        raise NotImplementedError

    def styles(self):
        """인자를 넣는 꼴들. 실행되고 맞는 것이 나올 때까지 차례로 넣어 봅니다."""
        return (None,)

    def arrange(self, case, style, mask_true):
        """사례를 그 꼴의 인자로 바꿉니다. `arguments`의 순서입니다."""
        return tuple(case.inputs.values())

    def options(self, names, case):
        """후보의 인자 이름들 가운데 더 채울 것의 사전입니다."""
        return {}

    def read(self, raw, case):
        """후보가 돌려준 것을 견줄 NumPy 배열로 바꿉니다. 꼴이 다르면 `Misfit`."""
        return to_array(first(raw))

    def readings(self, group):
        """후보의 가중치를 읽는 방법들입니다. 읽지 못하면 비어 있습니다.

        읽는 방법만으로 드러나는 실수가 있으면 그 번호를 `mistakes` 속성에 담고, 예를
        `evidence(번호)`로 냅니다. 목록에 없는 잘못이면 그 문장을 `wrong`에 담습니다.
        """
        return (None,)

    def plausible(self, group, switches):
        """견주어 볼 읽기들입니다. 읽기가 많은 것은 여기서 미리 걸러 냅니다."""
        return group.readings

    def compatible(self, switches):
        """이 스위치들을 함께 켜 볼지. 한 실수의 두 모습은 함께 켜지 않습니다."""
        return len({number(switch) for switch in switches}) == len(switches)

    def combinations(self):
        """함께 켜 볼 스위치의 모음을 작은 것부터 냅니다."""
        return filter(self.compatible, subsets(self.switches, self.together))

    def reference(self, case, switches=frozenset(), reading=None):
        """기준의 결과입니다. 스위치는 실수를 하나씩 켭니다."""
        raise NotImplementedError

    def agrees(self, outcome, case, switches, reading):
        """후보의 결과가 그 스위치를 켠 기준과 같은지 봅니다."""
        try:
            expected = self.reference(case, switches, reading)
        except (ValueError, IndexError):  # 모양이 맞지 않는 실수는 후보도 거절합니다
            return outcome.value is None
        return outcome.value is not None and close(
            outcome.value, expected, outcome.tolerance
        )

    def forgives(self, case):
        """NaN이나 무한대가 나와도 되는 사례인지."""
        return False

    def compared(self, case, outcome, reading=None, switches=frozenset()):
        """그 스위치만 켠 기준의 값과 나온 값을 나란히 둔 `Example`입니다."""
        given = outcome.value
        if given is None:
            given = outcome.failure.text if outcome.failure else outcome.misfit
        try:
            expected = self.reference(case, switches, reading)
        except (ValueError, IndexError):
            expected = self.reference(case, frozenset(), reading)
        return Example(case.inputs, expected, given)

    def symptoms(self, trial):
        """기준과 견주어서는 보이지 않는 실수의 (번호, `Example`)를 냅니다."""
        return ()

    def remark(self, trial, reading):
        """맞는 것에 덧붙일 말입니다."""
        return ""

    def properties(self, trial):
        """어긋난 성질의 (문장, `Example`)를 냅니다. 아는 실수가 아닐 때 부릅니다."""
        return ()

    #: 처음 설명되는 꼴로 판정할지. 아니면 실수가 가장 적은 꼴로 판정합니다.
    first_style = False
    #: 가중치를 읽은 방법이 결과를 설명하지 못하면 틀린 것인지. 아니면 모르는 것입니다.
    strict = True
    #: 값을 견주지 못했을 때 대신 본 성질.
    looked = "성질"
    #: 값을 견줄 수 있게 하는 법.
    comparable = (
        "가중치를 NumPy 배열이나 Keras의 변수나 PyTorch의 파라미터로, 객체의 속성에 "
        "두면 읽을 수 있습니다."
    )


def subsets(switches, most):
    """스위치의 모음을 작은 것부터 `most`개까지 냅니다."""
    for size in range(most + 1):
        yield from map(frozenset, itertools.combinations(switches, size))


def number(switch):
    """스위치의 실수 번호입니다."""
    return int(switch.partition(" ")[0])


def first(raw):
    """튜플이나 목록으로 돌려준 것의 첫째입니다. 수의 목록은 그대로 둡니다."""
    if isinstance(raw, tuple | list) and raw and np.ndim(to_numpy(raw[0])) >= 1:
        if isinstance(raw, tuple) or to_numpy(raw) is None:
            return raw[0]
    return raw


def to_array(raw):
    """텐서를 배열로 바꿉니다. 아니면 `Misfit`을 냅니다."""
    array = to_numpy(raw)
    if array is None:
        raise Misfit(f"텐서나 배열을 돌려주어야 합니다. 받은 것: {type(raw).__name__}")
    return array


def in_shape(array, shape):
    """앞에 붙은 크기 1의 축을 떼고 모양을 봅니다."""
    while array.ndim > len(shape) and array.shape[0] == 1:
        array = array[0]
    if array.shape != tuple(shape):
        raise Misfit(f"모양은 {tuple(shape)}이어야 합니다. 나온 모양: {array.shape}")
    return array
