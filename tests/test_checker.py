"""검사기의 틀: 보고서, 예외, 부르는 방법. 위치 인코딩과 두 마스크도 여기서 봅니다."""

import functools
import itertools
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from transformer_notes.checker import KINDS, TITLES, check
from transformer_notes.checker.messages import link
from transformer_notes.exercises import parts

LIST = Path(__file__).resolve().parents[1] / "docs" / "paper" / "mistakes.md"
PLAIN = {r"$\sqrt{d_k}$": "√d_k", "$W^O$": "W^O", r"$\varepsilon$": "ε", "$i$": "i"}


def plain(title):
    for written, shown in PLAIN.items():
        title = title.replace(written, shown)
    return title.replace("`", "")


def test_titles_are_those_of_the_list():
    written = re.findall(
        r"^### 실수 (\d+): (.*)$", LIST.read_text(encoding="utf-8"), flags=re.M
    )
    assert {int(n): plain(title) for n, title in written} == TITLES


def test_every_kind_is_found_by_its_own_name_and_names_known_mistakes():
    for name, kind in KINDS.items():
        assert kind.name == name and kind.title
        assert {int(switch.split()[0]) for switch in kind.switches} <= set(TITLES)


def test_judging_leaves_the_kinds_as_they_were():
    check(look_ahead, "look_ahead_mask", mask_true="hide")
    check(padding, "padding_mask", mask_true="hide")
    assert not any(vars(kind) for kind in KINDS.values())


def test_a_look_ahead_mask_may_take_token_ids():
    def of_ids(ids):
        return look_ahead(ids.shape[1])

    assert check(of_ids, "look_ahead_mask").passed
    assert check(lambda ids: ~of_ids(ids), "look_ahead_mask").mistakes == (2,)


def test_importing_the_checker_imports_no_tensorflow_and_no_torch():
    code = (
        "import sys, transformer_notes.checker; "
        "sys.exit(bool({'tensorflow', 'torch', 'keras'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 0


# ---------------------------------------------------------------- 위치 인코딩


def table(length, d_model, wrong=()):
    """칸을 하나씩 채우는 사람의 표."""
    rows = []
    for position in range(length):
        row = []
        for column in range(d_model):
            pair = column if 16 in wrong else column // 2
            angle = position / 10000 ** (2 * pair / d_model)
            row.append(np.sin(angle) if column % 2 == 0 else np.cos(angle))
            if 15 in wrong and column % 2:
                row[-1] = np.cos(row[-2])
        rows.append([0.0] * d_model if 17 in wrong and position == 0 else row)
    return np.array(rows)


def half_table(length, d_model, wrong=()):
    """모든 것을 반정밀도로 계산하는 사람의 표."""
    position = np.arange(length, dtype="float16")[:, None]
    column = np.arange(d_model)
    pair = column if 16 in wrong else column // 2
    angle = position * (10000.0 ** (-2 * pair / d_model)).astype("float16")
    result = np.where(column % 2, np.cos(angle), np.sin(angle))
    if 15 in wrong:
        result[:, 1::2] = np.cos(result[:, 0::2])
    if 17 in wrong:
        result[0] = 0
    return result


@pytest.mark.parametrize("write", [table, half_table])
def test_mistakes_of_positions_are_named_alone_and_together(write):
    for wrong in (w for n in range(4) for w in itertools.combinations((15, 16, 17), n)):
        report = check(functools.partial(write, wrong=wrong), "positional_encoding")
        expected = (*wrong, 20) if write is half_table else wrong
        assert (report.passed, report.mistakes) == (not expected, expected), wrong


def test_a_table_rounded_to_half_at_the_end_is_right():
    assert check(
        lambda n, d: table(n, d).astype("float16"), "positional_encoding"
    ).passed


def test_a_table_of_fixed_length_is_right():
    long = {d: table(40, d)[None] for d in (2, 4, 6, 8, 16)}
    assert check(lambda n, d: long[d][:, :n], "positional_encoding").passed


@pytest.mark.parametrize(
    "candidate, said",
    [
        (lambda n, d: np.zeros((n, d)), "식으로 계산한 값과 다릅니다"),
        (lambda n, d: np.zeros((d, n + 1)), "모양은 (2, 2)이어야"),
        (lambda n, d: None, "텐서나 배열을 돌려주어야"),
        (lambda n, d: "표", "텐서나 배열을 돌려주어야"),
        (lambda n, d: 2 * table(n, d), "나와야 할 값의 2배"),
        (lambda n, d: table(n, d) + 1, "나와야 할 값보다 1만큼 큽니다"),
        (lambda n, d: table(n + 1, d)[1:], "식으로 계산한 값과 다릅니다"),
    ],
)
def test_what_is_not_in_the_list_is_told_without_a_number(candidate, said):
    report = check(candidate, "positional_encoding")
    assert (report.passed, report.mistakes) == (False, ())
    assert said in str(report) and "실수 " not in str(report).split("어긋난 것")[1]


# ---------------------------------------------------------------- 마스크


def padding(ids, wrong=(), rank=4, dtype=bool):
    seen = ids == 0 if 2 in wrong else ids != 0
    if 5 in wrong:
        return seen[:, None, :, None].astype(dtype)
    return {4: seen[:, None, None], 3: seen[:, None], 2: seen}[rank].astype(dtype)


def look_ahead(length, wrong=(), lead=0, dtype=bool):
    rows = [
        [(j < i if 1 in wrong else j <= i) != (2 in wrong) for j in range(length)]
        for i in range(length)
    ]
    return np.array(rows).reshape(*[1] * lead, length, length).astype(dtype)


MASKS = {"padding_mask": (padding, (2, 5)), "look_ahead_mask": (look_ahead, (1, 2))}


@pytest.mark.parametrize("meaning", ["attend", "hide"])
@pytest.mark.parametrize("what", MASKS)
def test_mistakes_of_masks_are_named_in_both_polarities(what, meaning):
    write, seen = MASKS[what]
    for wrong in (w for n in range(3) for w in itertools.combinations(seen, n)):
        turned = set(wrong) ^ {2} if meaning == "hide" else wrong
        report = check(functools.partial(write, wrong=turned), what, mask_true=meaning)
        assert (report.passed, report.mistakes) == (not wrong, wrong), wrong


@pytest.mark.parametrize("dtype", [bool, int, "float32"])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_masks_of_any_rank_and_dtype_are_right(rank, dtype):
    assert check(lambda ids: padding(ids, (), rank, dtype), "padding_mask").passed
    assert check(lambda n: look_ahead(n, (), rank - 2, dtype), "look_ahead_mask").passed


def test_rows_of_padding_may_be_hidden_too():
    def both(ids):
        real = ids != 0
        return real[:, None, :, None] & real[:, None, None, :]

    assert check(both, "padding_mask").passed


def test_the_smallest_token_is_no_padding():
    report = check(lambda token_ids: (token_ids > 1)[:, None, None], "padding_mask")
    assert report.verdict == "wrong", str(report)


@pytest.mark.parametrize("meaning", ["attend", "hide"])
def test_a_mask_to_be_added_is_shown_as_it_came(meaning):
    def added(ids):
        return np.where(ids != 0, 0, -1e9)[:, None, None]

    report = check(added, "padding_mask", mask_true=meaning)
    assert "0과 1이어야" in str(report)
    assert report.example.given.tolist() == [[[[0, -1e9]]]]


def test_a_mask_that_hides_nothing_is_none_of_the_known_mistakes():
    report = check(lambda ids: np.ones_like(ids), "padding_mask")
    assert (report.passed, report.mistakes) == (False, ())


# ---------------------------------------------------------------- 보고서


def test_the_report_shows_the_smallest_example_side_by_side():
    report = check(lambda n: np.tri(n, k=-1), "look_ahead_mask")
    assert report.example.inputs == {"length": 2}
    np.testing.assert_array_equal(report.example.expected, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(report.example.given, [[0, 0], [1, 0]])
    assert f"실수 1: {TITLES[1]}" in str(report) and link(1) in str(report)


def test_an_exception_is_shown_with_its_line_and_the_shapes():
    def broken(token_ids):
        return token_ids[:, :, 7]  # 이 줄

    report = check(broken, "padding_mask")
    assert (report.passed, report.mistakes) == (False, ())
    for part in (
        "IndexError",
        "return token_ids[:, :, 7]  # 이 줄",
        "token_ids (1, 2)",
    ):
        assert part in str(report)
    assert Path(__file__).name in str(report)


def test_an_exception_in_a_part_of_the_book_is_shown_at_the_readers_line():
    class Short(parts.FeedForward):
        def __call__(self, x):
            return super().__call__(x[..., :-1])  # 이 줄

    assert "__call__(x[..., :-1])  # 이 줄" in str(check(Short, "feed_forward"))


def test_an_adapter_turns_another_convention_into_ours():
    def theirs(config):
        return {"table": table(config["n"], config["d"])}

    def adapter(candidate, length, d_model):
        return candidate({"n": length, "d": d_model})["table"]

    assert check(theirs, "positional_encoding", adapter=adapter).passed
    assert not check(theirs, "positional_encoding").passed


def test_how_unknown_names_were_put_in_is_said_unless_an_adapter_did_it():
    def mine(rows, columns):
        raise ValueError("아직")

    said = "이름을 알아보지 못해 length, d_model의 차례대로"
    assert said in str(check(mine, "positional_encoding"))
    adapted = check(mine, "positional_encoding", adapter=lambda f, n, d: f(n, d))
    assert said not in str(adapted)


def test_arguments_are_matched_by_name_in_any_order():
    report = check(
        lambda d_model, length: table(length, d_model), "positional_encoding"
    )
    assert report.passed and "d_model, length" in str(report)


def test_arguments_may_be_taken_by_name_only():
    assert check(lambda *, token_ids: padding(token_ids), "padding_mask").passed


def test_the_candidate_cannot_change_what_is_expected():
    def greedy(token_ids):
        mask = padding(token_ids)
        token_ids[:] = 0
        return mask

    assert check(greedy, "padding_mask").passed


def test_two_runs_say_the_same_and_leave_the_random_numbers_alone():
    def noise(length, d_model):
        return table(length, d_model) + np.random.normal(size=(length, d_model))

    state, python = np.random.get_state()[1].copy(), random.getstate()
    first, second = (str(check(noise, "positional_encoding")) for _ in range(2))
    assert first == second
    assert np.array_equal(state, np.random.get_state()[1])
    assert python == random.getstate()


class InNumpy:
    """가중치가 `start(모양)`에서 시작하는 멀티 헤드 어텐션. 이어받아 바꿉니다."""

    start, scaled = staticmethod(np.zeros), True

    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.maps = [self.start((d_model, d_model)) for _ in range(4)]

    def __call__(self, query, key, value, mask):
        return self.attend(query, key, value, mask)[0]

    def drop(self, weights):
        return weights

    def attend(self, query, key, value, mask):
        *maps, output = self.maps
        q, k, v = (x @ one for x, one in zip((query, key, value), maps))
        q, k, v = (
            x.reshape(*x.shape[:2], self.num_heads, -1).swapaxes(1, 2)
            for x in (q, k, v)
        )
        scores = q @ k.swapaxes(2, 3) / (np.sqrt(q.shape[-1]) if self.scaled else 1)
        scores = np.where(mask, scores, -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = self.drop(weights / weights.sum(-1, keepdims=True))
        joined = (weights @ v).swapaxes(1, 2)
        return joined.reshape(query.shape) @ output, weights


def tiny(shape):
    return np.random.default_rng(0).normal(0, 1e-3, shape)


@pytest.mark.parametrize("start", [np.zeros, tiny])
def test_weights_too_small_to_tell_hide_no_mistake(start):
    right = type("Right", (InNumpy,), {"start": staticmethod(start)})
    wrong = type("Wrong", (right,), {"scaled": False})
    assert check(right, "multi_head_attention").passed
    assert check(wrong, "multi_head_attention").mistakes == (8,)
    for made in (right(4, 2), wrong(4, 2)):
        before = np.copy(made.maps)
        report = check(made, "multi_head_attention")
        assert report.verdict == "unjudged" and "보지 못한 것" not in str(report)
        assert np.array_equal(made.maps, before)  # 남이 만든 것은 고치지 않습니다


def test_weights_that_lost_some_before_the_mean_are_mistake_14():
    class Shows(InNumpy):
        __call__ = InNumpy.attend

    class Lost(Shows):
        def drop(self, weights):
            kept = np.arange(weights.size).reshape(weights.shape) % 3 > 0
            return weights * kept * 1.5

    class Shown(Shows):  # 출력은 맞고, 보여 주는 가중치만 지웠습니다
        def __call__(self, query, key, value, mask):
            output, weights = super().__call__(query, key, value, mask)
            return output, Lost.drop(self, weights)

    assert check(Shows, "multi_head_attention").passed
    assert check(Lost, "multi_head_attention").mistakes == (14,)
    report = check(Shown, "multi_head_attention")
    assert report.mistakes == (14,)
    assert not np.allclose(report.example.given, report.example.expected)


def test_masks_of_layers_are_shown_as_they_were_put_in():
    class Watched(InNumpy):
        scaled, seen = False, []

        def __call__(self, query, key, value, mask):
            self.seen.append(np.array(mask))
            return super().__call__(query, key, value, mask)

    for meaning in ("attend", "hide"):
        Watched.seen.clear()
        report = check(Watched, "multi_head_attention", mask_true=meaning)
        shown = report.example.inputs["mask"]
        assert any(np.array_equal(shown, mask) for mask in Watched.seen), meaning
        assert shown.ndim == 4, meaning


def test_a_function_that_makes_is_called_once_to_see_and_once_a_size():
    made = []

    def make(d_model, d_ff):
        made.append((d_model, d_ff))
        return parts.FeedForward(d_model, d_ff)

    assert check(make, "feed_forward").passed
    assert made == [(2, 3), (2, 3), (4, 7)]


def test_a_wrong_guess_at_weights_out_of_reach_accuses_nobody():
    elsewhere = {}

    class Hidden(InNumpy):
        start = staticmethod(np.random.default_rng(0).standard_normal)

        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            elsewhere[id(self)] = self.maps.pop(0)

        def __call__(self, query, key, value, mask):
            whole = InNumpy(query.shape[-1], self.num_heads)
            whole.maps = [elsewhere[id(self)], *self.maps]
            return whole(query, key, value, mask)

    assert check(Hidden, "multi_head_attention").verdict == "unjudged"


def test_what_is_made_and_not_used_is_wrong():
    class Idle:
        def __init__(self, d_model):
            self.gamma, self.beta = np.ones(d_model), np.zeros(d_model)

        def __call__(self, x, sublayer_output):
            x = x + sublayer_output
            spread = np.sqrt(x.var(-1, keepdims=True) + 1e-6)
            return (x - x.mean(-1, keepdims=True)) / spread

    class Used(Idle):
        def __call__(self, x, sublayer_output):
            return self.gamma * super().__call__(x, sublayer_output) + self.beta

    assert check(Idle, "add_norm").verdict == "wrong"
    assert check(Used, "add_norm").passed


def test_what_answers_differently_each_time_is_told_so():
    class Restless(InNumpy):
        def __call__(self, query, key, value, mask):
            self.maps = [np.random.normal(size=one.shape) for one in self.maps]
            return super().__call__(query, key, value, mask)

    report = check(Restless, "multi_head_attention")
    assert report.verdict == "wrong" and "두 번" in str(report)


def test_a_right_mask_of_another_shape_is_told_so():
    assert "(1, 2)" in str(check(lambda ids: ids != 0, "padding_mask"))
    ours = check(lambda ids: (ids != 0)[:, None, None], "padding_mask")
    assert ours.passed and "모양" not in str(ours)


@pytest.mark.parametrize(
    "arguments, named, error, said",
    [
        ((table, "positions"), {}, ValueError, "positional_encoding"),
        ((look_ahead, "look_ahead_mask"), {"mask_true": "both"}, ValueError, "'hide'"),
        ((np.eye(3), "look_ahead_mask"), {}, TypeError, "ndarray"),
    ],
)
def test_wrong_questions_are_refused(arguments, named, error, said):
    with pytest.raises(error, match=said):
        check(*arguments, **named)
