"""재기: 자식 프로세스, 시간과 메모리, 기계와 판의 이름, 그래프, 시드마다의 학습."""

import functools
import multiprocessing
import os
import platform
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# 부모가 가져온 TensorFlow를 물려받지 않게 새로 시작합니다.
CONTEXT = multiprocessing.get_context("spawn")


class Worker:
    """재는 것 하나를 제 프로세스에 둡니다. 메모리를 따로 재고 번갈아 시킬 수 있습니다.

    자식은 `prepare(*arguments)`를 부릅니다. 그것은 처음에 알릴 것과, 시킨 일을 받아
    답하는 함수를 냅니다.
    """

    def __init__(self, prepare, *arguments):
        self.pipe, end = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=_serve, args=(end, prepare, arguments))
        self.process.start()
        end.close()  # 그래야 자식이 죽었을 때 기다리지 않고 EOFError가 납니다
        self.ready = self.pipe.recv()

    def ask(self, request):
        self.pipe.send(request)
        return self.pipe.recv()

    def end(self):
        """가장 많이 쓴 메모리 (MiB)를 돌려줍니다."""
        return self.ask(None)

    def kill(self):
        self.process.kill()
        self.process.join()


def _serve(pipe, prepare, arguments):
    ready, respond = prepare(*arguments)
    pipe.send(ready)
    while (request := pipe.recv()) is not None:
        pipe.send(respond(request))
    pipe.send(memory())


def memory():
    """이 프로세스가 지금까지 가장 많이 쓴 메모리, MiB.

    `getrusage`의 것은 만든 프로세스가 쓰던 것까지 물려받으므로 쓰지 않습니다.
    """
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024)


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
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "없음"
    return found


def load_average():
    """지난 1분의 부하. 코어의 수보다 훨씬 크면 다른 일이 끼어들었습니다."""
    return round(os.getloadavg()[0], 1)


def heavy_operations(function, *arguments):
    """그래프에 있는 무거운 연산의 수를 종류마다 셉니다. 실행하지는 않습니다.

    잰 시간이 무엇의 시간인지 말해 줍니다. 이름이나 모양을 바꾸는 연산은 세지 않으므로
    코드를 다듬어도 달라지지 않고, 하는 일이 달라지면 달라집니다.
    """
    import tensorflow as tf

    concrete = tf.function(function).get_concrete_function(*arguments)
    graph = concrete.graph.as_graph_def()
    bodies = [graph.node, *(body.node_def for body in graph.library.function)]
    kinds = Counter(node.op for nodes in bodies for node in nodes)
    heavy = "MatMul", "Conv", "Einsum", "While"
    return {
        kind: kinds[kind] for kind in sorted(kinds) if any(h in kind for h in heavy)
    }


def trainer(what, seed, build, update, data):
    """시드의 가중치에서 시작하는 모델과, 그것을 여러 스텝 학습하는 함수.

    시드가 달라도 그래프는 한 번만 만듭니다.

    Args:
        what: 무엇을 학습할지. `build`에 넘깁니다.
        seed: 가중치의 시드.
        build: 만들어진 모델과 옵티마이저를 내는 함수.
        update: 모델, 옵티마이저, 입력, 답을 받아 한 스텝을 학습하는 함수.
        data: 학습할 입력과 답을 내는 함수.

    Returns:
        모델과, 스텝마다의 행 번호 (스텝, 배치)를 받는 함수.
    """
    import keras

    model, beginning, several = _compiled(what, build, update, data)
    keras.utils.set_random_seed(seed)
    model.set_weights(build(what)[0].get_weights())
    for variable, value in beginning:
        variable.assign(value)
    return model, several


@functools.cache
def _compiled(what, build, update, data):
    """모델, 옵티마이저의 변수와 처음 값, 여러 스텝."""
    import tensorflow as tf

    inputs, answers = map(tf.constant, data())
    model, optimizer = build(what)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=True)
    def several(rows):
        for row in rows:
            batch = tf.gather(inputs, row), tf.gather(answers, row)
            update(model, optimizer, *batch)

    return model, [(v, v.numpy()) for v in optimizer.variables], several
