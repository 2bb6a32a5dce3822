"""저장해 둔 결과를 읽고, 표와 그림과 본문의 숫자로 만듭니다.

오래 걸리는 학습과 재기는 쪽에서 하지 않습니다. 프로그램이 한 번 만들어 둔
``*_results.json``을 읽습니다. 파일의 꼴은 하나이고, `Results`의 필드가 그 꼴입니다.
"""

import dataclasses
import json
from pathlib import Path

import numpy as np


@dataclasses.dataclass(frozen=True)
class Summary:
    """실행마다의 값을 줄인 것: 평균, 가장 작은 값, 가장 큰 값, 실행의 수.

    글로 적을 때의 꼴은 수 하나를 적을 때와 같고, 세 수에 똑같이 쓰입니다. 실행이
    하나이거나 적힌 값이 모두 같으면 폭은 없습니다.

    Examples:
        >>> f"{Summary(0.9979, 0.9969, 0.9991, 5):.1%}"
        '99.8% (99.7%–99.9%, 시드 5개)'
        >>> f"{Summary.of([1.0, 1.0]):.0%}"
        '100% (시드 2개 모두)'
    """

    mean: float
    least: float
    most: float
    count: int

    @classmethod
    def of(cls, values):
        """하나 이상의 값을 줄입니다."""
        least, most = float(min(values)), float(max(values))
        # 같은 값들의 평균이 반올림 때문에 그 값을 벗어나지 않게 합니다.
        mean = float(np.clip(np.mean(values), least, most))
        return cls(mean, least, most, len(values))

    def __format__(self, spec):
        mean, least, most = (f"{x:{spec}}" for x in (self.mean, self.least, self.most))
        if self.count > 1:
            spread = f"{least}–{most}, " if least != most else ""
            return f"{mean} ({spread}시드 {self.count}개{'' if spread else ' 모두'})"
        return f"{mean} (시드 1개)"


@dataclasses.dataclass(frozen=True)
class Results:
    """프로그램 하나가 만든 결과입니다.

    `runs`의 실행은 사전입니다. 무엇을 했는지 가리키는 꼬리표(`what`, `seed` 따위)와 그
    결과가 함께 담깁니다. 아래의 메서드는 꼬리표로 실행을 고릅니다.

    Args:
        command: 결과를 만드는 명령.
        machine: 결과를 만든 기계. `processor`와 `cores`.
        versions: 그때의 판.
        settings: 모든 실행에 함께 쓴 설정.
        digest: 프로그램과 그것이 가져오는 것의 지문.
        probe: 결과가 낡았는지 가릴 때 다시 계산해 견주는 값.
        runs: 실행의 목록.

    Examples:
        >>> stored = Results(
        ...     command="python words.py",
        ...     machine={"processor": "AMD EPYC", "cores": 2},
        ...     versions={"python": "3.11.7", "keras": "3.15.1"},
        ...     settings={"epochs": 3},
        ...     digest="",
        ...     probe={},
        ...     runs=[
        ...         {"what": "LSTM", "units": 32, "seed": 1, "right": 0.71},
        ...         {"what": "LSTM", "units": 32, "seed": 2, "right": 0.75},
        ...         {"what": "LSTM", "units": 64, "seed": 1, "right": 0.88},
        ...         {"what": "LSTM", "units": 64, "seed": 2, "right": 0.94},
        ...     ],
        ... )
        >>> print(stored)
        python words.py
        AMD EPYC 2코어, python 3.11.7, keras 3.15.1
    """

    command: str
    machine: dict
    versions: dict
    settings: dict
    digest: str
    probe: dict
    runs: list

    @classmethod
    def load(cls, path):
        """``tests/experiments/이름.py``가 만든 ``이름_results.json``을 읽습니다.

        Args:
            path: ``*_results.json``의 경로.

        Returns:
            `Results`.
        """
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))

    def __str__(self):
        machine = f"{self.machine['processor']} {self.machine['cores']}코어"
        versions = (f"{name} {version}" for name, version in self.versions.items())
        return f"{self.command}\n{', '.join([machine, *versions])}"

    def run(self, **labels):
        """꼬리표가 맞는 하나뿐인 실행입니다.

        Raises:
            ValueError: 맞는 실행이 없거나 여럿일 때.

        Examples:
            >>> stored.run(units=64, seed=2)["right"]
            0.94
        """
        (found,) = self._matching(labels)
        return found

    def values(self, name, **labels):
        """꼬리표가 맞는 실행마다의 값입니다. 순서는 파일의 순서입니다.

        Args:
            name: 값의 이름.
            **labels: 고를 꼬리표. 없으면 모든 실행입니다.

        Returns:
            `numpy.ndarray`, (실행의 수,). 값이 목록이면 그 축이 뒤에 붙습니다.

        Raises:
            ValueError: 맞는 실행이 없을 때.
            KeyError: 그 값이 없는 실행이 있을 때.

        Examples:
            >>> stored.values("right", units=32)
            array([0.71, 0.75])
        """
        found = self._matching(labels)
        if not found:
            raise ValueError(f"{labels}에 맞는 실행이 없습니다.")
        return np.array([run[name] for run in found])

    def summary(self, name, **labels):
        """`values`의 평균과 폭입니다.

        Returns:
            `Summary`.

        Examples:
            >>> print(f"맞힌 비율은 {stored.summary('right', units=64):.0%}")
            맞힌 비율은 91% (88%–94%, 시드 2개)
        """
        return Summary.of(self.values(name, **labels))

    def draw(self, axes, name, along, label=None, **labels):
        """축에 선 하나를 그립니다. 점은 평균, 막대는 가장 작은 값에서 큰 값까지입니다.

        Args:
            axes: `plotting.figure`가 연 축.
            name: 세로로 그릴 값의 이름.
            along: 가로로 펼칠 꼬리표. 수이면 작은 것부터, 문자열이면 파일의 순서로
                잇습니다.
            label: 범례에 적을 이름.
            **labels: 고를 꼬리표.

        Raises:
            ValueError: 맞는 실행이 없을 때.

        Examples:
            >>> from transformer_notes.figures import plotting
            >>> with plotting.figure(5, 3) as (fig, axes):
            ...     stored.draw(axes, "right", "units", label="LSTM", what="LSTM")
            ...     _ = axes.set(xlabel="유닛", ylabel="맞힌 비율")
        """
        places = list(dict.fromkeys(self.values(along, **labels).tolist()))
        if not isinstance(places[0], str):
            places.sort()
        rows = [self.summary(name, **labels | {along: place}) for place in places]
        means = [row.mean for row in rows]
        below = [row.mean - row.least for row in rows]
        above = [row.most - row.mean for row in rows]
        axes.errorbar(places, means, [below, above], marker="o", capsize=3, label=label)

    def _matching(self, labels):
        return [run for run in self.runs if labels.items() <= run.items()]


class Table(str):
    """Markdown의 표. 찍으면 글이고, 셀의 마지막 줄에 두면 표로 보입니다."""

    def _repr_markdown_(self):
        return str(self)


def table(header, rows):
    """표를 만듭니다.

    Args:
        header: 열의 이름.
        rows: 행의 목록. 행은 글이나 수의 목록입니다.

    Returns:
        `Table`.

    Examples:
        >>> rows = [[n, f"{stored.summary('right', units=n):.2f}"] for n in (32, 64)]
        >>> print(table(["유닛", "맞힌 비율"], rows))
        | 유닛 | 맞힌 비율 |
        | --- | --- |
        | 32 | 0.73 (0.71–0.75, 시드 2개) |
        | 64 | 0.91 (0.88–0.94, 시드 2개) |
    """
    lines = [header, ["---"] * len(header), *rows]
    return Table("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))
