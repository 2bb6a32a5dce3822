"""``python tests/benchmark_overview.py``: 표 1의 층들이 걸리는 시간을 길이마다 잽니다.

결과를 ``docs/lectures/overview_times.json``에 적습니다. 「한눈에 보는 모델」은 그것을
읽을 뿐, 쪽에서는 아무것도 재지 않습니다. 바퀴마다 모든 층을 돌아가며 재고 가장 짧은
시간을 남깁니다. 끼어든 다른 일은 시간을 늘리기만 하므로 최솟값이 가장 덜 흔들립니다.
"""

import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import measuring
import tensorflow as tf

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.multi_head_attention import MultiHeadAttention

D_MODEL, WIDTH, HEADS, ROUNDS = 256, 3, 4, 15
LENGTHS = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
RESULT = Path(__file__).resolve().parents[1] / "docs/lectures/overview_times.json"


def layers():
    heads = MultiHeadAttention(D_MODEL, HEADS, use_bias=False)
    return {
        "self_attention": lambda x: scaled_dot_product_attention(x, x, x)[0],
        "multi_head": lambda x: heads(x, x, x),
        "recurrent": keras.layers.SimpleRNN(D_MODEL, return_sequences=True),
        "convolution": keras.layers.Conv1D(D_MODEL, WIDTH, padding="same"),
    }


def measure():
    """층마다 길이마다 가장 짧은 시간(초)입니다."""
    best = {name: [float("inf")] * len(LENGTHS) for name in layers()}
    shape = tf.TensorSpec((1, None, D_MODEL))
    functions = {
        name: tf.function(layer, input_signature=[shape])
        for name, layer in layers().items()
    }
    inputs = [tf.random.stateless_normal((1, n, D_MODEL), seed=(0, n)) for n in LENGTHS]
    for round_number in range(ROUNDS + 1):
        for name, function in functions.items():
            for index, x in enumerate(inputs):
                seconds = shortest(function, x)
                if round_number:  # 첫 바퀴는 그래프를 만들고 메모리를 잡습니다
                    best[name][index] = min(best[name][index], seconds)
    return {name: [round(value, 7) for value in row] for name, row in best.items()}


def shortest(function, x, budget=0.03):
    """30ms가 지날 때까지 부르고 가장 짧은 것을 고릅니다. 적어도 한 번은 부릅니다."""
    best, begin = float("inf"), time.perf_counter()
    while best == float("inf") or time.perf_counter() - begin < budget:
        start = time.perf_counter()
        function(x).numpy()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    tf.config.threading.set_intra_op_parallelism_threads(measuring.cores())
    result = {
        "command": "python tests/benchmark_overview.py",
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "load_average": [measuring.load_average()],
        "rounds": ROUNDS,
        "d_model": D_MODEL,
        "kernel_size": WIDTH,
        "num_heads": HEADS,
        "lengths": LENGTHS,
        "seconds": measure(),
    }
    result["load_average"].append(measuring.load_average())
    measuring.write(RESULT, result)
    for name, row in result["seconds"].items():
        print(f"{name:15}", " ".join(f"{1000 * value:8.2f}" for value in row), "ms")


if __name__ == "__main__":
    main()
