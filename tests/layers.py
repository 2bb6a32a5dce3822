"""층의 시험이 함께 쓰는 것: 실행 방식, 정밀도, 무작위 입력과 가중치.

시험이 아니므로 이름이 `test_`로 시작하지 않습니다.
"""

import numpy as np
import pytest
import tensorflow as tf

MODES = {
    "eager": lambda function: function,
    "graph": tf.function,
    "xla": lambda function: tf.function(function, jit_compile=True),
}
HALF = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
ROUNDING = {"mixed_float16": 2e-2, "mixed_bfloat16": 1e-1, "float64": 1e-12}
every_mode = pytest.mark.parametrize("mode", MODES)
every_policy = pytest.mark.parametrize("policy", ["float32", "float64", *HALF])


def normal(*shape, seed=0, dtype="float32"):
    return tf.constant(np.random.default_rng(seed).normal(size=shape), dtype)


def random_weights(layer, seed=0):
    """편향까지 0이 아닌 값으로 채웁니다."""
    generator = np.random.default_rng(seed)
    layer.set_weights([generator.normal(size=w.shape) / 2 for w in layer.weights])
    return layer


def caught(kind, call):
    """call이 낸 예외의 메시지입니다."""
    with pytest.raises(kind) as info:
        call()
    return str(info.value)
