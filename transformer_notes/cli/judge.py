"""명령 `check`가 띄우는 프로세스: 독자의 파일을 실행하고 답을 파일로 적습니다.

사람이 부르는 명령이 아닙니다. 인자는 할 일을 적은 JSON 하나입니다.
"""

import contextlib
import difflib
import faulthandler
import json
import linecache
import os
import sys
import traceback
import types
from pathlib import Path


def main():
    task = json.loads(sys.argv[1])
    path = Path(task.pop("answer"))
    with open(task.pop("trace"), "w") as trace:
        faulthandler.enable(trace)
        answer = judge(**task, trace=trace)
        faulthandler.cancel_dump_traceback_later()
        faulthandler.disable()
    half = path.with_suffix(".half")
    half.write_text(json.dumps(answer), encoding="utf-8")
    half.replace(path)
    sys.stdout.flush()
    os._exit(0)  # 독자의 스레드를 기다리지 않습니다


def judge(path, name, kind, mask_true, adapter, seconds, memory, trace):
    """`verdict`와 `message`, 또는 까닭을 적은 `bad`나 `failed`를 담은 사전입니다."""
    from transformer_notes.checker import check

    limit_memory(memory)
    # 시한은 독자의 코드부터 셉니다. 지나면 있던 줄을 적고 프로세스를 끝냅니다.
    faulthandler.dump_traceback_later(seconds, exit=True, file=trace)
    try:
        module = load(path)
    except (Exception, SystemExit) as error:
        why = f"{path}을(를) 가져오지 못했습니다. {explain(error, path)}"
        return {"bad": why}
    try:
        candidate = find(module, name, path)
        adapter = find(module, adapter, path) if adapter else None
    except LookupError as error:
        return {"bad": error.args[0]}
    try:
        report = check(candidate, kind, mask_true=mask_true, adapter=adapter)
    except (Exception, SystemExit) as error:
        return {"failed": f"확인하다가 멈추었습니다. {explain(error, path)}"}
    return {"verdict": report.verdict, "message": report.message}


def limit_memory(gibibytes):
    """지금 쓰는 것에 더해 쓸 메모리를 제한합니다. 리눅스가 아니면 하지 않습니다."""
    try:
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii")
    except (ImportError, OSError):
        return
    used = next(line for line in status.splitlines() if line.startswith("VmData:"))
    most = int(used.split()[1]) * 1024 + int(gibibytes * 2**30)
    with contextlib.suppress(ValueError, OSError):  # 이미 더 좁게 제한되어 있습니다
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def load(path):
    """독자의 파일을 모듈로 실행합니다."""
    full = str(Path(path).resolve())
    # 곁에 있는 파일도 가져올 수 있게 합니다. 앞에 두면 numpy.py가 진짜를 가립니다.
    sys.path.append(os.path.dirname(full))
    module = types.ModuleType("checked_file")
    module.__file__ = full
    sys.modules[module.__name__] = module
    with open(full, "rb") as file:
        code = compile(file.read(), full, "exec")
    exec(code, module.__dict__)
    return module


def find(module, name, path):
    """모듈에서 부를 수 있는 것을 찾습니다."""
    named = {n: value for n, value in vars(module).items() if callable(value)}
    if name in named:
        return named[name]
    alike = difflib.get_close_matches(name, named, 1)
    hint = f" 혹시 {alike[0]}입니까?" if alike else ""
    raise LookupError(f"{path}에 부를 수 있는 {name}(함수나 층)이 없습니다.{hint}")


def explain(error, path):
    """독자의 파일 몇 번째 줄에서 무슨 예외가 났는지 말합니다."""
    full = str(Path(path).resolve())
    if isinstance(error, SyntaxError) and error.filename == full:
        line = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if f.filename == full), None)
    words = " ".join(traceback.format_exception_only(error)[-1].split())
    if line is None:
        return words
    shown = linecache.getline(full, line).strip()
    return f"{path} {line}번째 줄 `{shown}`: {words}"


if __name__ == "__main__":
    main()
