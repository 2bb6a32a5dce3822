"""쪽의 결과를 만드는 프로그램: 쪽마다 하나이고, 쪽과 이름이 같습니다.

``python tests/experiments/이름.py``가 쪽 옆의 ``이름_results.json``을 만듭니다. 이미
있고 낡지 않았으면 아무것도 하지 않으므로, 다시 재려면 그 파일을 지웁니다. 실행이 끝날
때마다 ``build/experiments``에 적어 두어, 멈추었다가 같은 명령으로 이어 갑니다.

**언제 낡는가.** 코드의 지문이 그대로이면 낡지 않았습니다. 지문이 달라졌다고 낡은 것은
아닙니다. 패키지를 다듬기만 해도 지문은 달라지는데, 그때마다 몇 시간을 다시 학습할 수는
없습니다. 그래서 지문이 달라졌을 때에만 `probe`를 다시 계산해 저장된 것과 견줍니다. 처음
몇 손실처럼 몇 초면 나오고 계산이 달라지면 함께 달라지는 값입니다. 같으면 결과도
그대로라고 보고, 다르면 낡았습니다. 설정이나 실행의 목록이 다르면 언제나 낡은 것입니다.
따라서 숫자를 정하는 상수는 설정이나 `probe`에 보여야 합니다.
"""

import ast
import dataclasses
import functools
import hashlib
import itertools
import json
import math
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import measuring

from transformer_notes._files import replacing
from transformer_notes.figures.results import Results

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = "tensorflow", "keras", "numpy"


@dataclasses.dataclass
class Experiment:
    """프로그램 하나.

    Args:
        program: 프로그램의 `__file__`.
        settings: 모든 실행에 함께 쓰는 설정. JSON으로 적을 수 있는 사전.
        plan: 실행마다의 꼬리표. 사전이고 `what`이 있습니다. 이 차례로 실행합니다.
        measure: 꼬리표를 이름 있는 인자로 받아 결과의 사전을 내는 함수.
        probe: 견줄 값의 사전을 내는 함수. 이름이 어떤 `what`이면 그 실행들만의 값이고,
            아니면 모두의 값입니다.
        packages: 판을 적을 다른 패키지.
    """

    program: str
    settings: dict
    plan: list
    measure: Callable
    probe: Callable
    packages: tuple = ()

    @property
    def page(self):
        name = Path(self.program).stem
        found = list(ROOT.glob(f"docs/[!d]*/{name}.md"))  # 'deeper'는 빼고
        if len(found) != 1:
            raise ValueError(
                f"프로그램에는 이름이 같은 쪽 하나가 필요합니다. 받은 것: {name}, 쪽 "
                f"{len(found)}개. docs/lectures/{name}.md를 먼저 만들어 주세요."
            )
        return found[0]

    @property
    def path(self):
        return self.page.with_name(f"{self.page.stem}_results.json")

    @property
    def unfinished(self):
        return ROOT / "build" / "experiments" / self.path.name

    @functools.cached_property
    def probed(self):
        return _plain(self.probe())

    def changed(self, stored):
        """probe 가운데 저장된 것과 달라진 것의 이름."""
        return {k for k, v in self.probed.items() if not same(v, stored.probe.get(k))}

    def staleness(self):
        """결과가 낡은 까닭. 낡지 않았으면 빈 문자열입니다."""
        if not self.path.exists():
            return "저장된 결과가 없습니다."
        stored = Results.load(self.path)
        if stored.settings != _plain(self.settings):
            return "설정이 저장된 것과 다릅니다."
        if self._planned(stored.runs) != stored.runs:
            return "실행의 목록이 저장된 것과 다릅니다."
        if stored.digest != digest(self.program) and (names := self.changed(stored)):
            return f"계산이 달라졌습니다: {', '.join(sorted(names))}."
        return ""

    def main(self):
        """결과가 낡았으면 다시 만듭니다. 낡지 않은 실행은 그대로 둡니다."""
        if reason := self.staleness():
            print(f"{self.path.name}: {reason}", flush=True)
            self._make()
        else:
            stored = Results.load(self.path)
            if stored.digest != digest(self.program):
                stored = dataclasses.replace(stored, digest=digest(self.program))
                write(self.path, stored)
                print(
                    "코드가 달라졌지만 probe는 같습니다. 설정에도 probe에도 없는 "
                    "상수를 바꾸었다면 저장된 파일을 지우고 다시 실행하세요."
                )
            print(f"{self.path.name}: 낡지 않았습니다.")

    def _make(self):
        here = {
            "machine": measuring.machine(),
            "versions": measuring.versions(*LIBRARIES, *self.packages),
        }
        stored = Results(
            command=f"python tests/experiments/{Path(self.program).name}",
            settings=_plain(self.settings),
            digest=digest(self.program),
            probe=self.probed,
            **self._kept(self.unfinished)
            or self._kept(self.path)
            or {**here, "runs": []},
        )
        for labels in self.plan:
            if _run(labels, stored.runs):
                continue
            load = measuring.load_average()
            found = self.measure(**labels)
            load = [load, measuring.load_average()]
            # 다른 기계나 판에서 이어 간 실행에는 그것을 적어 둡니다.
            other = {k: v for k, v in here.items() if getattr(stored, k) != v}
            stored.runs.append({**labels, **found, "load_average": load, **other})
            self.unfinished.parent.mkdir(parents=True, exist_ok=True)
            write(self.unfinished, stored)
            print(stored.runs[-1], flush=True)
        write(self.path, dataclasses.replace(stored, runs=self._planned(stored.runs)))
        self.unfinished.unlink(missing_ok=True)

    def _kept(self, path):
        """파일에서 그대로 쓸 실행과 그 기계와 판. 없으면 None입니다."""
        stored = Results.load(path) if path.exists() else None
        if not stored or stored.settings != _plain(self.settings):
            return None
        changed = self.changed(stored)
        if changed - {labels["what"] for labels in self.plan}:
            return None
        runs = [run for run in stored.runs if run["what"] not in changed]
        if not runs:
            return None
        return {"machine": stored.machine, "versions": stored.versions, "runs": runs}

    def _planned(self, runs):
        """실행을 plan의 차례로 늘어놓습니다. 남는 것은 버리고, 없는 것은 None입니다."""
        return [_run(labels, runs) for labels in self.plan]


def _run(labels, runs):
    return next((run for run in runs if labels.items() <= run.items()), None)


def _plain(value):
    return json.loads(json.dumps(value))


def same(now, then):
    """다른 기계의 반올림은 봐주고, 계산이 달라진 것은 봐주지 않습니다."""
    if isinstance(now, float) and isinstance(then, float):
        return math.isclose(now, then, rel_tol=1e-3)
    if isinstance(now, dict) and isinstance(then, dict):
        return now.keys() == then.keys() and all(same(now[k], then[k]) for k in now)
    if isinstance(now, list) and isinstance(then, list):
        return len(now) == len(then) and all(map(same, now, then))
    return now == then


def digest(program):
    """프로그램, 그것이 가져오는 프로그램과 패키지의 모듈, 라이브러리의 판의 지문.

    주석, 독스트링, 줄의 자리는 뜻이 아니므로 뺍니다.
    """
    sources, waiting = {}, [Path(program).resolve()]
    while waiting:
        path = waiting.pop()
        if path not in sources:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            sources[path] = ast.unparse(_without_docstrings(tree))
            waiting += _imported(tree)
    meaning = [version(name) for name in LIBRARIES]
    meaning += [sources[path] for path in sorted(sources)]
    return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()[:16]


def _without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return tree


def _imported(tree):
    """가져오는 이름의 앞부분마다, 이 저장소나 이 폴더에 있는 모듈의 파일.

    이 파일은 아무것도 계산하지 않으므로 뺍니다.
    """
    here = Path(__file__).resolve()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "패키지에서는 온전한 이름으로 가져옵니다"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name, path in itertools.product(names, (ROOT, here.parent)):
            for part in name.split("."):
                path /= part
                files = path.with_suffix(".py"), path / "__init__.py"
                yield from (file for file in files if file.is_file() and file != here)


def write(path, stored):
    """JSON으로 적습니다. 실행 하나와 필드의 항목 하나가 한 줄입니다."""
    dumps = functools.partial(json.dumps, ensure_ascii=False)
    fields = []
    for name, value in vars(stored).items():
        if name == "runs":
            text = "[\n  " + ",\n  ".join(map(dumps, value)) + "\n ]"
        elif isinstance(value, dict):
            lines = (f"{dumps(key)}: {dumps(item)}" for key, item in value.items())
            text = "{\n  " + ",\n  ".join(lines) + "\n }"
        else:
            text = dumps(value)
        fields.append(f" {dumps(name)}: {text}")
    with replacing(path) as partial:
        partial.write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")
