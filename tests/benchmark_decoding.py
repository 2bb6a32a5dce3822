"""``python tests/benchmark_decoding.py``: 답을 만드는 시간을 방식마다 잽니다.

결과를 ``docs/lectures/decoding_times.json``에 적습니다. 「디코딩」은 그것을 읽을 뿐,
쪽에서는 아무것도 재지 않습니다. 바퀴마다 모든 방식을 돌아가며 재고 가장 짧은 시간을
남깁니다. 끼어든 다른 일은 시간을 늘리기만 하므로 최솟값이 가장 덜 흔들립니다.

견주는 것은 다음과 같습니다. 모두 끝까지 씁니다. 무작위 가중치라 ``eos``가 나오지 않고,
나오면 멈추어 알립니다.

- ``cached``: `decoding.greedy`.
- ``recomputed``: 캐시 없이 앞의 토큰을 모두 다시 계산하는 그리디. 그래프에서는 지금까지
  쓴 토큰만, 모양이 바뀔 수 없는 XLA에서는 끝까지의 자리를 모두 계산합니다.
- ``beam``: `decoding.beam_search`, 빔 4.
- ``tutorial``: TensorFlow 튜토리얼의 방식. Keras의 층으로 만들고 (``key_dim`` =
  ``d_model``), 토큰마다 인코더부터 모두 다시 계산하는 즉시 실행 반복문입니다.
"""

import functools
import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from transformer_notes.decoding import beam_search, greedy
from transformer_notes.masking import padding_mask
from transformer_notes.positional_encoding import sinusoidal_encoding
from transformer_notes.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(8000, d_model=128, num_heads=8, num_layers=4, d_ff=512)
BOS, EOS, SOURCE_LENGTH, ROUNDS = 1, 2, 16, 4
PATIENCE = 20.0  # 느린 방식은 이만큼 쓰면 덜 되풀이합니다(초)
BATCHES, LENGTHS = [1, 32], [16, 32, 64, 128]
RESULT = Path(__file__).resolve().parents[1] / "docs/lectures/decoding_times.json"


def recompute(model, length, whole, source_ids):
    """캐시를 쓰지 않는 그리디. whole이면 아직 쓰지 않은 자리까지 모두 계산합니다."""
    memory, mask = model.encode(source_ids), padding_mask(source_ids)
    batch = tf.shape(source_ids)[0]
    ids = tf.concat([tf.fill((batch, 1), BOS), tf.ones((batch, length), tf.int32)], 1)

    def step(t, ids):
        seen = ids[:, :-1] if whole else ids[:, : t + 1]
        logits = model.decode(seen, memory, mask)
        logits = tf.gather(logits, t, axis=1) if whole else logits[:, -1]
        logits = tf.where(tf.range(CONFIG.vocab_size) == 0, -float("inf"), logits)
        token = tf.argmax(logits, axis=-1, output_type=tf.int32)
        return t + 1, tf.where(tf.range(length + 1) == t + 1, token[:, None], ids)

    return tf.while_loop(lambda t, ids: t < length, step, (tf.constant(0), ids))[1][
        :, 1:
    ]


class Tutorial(keras.Model):
    """Keras의 층을 쌓은 모델. 헤드마다 모델만큼 넓습니다."""

    def __init__(self):
        super().__init__()
        layers, n = keras.layers, range(CONFIG.num_layers)
        self.embedding = layers.Embedding(CONFIG.vocab_size, CONFIG.d_model)
        self.table = sinusoidal_encoding(2048, CONFIG.d_model)

        def heads():
            return layers.MultiHeadAttention(CONFIG.num_heads, key_dim=CONFIG.d_model)

        def feed():
            return keras.Sequential(
                [
                    layers.Dense(CONFIG.d_ff, activation="relu"),
                    layers.Dense(CONFIG.d_model),
                ]
            )

        norm = layers.LayerNormalization
        self.encoder = [(heads(), norm(), feed(), norm()) for _ in n]
        self.decoder = [(heads(), norm(), heads(), norm(), feed(), norm()) for _ in n]
        self.final = layers.Dense(CONFIG.vocab_size)

    def embed(self, ids):
        x = self.embedding(ids) * CONFIG.d_model**0.5
        return x + self.table[tf.newaxis, : tf.shape(ids)[1]]

    def call(self, inputs):
        source_ids, target_ids = inputs
        x = self.embed(source_ids)
        for attend, norm, feed, norm_2 in self.encoder:
            x = norm(x + attend(query=x, value=x, key=x))
            x = norm_2(x + feed(x))
        memory, x = x, self.embed(target_ids)
        for attend, norm, cross, norm_2, feed, norm_3 in self.decoder:
            x = norm(x + attend(query=x, value=x, key=x, use_causal_mask=True))
            x = norm_2(x + cross(query=x, value=memory, key=memory))
            x = norm_3(x + feed(x))
        return self.final(x)

    def generate(self, source_ids, length):
        ids = tf.fill((tf.shape(source_ids)[0], 1), BOS)
        for _ in range(length):
            logits = self((source_ids, ids), training=False)[:, -1]
            token = tf.argmax(logits, axis=-1, output_type=tf.int32)
            ids = tf.concat([ids, token[:, tf.newaxis]], axis=1)
        return ids[:, 1:]


def ways(model, tutorial, source_ids, length):
    """이름마다, 답을 만드는 함수입니다."""
    extra, found = length - SOURCE_LENGTH, {}
    for mode, xla in (("graph", False), ("xla", True)):
        again = tf.function(
            functools.partial(recompute, model, length, xla),
            autograph=False,
            jit_compile=xla,
        )
        found |= {
            f"{mode} cached": functools.partial(
                greedy, model, source_ids, BOS, EOS, extra, jit_compile=xla
            ),
            f"{mode} recomputed": functools.partial(again, source_ids),
        }
        if length == max(LENGTHS):
            found[f"{mode} beam"] = lambda xla=xla: beam_search(
                model, source_ids, BOS, EOS, extra, jit_compile=xla
            )[0]
    if length == max(LENGTHS):
        found["eager tutorial"] = lambda: tutorial.generate(source_ids, length)
    return found


def measure():
    """방식마다, 배치마다, 길이마다 가장 짧은 시간(초)입니다."""
    keras.utils.set_random_seed(0)
    model, tutorial, seconds = Transformer(CONFIG), Tutorial(), {}
    model.build()
    for batch in BATCHES:
        ids = np.random.default_rng(0).integers(3, 8000, (batch, SOURCE_LENGTH))
        for length in LENGTHS:
            found = ways(model, tutorial, tf.constant(ids, tf.int32), length)
            spent = dict.fromkeys(found, 0.0)
            for round_number in range(ROUNDS):
                for name, way in found.items():
                    row = seconds.setdefault(name, {}).setdefault(str(batch), {})
                    if str(length) in row and spent[name] > PATIENCE:
                        continue
                    took = run(way, (batch, length), name)
                    spent[name] += took
                    if round_number:  # 첫 바퀴는 그래프를 만들고 컴파일합니다
                        row[str(length)] = min(row.get(str(length), took), took)
    return seconds


def run(way, shape, name):
    start = time.perf_counter()
    ids = way().numpy()
    took = time.perf_counter() - start
    if ids.shape != shape or (name != "eager tutorial" and not ids.all()):
        raise RuntimeError(f"{name}: 끝까지 쓰지 않았습니다. {ids.shape} != {shape}")
    print(f"{name:18} {shape} {took:8.3f}s", flush=True)
    return round(took, 5)


def processor():
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def main():
    load = [round(os.getloadavg()[0], 1)]
    seconds = measure()
    result = {
        "command": "python tests/benchmark_decoding.py",
        "machine": {
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)),
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("tensorflow", "keras", "numpy")},
        "load_average": [*load, round(os.getloadavg()[0], 1)],
        "rounds": ROUNDS - 1,
        "patience": PATIENCE,
        "model": CONFIG.get_config(),
        "source_length": SOURCE_LENGTH,
        "beam_size": 4,
        "lengths": LENGTHS,
        "batches": BATCHES,
        "seconds": seconds,
    }
    text = json.dumps(result, ensure_ascii=False, indent=2)
    RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
