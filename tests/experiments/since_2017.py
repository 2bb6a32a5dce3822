"""「오늘의 트랜스포머」가 읽는 것: 2017년 다음의 변화를 하나씩 넣어 견줍니다.

- `dates`, `translation`: `small_tasks`의 과제. 파라미터의 수를 기본에 맞춥니다.
- `length`: 배운 것보다 긴 문장에서의 위치. 세 칸 앞의 숫자를 맞히는 과제(`back`)와,
  숫자열을 그대로 다시 쓰는 과제(`copy`)입니다.
- `memory`: 조각내어 계산하는 어텐션의 메모리.
"""

import functools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import measuring
import numpy as np
import small_tasks
import tensorflow as tf
from experiment import Experiment

from transformer_notes import training, variants
from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.decoding import greedy
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.linear_softmax import LinearSoftmax
from transformer_notes.masking import look_ahead_mask
from transformer_notes.transformer import Transformer, TransformerConfig

SETTINGS = {
    **small_tasks.SETTINGS,
    "base": {
        "d_model": 64,
        "num_heads": 8,
        "num_layers": 3,
        "d_ff": 256,
        "dropout": 0.1,
        "max_length": 128,
    },
    "length": {
        "digits": 10,
        "trained": 16,
        "shortest": 4,
        "lengths": [16, 20, 24, 32],
        "back": 3,
        "sentences": 20_000,
        "tests": 500,
        "batch_size": 64,
        "peak": 0.002,
        "steps": {"back": 600, "copy": 1100},
        "base": {
            "d_model": 64,
            "num_heads": 4,
            "num_layers": 2,
            "d_ff": 256,
            "dropout": 0.0,
            "max_length": 128,
        },
    },
    "memory": {
        "lengths": [512, 1024, 2048, 4096],
        "num_heads": 8,
        "depth": 64,
        "block": 128,
    },
}

#: 모델마다 설정의 클래스, 모델의 클래스, 기본과 다른 크기. 키와 값을 나누어 쓰거나
#: 크로스 어텐션이 없어 남는 파라미터는 d_ff와 층으로 돌려줍니다.
PLAIN, GROUPED = TransformerConfig, variants.GroupedQueryConfig
MODELS = {
    "base": (PLAIN, Transformer, {}),
    "learned": (PLAIN, Transformer, {"positions": "learned"}),
    "rotary": (variants.RotaryConfig, Transformer, {}),
    "alibi": (variants.ALiBiConfig, Transformer, {}),
    "pre_norm": (PLAIN, Transformer, {"norm_first": True}),
    "rms_norm": (variants.RMSNormConfig, Transformer, {}),
    "gelu": (variants.GELUConfig, Transformer, {}),
    "swiglu": (variants.SwiGLUConfig, Transformer, {}),
    "grouped": (GROUPED, Transformer, {"num_key_heads": 2, "d_ff": 328}),
    "multi_query": (GROUPED, Transformer, {"num_key_heads": 1, "d_ff": 340}),
    "decoder_only": (PLAIN, variants.DecoderOnly, {"num_layers": 7}),
    "pre_norm_decoder_only": (
        PLAIN,
        variants.DecoderOnly,
        {"num_layers": 7, "norm_first": True},
    ),
    "today": (
        variants.Today,
        Transformer,
        {"num_key_heads": 2, "d_ff": 328},
    ),
    "today_decoder_only": (
        variants.Today,
        variants.DecoderOnly,
        {"num_key_heads": 2, "d_ff": 304, "num_layers": 7},
    ),
}
POSITIONS = {
    "sinusoidal": (PLAIN, {}),
    "learned": (PLAIN, {"positions": "learned"}),
    "rotary": (variants.RotaryConfig, {}),
    "alibi": (variants.ALiBiConfig, {}),
}
TASKS = ["back", "copy"]
KINDS = ["inputs", "whole", "blocks"]
#: 시드 하나씩 모든 모델을 돕니다. 도중에 멈추어도 모든 모델에 결과가 있습니다.
PLAN = [
    *(
        {"what": "dates", "model": model, "seed": seed}
        for seed in range(1, 6)
        for model in MODELS
    ),
    *(
        {"what": "length", "task": task, "model": model, "seed": seed}
        for task in TASKS
        for seed in range(1, 6)
        for model in POSITIONS
    ),
    *(
        {"what": "memory", "model": kind, "length": length}
        for length in SETTINGS["memory"]["lengths"]
        for kind in KINDS
    ),
    *(
        {"what": "translation", "model": model, "seed": seed}
        for seed in range(1, 6)
        for model in MODELS
    ),
]


# --- 날짜와 번역 ---------------------------------------------------------------------


def build(name):
    config, model, changes = MODELS[name]

    def built(task):
        made = model(config(task.vocab_size, **SETTINGS["base"] | changes))
        made.build()
        return made

    return built


def on_task(what, model, seed):
    return small_tasks.learn(build(model), small_tasks.TASKS[what](seed), seed)


# --- 길이 ----------------------------------------------------------------------------

PAD, BOS, EOS, FIRST = 0, 1, 2, 3


class LookBack(keras.Model):
    """앞만 보는 스택. 자리마다 세 칸 앞의 숫자를 맞힙니다."""

    def __init__(self, config):
        super().__init__()
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = config.positional_encoding()
        self.stack = variants.decoder_only.DecoderOnlyStack(config)
        self.linear_softmax = LinearSoftmax(config.vocab_size)

    def call(self, ids):
        position = tf.range(keras.ops.shape(ids)[1], dtype=tf.int64)
        x = self.stack(
            self.positions(self.embedding(ids), position=position),
            attention_mask=look_ahead_mask(keras.ops.shape(ids)[1]),
            position_map=functools.partial(
                self.positions.in_attention, position=position
            ),
        )
        return self.linear_softmax(x)


def digits(count, length, seed, shortest=None):
    """무작위 숫자열. `shortest`를 주면 길이도 무작위이고 뒤는 패딩입니다."""
    own, rng = SETTINGS["length"], np.random.default_rng(seed)
    ids = rng.integers(FIRST, FIRST + own["digits"], size=(count, length))
    if shortest is not None:
        lengths = rng.integers(shortest, length + 1, size=(count, 1))
        ids = np.where(np.arange(length) < lengths, ids, PAD)
    return ids.astype(np.int32)


def copying(ids):
    """입력, 디코더의 입력, 정답."""
    end = (ids != PAD).sum(axis=1)
    answers = np.pad(ids, ((0, 0), (0, 1)))
    answers[np.arange(len(ids)), end] = EOS
    given = np.pad(ids, ((0, 0), (1, 0)))
    given[:, 0] = BOS
    return ids, given, answers


def examples(task, ids):
    """입력을 옆으로 이은 것과 정답."""
    if task == "back":
        back = SETTINGS["length"]["back"]
        answers = np.pad(ids, ((0, 0), (back, 0)))[:, : ids.shape[1]]
        return ids, answers
    source, given, answers = copying(ids)
    return np.concatenate([source, given], axis=1), answers


def data_of(task):
    own = SETTINGS["length"]
    shortest = own["shortest"] if task == "copy" else None
    return examples(task, digits(own["sentences"], own["trained"], 0, shortest))


back_data = functools.partial(data_of, "back")
copy_data = functools.partial(data_of, "copy")
DATA = {"back": back_data, "copy": copy_data}


def positional(what):
    """과제와 위치 인코딩의 모델과 옵티마이저."""
    task, name = what
    own = SETTINGS["length"]
    config, changes = POSITIONS[name]
    kind = LookBack if task == "back" else variants.DecoderOnly
    model = kind(config(FIRST + own["digits"], **own["base"] | changes))
    trained = own["trained"]
    one = tf.constant(digits(1, trained, 0))
    model(one if task == "back" else (one, one))
    steps = own["steps"][task]
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, steps * 9 // 10, warmup_target=own["peak"], warmup_steps=steps // 10
    )
    return model, keras.optimizers.Adam(rate, beta_2=0.98, epsilon=1e-9)


def inputs_of(model, inputs):
    if isinstance(model, LookBack):
        return inputs
    trained = SETTINGS["length"]["trained"]
    return inputs[:, :trained], inputs[:, trained:]


def update(model, optimizer, inputs, answers):
    with tf.GradientTape() as tape:
        logits = model(inputs_of(model, inputs), training=True)
        loss = training.masked_cross_entropy(answers, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


def right(task, model, length):
    """정확히 이 길이인 새 숫자열에서, 맞힌 숫자와 모두 맞힌 숫자열의 비율."""
    own = SETTINGS["length"]
    ids = digits(own["tests"], length, 1000 + length)
    inputs, answers = examples(task, ids)
    if task == "copy":
        given = greedy(model, ids, BOS, EOS, max_extra=1).numpy()
        given = np.pad(given, ((0, 0), (0, length + 1 - given.shape[1])))
    else:
        given = model.predict_on_batch(inputs).argmax(axis=-1)
        given = np.where(answers == PAD, PAD, given)
    hits = given == answers
    real = answers != PAD
    return {
        "accuracy": round(float(hits[real].mean()), 4),
        "exact": round(float(hits.all(axis=1).mean()), 4),
    }


def on_length(task, model, seed):
    own = SETTINGS["length"]
    tf.config.experimental.enable_op_determinism()
    made, several = measuring.trainer(
        (task, model), seed, positional, update, DATA[task]
    )
    steps = own["steps"][task]
    rng = np.random.default_rng(seed)
    rows = rng.integers(own["sentences"], size=(steps, own["batch_size"]))
    several(tf.constant(rows))
    by_length = {n: right(task, made, n) for n in own["lengths"]}
    return {"parameters": made.count_params(), "by_length": by_length}


# --- 메모리 --------------------------------------------------------------------------


def attention_worker(kind, length):
    """제 프로세스에서 어텐션을 한 번 계산합니다."""
    own = SETTINGS["memory"]
    shape = (1, own["num_heads"], length, own["depth"])
    inputs = [tf.random.stateless_normal(shape, (i, 0)) for i in range(3)]
    functions = {
        "inputs": lambda query, key, value: query + key + value,
        "whole": lambda *inputs: scaled_dot_product_attention(*inputs)[0],
        "blocks": functools.partial(variants.attention_in_blocks, block=own["block"]),
    }
    output = tf.function(functions[kind])(*inputs)
    return float(tf.reduce_sum(output)), lambda request: None


def on_memory(model, length):
    worker = measuring.Worker(attention_worker, model, length)
    return {"sum": round(worker.ready, 2), "mebibytes": worker.end()}


# --- 모으기 --------------------------------------------------------------------------


def measure(what, **labels):
    if what == "length":
        return on_length(**labels)
    if what == "memory":
        return on_memory(**labels)
    return on_task(what, **labels)


def first_losses(task, name):
    keras.utils.set_random_seed(1)
    model, optimizer = positional((task, name))
    inputs, answers = (tf.constant(x[:16]) for x in DATA[task]())
    losses = [update(model, optimizer, inputs, answers) for _ in range(3)]
    return [round(float(loss), 5) for loss in losses]


def probe():
    """과제마다 모델의 파라미터 수와 처음 세 손실, 어텐션의 무거운 연산."""
    found = {
        what: {name: small_tasks.first_losses(build(name), what) for name in MODELS}
        for what in ("dates", "translation")
    }
    found["length"] = {
        task: {name: first_losses(task, name) for name in POSITIONS} for task in TASKS
    }
    own = SETTINGS["memory"]
    one = tf.TensorSpec((1, own["num_heads"], 512, own["depth"]))
    found["memory"] = {
        "whole": measuring.heavy_operations(
            lambda *inputs: scaled_dot_product_attention(*inputs)[0], one, one, one
        ),
        "blocks": measuring.heavy_operations(
            functools.partial(variants.attention_in_blocks, block=own["block"]),
            one,
            one,
            one,
        ),
    }
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
