"""「디코딩」이 읽는 것: 답을 만드는 시간과 메모리를 방식마다 잽니다.

방식마다 프로세스를 따로 두어 가장 많이 쓴 메모리를 재고, 바퀴마다 모든 방식을 돌아가며
가장 짧은 시간을 남깁니다. 끼어든 다른 일은 시간을 늘리기만 하므로 최솟값이 가장 덜
흔들립니다.

견주는 것은 다음과 같습니다. 모두 끝까지 씁니다. 무작위 가중치라 ``eos``가 나오지 않고,
나오면 멈추어 알립니다.

- ``cached``: `decoding.greedy`.
- ``recomputed``: 캐시 없이 앞의 토큰을 모두 다시 계산하는 그리디. 그래프에서는 지금까지
  쓴 토큰만, 모양이 바뀔 수 없는 XLA에서는 끝까지의 자리를 모두 계산합니다.
- ``beam``: `decoding.beam_search`, 빔 4.
- ``tutorial``: TensorFlow 튜토리얼의 방식. Keras의 층으로 만들고 (``key_dim`` =
  ``d_model``), 토큰마다 인코더부터 모두 다시 계산하는 즉시 실행 반복문입니다.
- ``torch``: `torch.nn.Transformer`의 층. 캐시가 없으므로, 입력은 한 번만 읽고 앞의
  토큰을 모두 다시 계산하는 즉시 실행 반복문입니다.
"""

import functools
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import measuring
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.decoding import beam_search, greedy
from transformer_notes.masking import padding_mask
from transformer_notes.positional_encoding import sinusoidal_encoding
from transformer_notes.transformer import Transformer, TransformerConfig

MODEL = {"d_model": 128, "num_heads": 8, "num_layers": 4, "d_ff": 512}
CONFIG = TransformerConfig(8000, **MODEL)
BOS, EOS, SOURCE_LENGTH = 1, 2, 16
PATIENCE = 20.0  # 느린 방식은 길이마다 이만큼 쓰면 그만 되풀이합니다(초)
BATCHES, LENGTHS = [1, 32], [16, 32, 64, 128]
SETTINGS = {
    "rounds": 6,
    "patience": PATIENCE,
    "model": {"vocab_size": CONFIG.vocab_size, **MODEL},
    "source_length": SOURCE_LENGTH,
    "beam_size": 4,
    "lengths": LENGTHS,
    "batches": BATCHES,
}
PLAN = [{"what": "answers", "batch": batch} for batch in BATCHES]
WAYS = ["graph cached", "graph recomputed", "graph beam", "xla cached"]
WAYS += ["xla recomputed", "xla beam", "eager tutorial", "eager torch"]


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


def torch_way():
    """torch의 층에 이 책의 임베딩과 위치를 붙인 모델로 답을 만드는 함수입니다."""
    import torch

    torch.set_num_threads(measuring.cores())
    torch.manual_seed(0)
    size, n = CONFIG.d_model, CONFIG.num_layers
    embedding = torch.nn.Embedding(CONFIG.vocab_size, size)
    model = torch.nn.Transformer(
        size, CONFIG.num_heads, n, n, CONFIG.d_ff, batch_first=True
    ).eval()
    table = torch.from_numpy(sinusoidal_encoding(2048, size).numpy())

    def embed(ids):
        return embedding(ids) * size**0.5 + table[: ids.shape[1]]

    @torch.inference_mode()
    def generate(source_ids, length):
        memory = model.encoder(embed(torch.from_numpy(source_ids.astype(np.int64))))
        ids = torch.full((len(source_ids), 1), BOS)
        for _ in range(length):
            mask = model.generate_square_subsequent_mask(ids.shape[1], dtype=torch.bool)
            x = model.decoder(embed(ids), memory, tgt_mask=mask, tgt_is_causal=True)
            token = (x[:, -1] @ embedding.weight.T).argmax(-1, keepdim=True)
            ids = torch.cat([ids, token], dim=1)
        return ids[:, 1:].numpy()

    return generate


def way(name):
    """이름의 방식으로 답을 만드는 함수입니다. (source_ids, length)를 받습니다."""
    keras.utils.set_random_seed(0)
    mode, kind = name.split()
    if kind == "torch":
        return torch_way()
    if kind == "tutorial":
        tutorial = Tutorial()
        return lambda ids, length: tutorial.generate(tf.constant(ids), length).numpy()
    xla = mode == "xla"
    model = Transformer(CONFIG)
    model.build()

    @functools.cache
    def again(length):
        return tf.function(
            functools.partial(recompute, model, length, xla),
            autograph=False,
            jit_compile=xla,
        )

    def generate(source_ids, length):
        if kind == "recomputed":
            return again(length)(tf.constant(source_ids)).numpy()
        options = {"max_extra": length - SOURCE_LENGTH, "jit_compile": xla}
        if kind == "beam":
            ids, _ = beam_search(model, source_ids, BOS, EOS, **options)
            return ids.numpy()
        return greedy(model, source_ids, BOS, EOS, **options).numpy()

    return generate


def prepare(name, batch):
    """자식 프로세스: 받은 길이의 답을 한 번 만들고 걸린 시간을 알립니다."""
    tf.config.threading.set_intra_op_parallelism_threads(measuring.cores())
    generate = way(name)
    rng = np.random.default_rng(0)
    source_ids = rng.integers(3, CONFIG.vocab_size, (batch, SOURCE_LENGTH), np.int32)

    def respond(length):
        start = time.perf_counter()
        ids = generate(source_ids, length)
        took = time.perf_counter() - start
        if ids.shape != (batch, length) or (ids == EOS).any():
            raise RuntimeError(f"{name}: 끝까지 쓰지 않았습니다. {ids.shape}")
        return round(took, 5)

    return {"base_mib": measuring.memory()}, respond


def measure(what, batch):
    """방식마다 길이별로 가장 짧은 시간(초)과, 가장 많이 쓴 메모리(MiB)."""
    seconds, memory, workers = {name: {} for name in WAYS}, {}, {}
    try:
        for name in WAYS:  # 하나씩 만들어야 서로 느려지지 않습니다
            workers[name] = measuring.Worker(prepare, name, batch)
            for length in LENGTHS:  # 첫 번은 그래프를 만들고 컴파일하므로 버립니다
                if "eager" not in name or length == LENGTHS[0]:
                    workers[name].ask(length)
            print(f"배치 {batch:2} {name:16} 준비", flush=True)
        for length in LENGTHS:
            spent = dict.fromkeys(WAYS, 0.0)
            for _ in range(SETTINGS["rounds"]):
                for name, worker in workers.items():
                    # 즉시 실행은 느립니다. 가장 긴 답만 잽니다.
                    short = "eager" in name and length != LENGTHS[-1]
                    if short or spent[name] > PATIENCE:
                        continue
                    took = worker.ask(length)
                    spent[name] += took
                    row = seconds[name]
                    row[str(length)] = min(row.get(str(length), took), took)
        for name, worker in workers.items():
            memory[name] = worker.ready | {"peak_mib": worker.end()}
    finally:
        for worker in workers.values():
            worker.kill()
    return {"seconds": seconds, "memory": memory}


def probe():
    """답 하나를 만드는 그래프가 하는 일."""
    model = Transformer(CONFIG)
    model.build()
    source_ids = tf.TensorSpec((1, SOURCE_LENGTH), tf.int32)
    ways = {
        "cached": lambda ids: greedy(model, ids, BOS, EOS),
        "beam": lambda ids: beam_search(model, ids, BOS, EOS),
        "recomputed": lambda ids: recompute(model, LENGTHS[0], False, ids),
    }
    work = {
        name: measuring.heavy_operations(function, source_ids)
        for name, function in ways.items()
    }
    return {"answers": work | {"parameters": model.count_params()}}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe, ("torch",))

if __name__ == "__main__":
    EXPERIMENT.main()
