"""쪽의 코드가 패키지를 얼마나 지키는가: 한 곳씩 고장 내고, 누가 알아차리는지 셉니다.

``make mutants``가 실행합니다. 강의가 설명하는 모듈에서 고칠 수 있는 곳을 모두 찾아
시드로 뽑습니다. 하나를 고칠 때마다 먼저 **그 모듈의 쪽과 독스트링만** 실행하고, 아무도
알아차리지 못하면 그 모듈의 시험을 실행합니다. 끝나면 살아남은 것을 한 줄씩 보입니다.
여느 시험에는 넣지 않습니다. 두 시간이 넘게 걸립니다.

TensorFlow를 가져온 프로세스 하나에서 고장마다 갈라져 나옵니다. 저장소의 사본에서
고치므로 원래의 파일은 그대로입니다. 결과는 ``build/mutants.json``에 쌓이고, 멈추었다가
같은 명령으로 이어 갑니다. 코드가 달라지면 처음부터 다시 셉니다.
"""

import argparse
import ast
import collections
import copy
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "build" / "mutants.json"
#: 모듈마다, 그것을 설명하는 쪽과 그것을 지키는 시험. 이름이 같은 것은 적지 않습니다.
LECTURES = (
    "add_norm attention decoder decoding embedding encoder feed_forward linear_softmax "
    "masking multi_head_attention positional_encoding seq2seq tokenization training "
    "transformer"
).split()
FRONT_DOORS = {
    "batches": "training",
    "checkpoints": "training",
    "config": "transformer",
    "generation": "decoding",
    "losses": "training",
    "normalization": "tokenization",
    "schedules": "training",
    "softmax": "attention",
}
#: 한 모듈의 것을 가르치는 다른 쪽. 키-값 캐시는 디코딩 장에서, 나누어 배우는 일은 크게
#: 학습하기 장에서 배웁니다.
ALSO = {
    "decoder": "decoding",
    "multi_head_attention": "decoding",
    "training": "scaling",
    "transformer": "decoding",
}
PATIENCE = 180  # 초. 고장 난 코드는 끝나지 않기도 합니다

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def mutations(node):
    """그 자리에서 할 수 있는 고장: (이름, 바꾸는 함수)."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            changed = COMPARED[type(operator)]()
            yield "compare", lambda n, p=place, c=changed: n.ops.__setitem__(p, c)
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        changed = COMPUTED[type(node.op)]()
        yield "operator", lambda n: setattr(n, "op", changed)
    if isinstance(node, ast.BoolOp):
        changed = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield "operator", lambda n: setattr(n, "op", changed)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", lambda n: setattr(n, "value", value)
    if isinstance(node, ast.If | ast.IfExp):
        yield (
            "condition",
            lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test)),
        )
    if isinstance(node, ast.Call):
        for place in range(len(node.keywords)):
            yield "keyword", lambda n, p=place: n.keywords.pop(p)
        if len(node.args) > 1 and not any(
            isinstance(a, ast.Starred) for a in node.args
        ):
            yield "order", lambda n: n.args.insert(0, n.args.pop(1))
    for field in ("body", "orelse"):
        statements = getattr(node, field, [])
        for place, statement in enumerate(
            statements if isinstance(statements, list) else []
        ):
            if isinstance(statement, ast.Raise | ast.AugAssign) or (
                isinstance(statement, ast.Expr)
                and not isinstance(statement.value, ast.Constant)
            ):
                yield (
                    "statement",
                    lambda n, f=field, p=place: getattr(n, f).__setitem__(
                        p, ast.copy_location(ast.Pass(), getattr(n, f)[p])
                    ),
                )


def _told(tree):
    """고장 내지 않는 마디: 장식자, 형 표시, 예외의 글, `__all__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from node.decorator_list
        if isinstance(node, ast.Raise) and node.exc:
            yield node.exc
        yield from filter(None, [getattr(node, name, None) for name in _TYPES])
        if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0]):
            yield node


_TYPES = "annotation", "returns"


def mutants(module):
    """모듈의 고장을 모두: (모듈, 마디의 번호, 그 마디의 몇째, 줄, 이름)."""
    tree = ast.parse((ROOT / "transformer_notes" / f"{module}.py").read_text("utf-8"))
    spared = {id(inner) for told in _told(tree) for inner in ast.walk(told)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in spared:
            for which, (name, _) in enumerate(mutations(node)):
                line = getattr(node, "lineno", 1)
                yield {
                    "module": module,
                    "node": number,
                    "which": which,
                    "line": line,
                    "kind": name,
                }


def broken(mutant):
    """(고장 난 모듈의 글, 바뀐 문장의 앞과 뒤)."""
    source = (ROOT / "transformer_notes" / f"{mutant['module']}.py").read_text("utf-8")
    tree = ast.parse(source)
    before = copy.deepcopy(tree)
    node = list(ast.walk(tree))[mutant["node"]]
    list(mutations(node))[mutant["which"]][1](node)
    ast.fix_missing_locations(tree)
    text = ast.unparse(tree)
    lines = ast.unparse(before).splitlines(), text.splitlines()
    first = next((i for i, (a, b) in enumerate(zip(*lines)) if a != b), 0)
    return text, [side[first].strip() for side in lines]


def sample(count, seed):
    every = [
        mutant for name in sorted([*LECTURES, *FRONT_DOORS]) for mutant in mutants(name)
    ]
    random.Random(seed).shuffle(every)
    return every[:count]


def guards(module):
    """(쪽과 독스트링, 시험)의 경로."""
    lecture = FRONT_DOORS.get(module, module)
    pages = [
        str(path.relative_to(ROOT))
        for name in filter(None, (lecture, ALSO.get(module)))
        for path in ROOT.glob(f"docs/lectures/{name}.*")
        if path.suffix in {".md", ".rst"}
    ]
    tests = [f"tests/test_{name}.py" for name in dict.fromkeys((module, lecture))]
    tests = [path for path in tests if (ROOT / path).exists()]
    return [*pages, f"transformer_notes/{module}.py"], ["docs/index.md", *tests]


def judge(mutant, folder):
    """누가 알아차렸는가: pages, tests, 아무도 아니면 None."""
    text, changed = broken(mutant)
    pages, tests = guards(mutant["module"])
    path = folder / "transformer_notes" / f"{mutant['module']}.py"
    path.unlink()  # 원래 파일과 이어져 있으므로 먼저 끊습니다
    path.write_text(text, encoding="utf-8")
    try:
        caught = None
        for name, paths in (("pages", pages), ("tests", tests)):
            if fails(paths, folder):
                caught = name
                break
    finally:
        path.unlink()
        os.link(ROOT / "transformer_notes" / path.name, path)
    return {**mutant, "changed": changed, "caught": caught}


def fails(paths, folder):
    child = os.fork()
    if not child:
        status = 1
        try:
            status = run(paths, folder)
        except BaseException:
            traceback.print_exc()  # run이 pytest.log로 돌려 놓은 곳에 적습니다
        finally:  # 부모의 뒤처리를 물려받지 않습니다
            os._exit(status)
    until = time.monotonic() + PATIENCE
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        if time.monotonic() > until:
            os.killpg(child, 9)
            os.waitpid(child, 0)
            return True
        time.sleep(0.2)


def run(paths, folder):
    """pytest가 돌려준 수. 0이면 모두 맞았습니다."""
    import pytest

    os.setsid()
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    with open(folder / "pytest.log", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    return int(pytest.main(["-x", "-q", *paths]))


def warm_up():
    """갈라지기 전에 가져옵니다. 연산을 하나라도 실행하면 갈라질 수 없습니다.

    hypothesis는 pytest의 확장이라, 먼저 가져오면 pytest가 경고하고 멈춥니다.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
    os.environ.setdefault("MPLBACKEND", "agg")
    import keras  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pytest  # noqa: F401
    import tensorflow  # noqa: F401


def work(asked, answers):
    try:
        _work(asked, answers)
    finally:
        answers.put(None)


def _work(asked, answers):
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        folder = Path(name) / "book"
        ignored = shutil.ignore_patterns("build", ".venv", ".git", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=ignored, copy_function=os.link)
        for group in iter(asked.get, None):
            module = group[0]["module"]
            if any(fails(paths, folder) for paths in guards(module)):
                log = (folder / "pytest.log").read_text()
                sys.exit(f"{module}: 고장 내지 않아도 실패합니다.\n{log[-2000:]}")
            for mutant in group:
                answers.put(judge(mutant, folder))


def report(found):
    rows = collections.defaultdict(collections.Counter)
    for mutant in found:
        for name in (mutant["module"], "모두"):
            rows[name][mutant["caught"]] += 1
    print(f"{'모듈':<24}{'고장':>5}{'쪽':>8}{'시험까지':>8}")
    for name, row in sorted(rows.items(), key=lambda item: item[0] == "모두"):
        pages, both = row["pages"], row["pages"] + row["tests"]
        print(
            f"{name:<24}{row.total():>6}{pages / row.total():>9.0%}"
            f"{both / row.total():>11.0%}"
        )
    for caught, title in (("tests", "쪽이 놓친 것"), (None, "아무도 못 본 것")):
        print(f"\n{title}")
        for mutant in found:
            if mutant["caught"] == caught:
                print(f"{mutant['module']}.py:{mutant['line']} {mutant['kind']}")
                print("   -", mutant["changed"][0], "\n   +", mutant["changed"][1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400, help="고장의 수")
    parser.add_argument("--seed", type=int, default=0, help="뽑는 시드")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    chosen = sample(options.count, options.seed)
    sources = [
        (ROOT / "transformer_notes" / f"{name}.py").read_text("utf-8")
        for name in sorted([*LECTURES, *FRONT_DOORS])
    ]
    digest = hashlib.sha256("".join(sources).encode()).hexdigest()
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    found = stored["found"] if stored.get("digest") == digest else []
    done = {(m["module"], m["node"], m["which"]) for m in found}
    left = [m for m in chosen if (m["module"], m["node"], m["which"]) not in done]
    print(f"고장 {len(chosen)}개 가운데 {len(left)}개가 남았습니다.", flush=True)
    warm_up()
    STORED.parent.mkdir(exist_ok=True)
    fork = multiprocessing.get_context("fork")
    asked, answers = fork.SimpleQueue(), fork.SimpleQueue()
    workers = [
        fork.Process(target=work, args=(asked, answers))
        for _ in range(options.processes)
    ]
    for worker in workers:
        worker.start()
    modules = collections.defaultdict(list)
    for mutant in left:
        modules[mutant["module"]].append(mutant)
    for group in sorted(modules.values(), key=len, reverse=True):
        asked.put(group)
    for _ in workers:
        asked.put(None)
    ended = 0
    while ended < len(workers):
        mutant = answers.get()
        if mutant is None:
            ended += 1
            continue
        found.append(mutant)
        STORED.write_text(json.dumps({"digest": digest, "found": found}), "utf-8")
        print(mutant["module"], mutant["line"], mutant["caught"], flush=True)
    report(found)
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        sys.exit("한 모듈이 고장 내지 않아도 실패했습니다. 위의 글을 보고 고치세요.")


if __name__ == "__main__":
    main()
