"""쪽의 코드가 패키지를 얼마나 지키는가: 한 곳씩 고장 내고, 누가 알아차리는지 셉니다.

``make mutants``가 실행합니다. 강의가 설명하는 모듈에서 고칠 수 있는 곳을 모두 찾아
시드로 뽑습니다. 하나를 고칠 때마다 먼저 **그 모듈의 쪽과 독스트링만** 실행하고, 아무도
알아차리지 못하면 그 모듈의 시험을 실행합니다. 끝나면 살아남은 것을 한 줄씩 보입니다.
여느 시험에는 넣지 않습니다. 두 시간이 넘게 걸립니다.

TensorFlow를 가져온 프로세스 하나에서 고장마다 갈라져 나옵니다. 저장소의 사본에서
고치므로 원래의 파일은 그대로입니다. 결과는 ``build/mutants.json``에 쌓이고, 멈추었다가
같은 명령으로 이어 갑니다. 코드가 달라지면 처음부터 다시 셉니다.

``--prose``를 주면 코드가 아니라 쪽의 글을 고장 냅니다. 글과 표와 그림의 설명에 적은
수에서 숫자 하나를 바꾸고 `typed_numbers`가 알아차리는지 봅니다. ``{n}``으로 묶은 수는
``pytest docs``가 한 자리만 달라도 알아차립니다(`test_tied_numbers.py`).
"""

import argparse
import ast
import collections
import contextlib
import copy
import functools
import hashlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "transformer_notes"
STORED = ROOT / "build" / "mutants.json"
#: 한 모듈의 것을 가르치는 다른 쪽. 키-값 캐시는 디코딩 장에서, 나누어 배우는 일은 크게
#: 학습하기 장에서, 층이 부품에 이름과 dtype을 넘기는 일은 Keras 층의 장에서 배웁니다.
ALSO = dict.fromkeys(
    """add_norm classification embedding encoder feed_forward linear_softmax
    positional_encoding pretraining seq2seq""".split(),
    ("keras_layers",),
) | {
    "config": ("transformer", "keras_layers"),
    "decoder": ("decoding", "keras_layers"),
    "multi_head_attention": ("decoding", "keras_layers"),
    "training/loop": ("scaling",),
    "transformer": ("decoding", "keras_layers"),
}
#: 고장 내지 않았을 때의 몇 배까지 기다리는가. 고장 난 코드는 끝나지 않기도 합니다.
#: 기계가 바쁜 탓이 되지 않게 프로세서의 시간으로 셉니다.
PATIENCE = 5

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
        if _order_matters(node):
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


def _order_matters(call):
    """앞의 두 인자를 맞바꾸면 다른 계산이 되는가."""
    if len(call.args) < 2 or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    name = ast.unparse(call.func).rpartition(".")[-1]
    same = ast.dump(call.args[0]) == ast.dump(call.args[1])
    return not same and name not in {"max", "min", "maximum", "minimum", "result_type"}


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


def modules():
    """강의가 설명하는 모듈: 맨 위의 모듈과, 강의와 이름이 같은 폴더의 것."""
    names = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("[a-z]*.py")]
    return sorted(
        str(name.with_suffix(""))
        for name in names
        if str(name.parent) in {".", "training", "decoding"}
        and guards(str(name.with_suffix("")))[0][1:]
    )


def guards(module):
    """(독스트링과 쪽, 시험)의 경로."""
    lecture, _, name = module.partition("/")
    pages = [
        str(path.relative_to(ROOT))
        for page in (lecture, *ALSO.get(module, ()))
        for path in ROOT.glob(f"docs/*/{page}.md")
    ]
    # test_search는 사이트의 검색을 시험합니다.
    other = {"config": "transformer", "pytorch": "parity"}.get(module, name)
    names = {name, lecture, other} - {"search"}
    tests = [f"tests/test_{name}.py" for name in (*sorted(names), "signatures")]
    tests = [path for path in tests if (ROOT / path).exists()]
    return [f"transformer_notes/{module}.py", *pages], ["docs/index.md", *tests]


def mutants(module):
    """모듈의 고장을 모두: (모듈, 마디의 번호, 그 마디의 몇째, 줄, 이름)."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text("utf-8"))
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
    source = (PACKAGE / f"{mutant['module']}.py").read_text("utf-8")
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
    every = [mutant for name in modules() for mutant in mutants(name)]
    random.Random(seed).shuffle(every)
    return every[:count]


@functools.cache
def own_copy(root):
    """이 프로세스가 고장 낼 사본. 파일은 원래의 것과 이어져 있습니다."""
    folder = Path(root) / str(os.getpid()) / "book"
    ignored = shutil.ignore_patterns("build", ".venv", ".git", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=ignored, copy_function=os.link)
    return folder


def unbroken(module, root):
    """고장 내지 않은 모듈의 쪽과 시험이 쓰는 프로세서의 시간."""
    seconds, folder = [], own_copy(root)
    for paths in guards(module):
        verdict, used = run(paths, folder)
        if verdict != "passed":
            log = (folder / "pytest.log").read_text()
            raise RuntimeError(f"{module}: 고장 내지 않아도 실패합니다.\n{log[-2000:]}")
        seconds.append(used)
    return module, seconds


def judge(mutant, seconds, root):
    """누가 알아차렸는가: pages, tests, 아무도 아니면 None. 시간이 다 되면 모릅니다."""
    text, changed = broken(mutant)
    folder = own_copy(root)
    path = folder / "transformer_notes" / f"{mutant['module']}.py"
    path.unlink()  # 원래 파일과 이어져 있으므로 먼저 끊습니다
    path.write_text(text, encoding="utf-8")
    caught, stages = None, zip(("pages", "tests"), guards(mutant["module"]))
    for (name, paths), used in zip(stages, seconds[mutant["module"]]):
        verdict, _ = run(paths, folder, PATIENCE * used + 20)
        if verdict == "failed":
            caught = name
            break
        if verdict == "endless":
            caught = "endless"
    path.unlink()
    os.link(PACKAGE / f"{mutant['module']}.py", path)
    return {**mutant, "changed": changed, "caught": caught}


def run(paths, folder, limit=3600):
    """갈라진 프로세스의 pytest: (passed나 failed나 endless, 쓴 프로세서의 초)."""
    child = os.fork()
    if not child:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            signal.alarm(int(20 * limit))  # 아무것도 하지 않고 멈추어 있을 때
            status = pytest_in(folder, paths)
        except BaseException:
            traceback.print_exc()  # pytest.log로 돌려 놓은 곳에 적습니다
        finally:  # 부모의 뒤처리를 물려받지 않습니다
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # 시험이 남긴 것
    verdict = "failed" if status else "passed"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (
        signal.SIGXCPU,
        signal.SIGALRM,
    ):
        verdict = "endless"
    return verdict, used.ru_utime + used.ru_stime


def pytest_in(folder, paths):
    """pytest가 돌려준 수. 0이면 모두 맞았습니다."""
    import pytest

    os.setsid()
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    with open(folder / "pytest.log", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    return int(pytest.main(["-x", "-q", "-m", "not slow", *paths]))


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
    for caught, title in (
        ("tests", "쪽이 놓친 것"),
        (None, "아무도 못 본 것"),
        ("endless", "끝나지 않아 알 수 없는 것"),
    ):
        print(f"\n{title}")
        for mutant in found:
            if mutant["caught"] == caught:
                print(f"{mutant['module']}.py:{mutant['line']} {mutant['kind']}")
                print("   -", mutant["changed"][0], "\n   +", mutant["changed"][1])


def prose(count, seed):
    """글의 수를 하나씩 바꾸어, 알아차린 것과 놓친 것을 보입니다."""
    sys.path.insert(0, str(ROOT / "conf" / "extensions"))
    import typed_numbers

    draw = random.Random(seed)
    pages = {path: path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")}
    everywhere = [
        (path, *place)
        for path, text in sorted(pages.items())
        for place in typed_numbers.places(text)
    ]
    chosen, missed = draw.sample(everywhere, min(count, len(everywhere))), []
    for path, start, end, tied in chosen:
        text = pages[path]
        at = draw.randrange(start, end)
        other = draw.choice([digit for digit in "0123456789" if digit != text[at]])
        changed = text[:at] + other + text[at + 1 :]
        if not tied and not [*typed_numbers.typed(changed)]:
            line = text.count("\n", 0, at) + 1
            around = text[max(0, start - 20) : end + 20].replace("\n", " ")
            missed.append(f"{path.relative_to(ROOT)}:{line} …{around}…  → {other}")
    print(*missed, sep="\n")
    tied = sum(place[-1] for place in everywhere)
    print(
        f"글의 수 {len(everywhere)}개(묶은 것 {tied}개)에서 {len(chosen)}개를 바꾸어 "
        f"{1 - len(missed) / len(chosen):.1%}를 알아차렸습니다."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400, help="고장의 수")
    parser.add_argument("--seed", type=int, default=0, help="뽑는 시드")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--prose", action="store_true", help="글의 수를 바꿉니다")
    options = parser.parse_args()
    if options.prose:
        return prose(options.count, options.seed)
    chosen = sample(options.count, options.seed)
    sources = [(PACKAGE / f"{name}.py").read_text("utf-8") for name in modules()]
    digest = hashlib.sha256("".join(sources).encode()).hexdigest()
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    if stored.get("digest") != digest:
        stored = {"digest": digest, "found": [], "seconds": {}}
    found, seconds = stored["found"], stored["seconds"]
    done = {(m["module"], m["node"], m["which"]) for m in found}
    left = [m for m in chosen if (m["module"], m["node"], m["which"]) not in done]
    print(f"고장 {len(chosen)}개 가운데 {len(left)}개가 남았습니다.", flush=True)
    warm_up()
    STORED.parent.mkdir(exist_ok=True)

    def keep():
        STORED.write_text(json.dumps(stored), "utf-8")

    with contextlib.ExitStack() as stack:
        root = stack.enter_context(tempfile.TemporaryDirectory(dir=STORED.parent))
        tempfile.tempdir = os.environ["TMPDIR"] = root  # 죽인 것은 치우지 못합니다
        fork = multiprocessing.get_context("fork")
        pool = stack.enter_context(fork.Pool(options.processes))
        new = {m["module"] for m in left} - {*seconds}
        clean = functools.partial(unbroken, root=root)
        for module, used in pool.imap_unordered(clean, sorted(new)):
            seconds[module] = used
            keep()
        judged = functools.partial(judge, seconds=seconds, root=root)
        for mutant in pool.imap_unordered(judged, left):
            found.append(mutant)
            keep()
            print(mutant["module"], mutant["line"], mutant["caught"], flush=True)
    return report(found)


if __name__ == "__main__":
    main()
