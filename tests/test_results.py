"""저장된 결과를 읽는 쪽에 하는 약속."""

import json

import numpy as np
import pytest

from transformer_notes.figures import plotting
from transformer_notes.figures.results import Results, Summary, table

FIELDS = {
    "command": "python words.py",
    "machine": {"processor": "AMD EPYC", "cores": 2},
    "versions": {"python": "3.11.7"},
    "settings": {},
    "digest": "",
    "probe": {},
    "runs": [
        {"what": "LSTM", "units": 32, "seed": 1, "right": 0.1},
        {"what": "LSTM", "units": 32, "seed": 2, "right": 0.4},
        {"what": "LSTM", "units": 64, "seed": 1, "right": 0.7, "late": True},
        {"what": "GRU", "units": 32, "seed": 1, "right": 0.2},
    ],
}
STORED = Results(**FIELDS)


def test_a_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "words_results.json"
    path.write_text(json.dumps(FIELDS), encoding="utf-8")
    assert Results.load(path) == STORED
    assert Results.load(str(path)).runs == FIELDS["runs"]


def test_labels_choose_the_runs():
    assert STORED.values("right").tolist() == [0.1, 0.4, 0.7, 0.2]
    assert STORED.values("right", what="LSTM", units=32).tolist() == [0.1, 0.4]
    assert STORED.run(what="GRU")["right"] == 0.2


@pytest.mark.parametrize(
    "labels, found", [({"what": "RNN"}, "got 0"), ({"seed": 1}, "too many")]
)
def test_one_run_means_exactly_one(labels, found):
    with pytest.raises(ValueError, match=found):
        STORED.run(**labels)


@pytest.mark.parametrize(
    "name, labels, named", [("right", {"seed": 9}, "seed"), ("late", {}, "late")]
)
def test_a_value_that_is_not_there_is_not_left_out(name, labels, named):
    """하나라도 없으면 있는 것만으로 평균하지 않습니다."""
    with pytest.raises((KeyError, ValueError), match=named):
        STORED.values(name, **labels)
    with pytest.raises((KeyError, ValueError), match=named):
        STORED.summary(name, **labels)


def test_a_summary_tells_mean_range_and_count():
    assert STORED.summary("right", units=32, what="LSTM") == Summary(0.25, 0.1, 0.4, 2)
    assert f"{Summary(0.25, 0.1, 0.4, 2):.0%}" == "25% (10%–40%, 시드 2개)"
    assert (
        f"{Summary(1500.0, 1000.0, 2000.0, 5):,.0f}" == "1,500 (1,000–2,000, 시드 5개)"
    )


def test_one_value_has_no_range():
    assert f"{Summary.of([0.25]):.0%}" == "25% (시드 1개)"


def test_the_mean_of_equal_values_is_that_value():
    """반올림으로 폭을 벗어난 평균이면 그림의 막대가 음수가 됩니다."""
    equal = [{"what": "LSTM", "units": 32, "right": 0.1} for _ in range(3)]
    stored = Results(**FIELDS | {"runs": equal})
    assert np.mean([0.1] * 3) != 0.1
    assert stored.summary("right") == Summary(0.1, 0.1, 0.1, 3)
    assert f"{stored.summary('right'):.1f}" == "0.1 (시드 3개 모두)"
    with plotting.figure(3, 3) as (_, axes):
        stored.draw(axes, "right", "units")


def test_a_drawing_has_the_means_and_reaches_from_least_to_most():
    with plotting.figure(3, 3) as (_, axes):
        STORED.draw(axes, "right", "units", label="LSTM", what="LSTM")
        axes.legend()
    [(line, _, [bars])] = axes.containers
    np.testing.assert_allclose(line.get_xydata(), [[32, 0.25], [64, 0.7]])
    ends = [segment[:, 1] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.1, 0.4], [0.7, 0.7]])
    assert axes.get_legend_handles_labels()[1] == ["LSTM"]


def test_numbers_are_joined_from_the_smallest_whatever_the_order_of_the_runs():
    backwards = Results(**FIELDS | {"runs": STORED.runs[::-1]})
    with plotting.figure(3, 3) as (_, axes):
        backwards.draw(axes, "right", "units", what="LSTM")
    [(line, _, _)] = axes.containers
    np.testing.assert_allclose(line.get_xydata(), [[32, 0.25], [64, 0.7]])


def test_words_stand_on_the_axis_in_the_order_of_the_runs():
    with plotting.figure(3, 3) as (_, axes):
        STORED.draw(axes, "right", "what")
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["LSTM", "GRU"]


def test_a_table_is_text_when_printed_and_a_table_in_a_notebook():
    made = table(["유닛", "맞힌 비율"], [[32, "25%"]])
    assert str(made) == "| 유닛 | 맞힌 비율 |\n| --- | --- |\n| 32 | 25% |"
    assert made._repr_markdown_() == str(made)
