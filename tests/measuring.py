"""벤치마크가 함께 쓰는 것: 자식 프로세스에서 재기, 기계와 판의 이름."""

import json
import os
import platform
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


class Worker:
    """재는 것 하나를 제 프로세스에 둡니다. 메모리를 따로 재고 번갈아 시킬 수 있습니다.

    한 줄의 JSON을 주고받습니다. 자식은 `answer`를 부릅니다.
    """

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            text=True,
        )
        self.ready = self._read()

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._read()

    def end(self):
        """가장 많이 쓴 메모리 (MiB)를 돌려줍니다."""
        self.process.stdin.close()
        peak = self._read()
        self.process.wait()
        return peak

    def kill(self):
        self.process.kill()
        self.process.wait()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            command = " ".join(self.process.args[1:])
            raise RuntimeError(f"자식 프로세스가 끝났습니다: {command}")
        return json.loads(line)


def answer(ready, respond):
    """자식 프로세스: ready를 알리고, 한 줄씩 받아 respond의 답을 알립니다."""
    _tell(ready)
    for line in sys.stdin:
        _tell(respond(json.loads(line)))
    _tell(memory())


def _tell(value):
    print(json.dumps(value), flush=True)


def memory():
    """이 프로세스가 지금까지 가장 많이 쓴 메모리, MiB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def cores():
    return len(os.sched_getaffinity(0))


def machine():
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": cores(),
    }


def versions(*names):
    found = {"python": platform.python_version()}
    for name in ("tensorflow", "keras", "numpy", *names):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "없음"
    return found


def load_average():
    """지난 1분의 부하. 코어의 수보다 훨씬 크면 다른 일이 끼어들었습니다."""
    return round(os.getloadavg()[0], 1)


def write(path, result):
    """통째로만 바꿉니다. 도중에 멈추어도 앞의 결과가 남습니다."""
    partial = path.with_suffix(".partial")
    text = json.dumps(result, ensure_ascii=False, indent=1)
    partial.write_text(text + "\n", encoding="utf-8")
    os.replace(partial, path)
