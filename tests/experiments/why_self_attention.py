"""「왜 셀프 어텐션인가」가 읽는 것: 층 하나가 길이와 배치마다 걸리는 시간.

바퀴마다 모든 층을 돌아가며 재고 가장 짧은 시간을 남깁니다. 끼어든 다른 일은 시간을
늘리기만 하므로 최솟값이 가장 덜 흔들립니다.
"""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import measuring
import tensorflow as tf
from experiment import Experiment

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.multi_head_attention import MultiHeadAttention

SETTINGS = {
    "rounds": 10,
    "d_model": 256,
    "kernel_size": 3,
    "num_heads": 4,
    "lengths": [16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
    "most_tokens": 8192,  # 배치와 길이의 곱이 이보다 크면 재지 않습니다
}
PLAN = [{"what": "layers", "batch": batch} for batch in (1, 8, 32)]


def layers():
    size = SETTINGS["d_model"]
    heads = MultiHeadAttention(size, SETTINGS["num_heads"], use_bias=False)
    width = SETTINGS["kernel_size"]
    return {
        "self_attention": lambda x: scaled_dot_product_attention(x, x, x)[0],
        "multi_head": lambda x: heads(x, x, x),
        "simple_rnn": keras.layers.SimpleRNN(size, return_sequences=True),
        "lstm": keras.layers.LSTM(size, return_sequences=True),
        "convolution": keras.layers.Conv1D(size, width, padding="same"),
        "separable": keras.layers.SeparableConv1D(size, width, padding="same"),
    }


def measure(what, batch):
    """층마다 길이마다 가장 짧은 시간(초)입니다."""
    size, most = SETTINGS["d_model"], SETTINGS["most_tokens"]
    lengths = [n for n in SETTINGS["lengths"] if batch * n <= most]
    shape = tf.TensorSpec((batch, None, size))
    functions = {
        name: tf.function(layer, input_signature=[shape])
        for name, layer in layers().items()
    }
    best = {name: [float("inf")] * len(lengths) for name in functions}
    inputs = [
        tf.random.stateless_normal((batch, n, size), seed=(0, n)) for n in lengths
    ]
    for round_number in range(SETTINGS["rounds"] + 1):
        for name, function in functions.items():
            for index, x in enumerate(inputs):
                seconds = shortest(function, x)
                if round_number:  # 첫 바퀴는 그래프를 만들고 메모리를 잡습니다
                    best[name][index] = min(best[name][index], seconds)
    rounded = {name: [round(value, 7) for value in row] for name, row in best.items()}
    return {"lengths": lengths, "seconds": rounded}


def shortest(function, x, budget=0.02):
    """20ms가 지날 때까지 부르고 가장 짧은 것을 고릅니다. 적어도 한 번은 부릅니다."""
    best, begin = float("inf"), time.perf_counter()
    while best == float("inf") or time.perf_counter() - begin < budget:
        start = time.perf_counter()
        function(x).numpy()
        best = min(best, time.perf_counter() - start)
    return best


def probe():
    """층마다 그 그래프가 하는 일."""
    shape = tf.TensorSpec((1, None, SETTINGS["d_model"]))
    work = {
        name: measuring.heavy_operations(layer, shape)
        for name, layer in layers().items()
    }
    return {"layers": work}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(measuring.cores())
    EXPERIMENT.main()
