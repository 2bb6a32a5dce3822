"""검사기: 남이 쓴 올바른 코드는 통과하고, 심어 둔 실수는 그 번호로만 불린다.

여기서는 종류와 실수마다 하나씩 보고, 나머지는 `make test-slow`가 봅니다.

`variants/<종류>/`와 `planted/`의 파일은 검사기를 보지 않고 썼습니다. 파일마다 `check`에
넘길 `candidate`가 있고, 약속이 다르면 `mask_true`와 `adapter`가 있습니다. `adapter`는
만들어진 후보와 우리 순서의 인자를 받아 부르는 함수입니다.
"""

import importlib.util
import random
import re
from pathlib import Path

import keras
import pytest
from others import torch

HERE = Path(__file__).resolve().parent
KINDS = (
    "positional_encoding padding_mask look_ahead_mask attention multi_head_attention "
    "feed_forward add_norm embedding loss accuracy schedule encoder_layer "
    "decoder_layer greedy beam_search mask_tokens"
).split()
HONEST = sorted((HERE / "variants").glob("*/*.py"))
PLANTED = sorted((HERE / "planted").glob("*.py"))
#: 목록의 마지막 절이 검사기가 알아본다고 한 실수.
SEEN = {*range(1, 6), *range(7, 18), 19, 20, *range(22, 31), *range(33, 37), 41}
SEEN |= {*range(45, 58)}


def kind_of(path):
    """심어 둔 파일의 이름은 종류로 시작합니다."""
    if path.parent.parent.name == "variants":
        return path.parent.name
    return next(kind for kind in KINDS if path.stem.startswith(f"{kind}_"))


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


def of_torch(path):
    """가져오지 않아도 torch의 텐서를 받아야 하는 것은 이름이 말합니다."""
    imports = re.search(r"^(?:from|import) torch\b", path.read_text("utf-8"), re.M)
    return imports or "torch" in path.stem


def mistakes_of(path):
    line = re.search(r"^mistakes = \((.*)\)$", path.read_text("utf-8"), re.M)
    return {int(number) for number in re.findall(r"\d+", line[1])}


def sampled(paths, labels_of):
    """이름표마다 파일 하나를 고릅니다. 나머지와 torch로 쓴 것은 느린 시험입니다."""
    draw, chosen = random.Random(0), set()
    for label in sorted(set().union(*map(labels_of, paths))):
        with_label = [path for path in paths if label in labels_of(path)]
        if chosen.isdisjoint(with_label):
            chosen.add(draw.choice([p for p in with_label if not of_torch(p)]))
    slow = pytest.mark.slow
    return [
        pytest.param(path, id=name_of(path), marks=[slow] * (path not in chosen))
        for path in paths
    ]


def load(path):
    if of_torch(path):
        if torch is None:
            pytest.skip("torch가 없습니다")
        torch.manual_seed(0)
    keras.utils.set_random_seed(0)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judge(module, kind):
    from transformer_notes.checker import check

    options = {
        name: getattr(module, name)
        for name in ("mask_true", "adapter")
        if hasattr(module, name)
    }
    return check(module.candidate, kind, **options)


@pytest.mark.parametrize("path", sampled(HONEST, lambda path: {kind_of(path)}))
def test_honest_code_in_anyones_style_passes(path):
    report = judge(load(path), kind_of(path))
    assert report.passed and not report.mistakes, report.message


@pytest.mark.parametrize("path", sampled(PLANTED, mistakes_of))
def test_a_planted_mistake_is_named_and_no_other(path):
    module = load(path)
    report = judge(module, kind_of(path))
    assert not report.passed
    assert sorted(report.mistakes) == sorted(module.mistakes), report.message


def test_every_kind_has_seven_honest_styles():
    for kind in KINDS:
        assert len([path for path in HONEST if kind_of(path) == kind]) >= 7, kind


def test_a_kind_tells_which_mistakes_it_sees():
    from transformer_notes.checker import KINDS as told

    assert {n for kind in told.values() for n in kind.sees} | {41} == SEEN
    for path in PLANTED:
        assert mistakes_of(path) <= {*told[kind_of(path)].sees, 41}, path


def test_every_mistake_that_can_be_seen_is_planted():
    assert set().union(*map(mistakes_of, PLANTED)) == SEEN


def test_a_borrowed_style_is_short_and_says_whose_it_is():
    for path in HONEST + PLANTED:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 60, path
        assert re.fullmatch(r'""".+\."""', lines[0]), path
