"""저장된 결과와 그것을 만드는 프로그램이 지키는 약속."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import experiment
import measuring
import pytest

from transformer_notes.figures.results import Results

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "experiments"
PROGRAMS = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if "\nEXPERIMENT = " in path.read_text(encoding="utf-8")
)


def load(name):
    return importlib.import_module(name).EXPERIMENT


# --- 저장된 결과 ---------------------------------------------------------------------


def test_every_stored_result_has_a_program_and_every_program_a_result():
    stored = {path for path in (ROOT / "docs").rglob("*.json")}
    assert stored == {load(name).path for name in PROGRAMS}


def test_stored_results_have_one_form(subtests, tmp_path):
    for name in PROGRAMS:
        with subtests.test(name):
            made_by = load(name)
            stored = Results.load(made_by.path)
            assert stored.command == f"python tests/experiments/{name}.py"
            assert set(stored.machine) == {"processor", "cores"}
            packages = *experiment.LIBRARIES, *made_by.packages
            assert list(stored.versions) == ["python", *packages]
            for labels, run in zip(made_by.plan, stored.runs, strict=True):
                assert "what" in labels and labels.items() <= run.items()
                assert len(run["load_average"]) == 2 and len(run) > len(labels) + 1
            experiment.write(tmp_path / "again.json", stored)
            assert made_by.path.read_text() == (tmp_path / "again.json").read_text()


@pytest.mark.slow  # 코드의 지문이 달라졌으면 처음 몇 스텝을 다시 셉니다
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_stored_result_is_stale(name):
    """낡았으면 ``make experiments``가 다시 만듭니다."""
    made_by = load(name)
    reason = made_by.staleness()
    assert not reason, f"{reason} 다시 만드는 명령: python {made_by.program}"


def test_a_changed_computation_changes_what_dates_is_probed_for(monkeypatch):
    import dates

    losses = dates.first_losses("base")
    assert not experiment.same(losses, dates.first_losses("unscaled"))
    monkeypatch.setitem(dates.SETTINGS, "d_ff", 128)
    assert not experiment.same(losses, dates.first_losses("base"))
    assert "설정" in dates.EXPERIMENT.staleness()


def test_heavy_operations_see_another_product_and_no_reshaping():
    import tensorflow as tf

    def layer(x):
        return tf.matmul(x, x, transpose_b=True)

    def tidied(x):
        """같은 일을, 이름을 붙이고 모양을 바꾸어 가며 합니다."""
        y = tf.identity(x, name="y")
        return tf.reshape(tf.matmul(y, y, transpose_b=True), (4, 4))

    x = tf.TensorSpec((4, 3))
    work = measuring.heavy_operations(layer, x)
    assert work == {"MatMul": 1} == measuring.heavy_operations(tidied, x)
    assert measuring.heavy_operations(lambda x: layer(layer(x)), x) == {"MatMul": 2}


def test_rounding_of_another_machine_is_forgiven_and_nothing_else():
    then = {"losses": [4.16149, 3.20316], "parameters": 100, "changes": {"a": None}}
    assert experiment.same(json.loads(json.dumps(then)), then)
    assert experiment.same(then | {"losses": [4.1615, 3.2031]}, then)
    for other in (
        {"losses": [4.16149, 3.25]},
        {"losses": [4.16149]},
        {"parameters": 101},
        {"changes": {}},
        {"changes": {"a": 1}},
        {"more": 1},
    ):
        assert not experiment.same(then | other, then), other


# --- 프로그램 ------------------------------------------------------------------------

TOY = '''
"""장난감."""
import os
import sys
from pathlib import Path

from experiment import Experiment
from toys.bag import model

SETTINGS = {"epochs": 3}
PLAN = [{"what": what, "seed": seed} for seed in (1, 2) for what in "ab"]


def measure(what, seed):
    with open("log", "a") as file:
        file.write(f"{what}{seed} ")
    if os.environ.get("DIE") == f"{what}{seed}":
        os._exit(9)
    return {"score": model.score(what, seed)}


def probe():
    return {what: model.score(what, 1.0) for what in "ab"} | {"words": model.WORDS}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
'''
MODEL = '''
"""이 모듈은 곱합니다."""

WORDS = ["나는", "어제"]


def score(what, value):
    """곱한 값."""
    return value * {"a": 10, "b": 100}[what]  # 두 갈래
'''


class Toy:
    """임시 폴더의 작은 프로그램. 도구는 진짜입니다."""

    def __init__(self, root):
        self.root = root
        for name in ("experiment.py", "measuring.py"):
            (root / "tests/experiments").mkdir(parents=True, exist_ok=True)
            shutil.copy(FOLDER / name, root / "tests/experiments")
        (root / "docs/lectures").mkdir(parents=True)
        (root / "docs/lectures/toy.md").touch()
        (root / "toys/bag").mkdir(parents=True)
        self.program = root / "tests/experiments/toy.py"
        self.program.write_text(TOY, encoding="utf-8")
        self.model = root / "toys/bag/model.py"
        self.model.write_text(MODEL, encoding="utf-8")
        self.path = root / "docs/lectures/toy_results.json"

    def run(self, **environment):
        """한 번 실행하고, 이번에 잰 것을 돌려줍니다."""
        (self.root / "log").write_text("")
        done = subprocess.run(
            [sys.executable, self.program],
            cwd=self.root,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(self.root)])}
            | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert done.returncode == (9 if environment else 0), done.stdout
        self.said = done.stdout.partition("\n")[0]
        return (self.root / "log").read_text()

    def edit(self, path, old, new):
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    @property
    def stored(self):
        return Results.load(self.path)


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path)


def test_a_program_writes_its_plan_and_then_has_nothing_to_do(toy):
    assert toy.run() == "a1 b1 a2 b2 "
    scores = [(run["what"], run["seed"], run["score"]) for run in toy.stored.runs]
    assert scores == [("a", 1, 10), ("b", 1, 100), ("a", 2, 20), ("b", 2, 200)]
    before = toy.path.read_bytes()
    assert toy.run() == ""
    assert toy.path.read_bytes() == before


def test_a_killed_program_goes_on_where_it_was(toy):
    assert toy.run(DIE="a2") == "a1 b1 a2 "
    assert not toy.path.exists(), "반쯤 된 결과는 쪽이 읽지 않습니다"
    assert toy.run() == "a2 b2 "
    assert len(toy.stored.runs) == 4
    assert not list((toy.root / "build").rglob("*.json"))


def test_words_do_not_change_the_digest(toy):
    toy.run()
    before = toy.stored.digest
    for path in (toy.program, toy.model):
        text = path.read_text(encoding="utf-8")
        text = (
            text.replace("장난감", "노리개").replace("곱", "셈하").replace("# 두", "#")
        )
        path.write_text("# 머리말\n" + text + "\n\n", encoding="utf-8")
    assert toy.run() == ""
    assert toy.stored.digest == before


def test_refactoring_does_not_make_results_stale(toy):
    """지문은 달라지지만 계산이 그대로이므로, 지문만 새로 적습니다."""
    toy.run()
    before = toy.stored
    toy.edit(toy.model, "value", "number")
    assert toy.run() == ""
    assert toy.stored.digest != before.digest and toy.stored.runs == before.runs


@pytest.mark.parametrize(
    "old, new, remade, scores",
    [
        ('"a": 10, "b": 100', '"a": 11, "b": 101', "a1 b1 a2 b2 ", [11, 101, 22, 202]),
        ('"b": 100', '"b": 101', "b1 b2 ", [10, 101, 20, 202]),
        ('"어제"', '"오늘"', "a1 b1 a2 b2 ", [10, 100, 20, 200]),
    ],
)
def test_a_changed_constant_of_the_package_is_found(toy, old, new, remade, scores):
    """모듈은 패키지 안의 폴더에 있고, 달라진 갈래만 다시 잽니다."""
    toy.run()
    toy.edit(toy.model, old, new)
    assert toy.run() == remade
    assert "계산이 달라졌습니다" in toy.said
    assert [run["score"] for run in toy.stored.runs] == scores


def test_what_another_program_of_the_folder_computes_is_found(toy):
    """프로그램은 `small_tasks`처럼 같은 폴더의 것도 가져옵니다."""
    neighbour = toy.program.with_name("neighbour.py")
    neighbour.write_text("from toys.bag import model\n", encoding="utf-8")
    toy.edit(toy.program, "from toys.bag import model", "from neighbour import model")
    toy.run()
    toy.edit(toy.model, '"b": 100', '"b": 101')
    assert toy.run() == "b1 b2 "


def test_a_changed_setting_is_found(toy):
    toy.run()
    toy.edit(toy.program, '"epochs": 3', '"epochs": 4')
    assert toy.run() == "a1 b1 a2 b2 "
    assert "설정" in toy.said


@pytest.mark.parametrize(
    "seeds, remade", [("(1, 2, 3)", "a3 b3 "), ("(1,)", ""), ("(2, 1)", "")]
)
def test_another_plan_makes_only_what_is_missing(toy, seeds, remade):
    toy.run()
    toy.edit(toy.program, "(1, 2)", seeds)
    assert toy.run() == remade
    assert "목록" in toy.said
    wanted = json.loads(seeds.replace("(", "[").replace(",)", "]").replace(")", "]"))
    assert [run["seed"] for run in toy.stored.runs[::2]] == wanted


def test_runs_of_another_machine_say_so(toy):
    toy.run()
    other = {"processor": "옛 기계", "cores": 1}
    toy.path.write_text(
        json.dumps(vars(toy.stored) | {"machine": other}), encoding="utf-8"
    )
    toy.edit(toy.program, "(1, 2)", "(1, 2, 3)")
    toy.run()
    assert toy.stored.machine == other
    machines = [run.get("machine") for run in toy.stored.runs]
    assert machines == [None] * 4 + [measuring.machine()] * 2


def test_a_program_without_a_page_is_refused():
    nowhere = experiment.Experiment("tests/experiments/nowhere.py", {}, [], None, None)
    with pytest.raises(ValueError, match="nowhere"):
        nowhere.staleness()


# --- 자식 프로세스 -------------------------------------------------------------------

WORKERS = """
    import measuring

    def prepare(size):
        ballast = bytearray(size)
        def respond(request):
            return len(ballast) // request
        return {"pages": size // 4096}, respond

    if __name__ == "__main__":
        heavy = bytearray(300 * 2**20)  # 부모의 메모리
        worker = measuring.Worker(prepare, 2**20)
        print(worker.ready, worker.ask(4), worker.end() < 200)
        for size, request in [(2**20, 0), (-1, 1)]:  # 답하다가, 준비하다가 죽습니다
            try:
                measuring.Worker(prepare, size).ask(request)
            except EOFError:
                print("죽은 것을 알았습니다")
"""


def test_a_worker_answers_and_its_memory_is_its_own_and_its_death_is_noticed(tmp_path):
    program = tmp_path / "workers.py"
    program.write_text(textwrap.dedent(WORKERS), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, program],
        env=os.environ | {"PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    said = done.stdout.splitlines()
    died = ["죽은 것을 알았습니다"] * 2
    assert said == ["{'pages': 256} 262144 True", *died], done.stderr
