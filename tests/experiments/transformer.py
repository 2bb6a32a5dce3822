"""「조립한 모델」이 읽는 것: 작은 번역 모델, 그리고 스택 하나로 읽는 모델과 쓰는 모델.

시드마다 배우고, 배우지 않은 문장에서 잽니다.
"""

import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.embedding import TokenEmbedding
from transformer_notes.encoder import Encoder
from transformer_notes.linear_softmax import LinearSoftmax
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.positional_encoding import SinusoidalPositionalEncoding
from transformer_notes.transformer import Transformer, TransformerConfig

#: 쪽이 배우는 것과 같은 설정입니다. 쪽이 이것을 시험합니다.
SETTINGS = {
    "d_model": 32,
    "num_heads": 2,
    "num_layers": 2,
    "d_ff": 128,
    "learning_rate": 0.005,
    "batch_size": 24,
    "epochs": [16, 32, 64, 128],
    "page_epochs": 32,
    "held_out": 32,
    "split_seed": 0,
    "more_padding": 12,
}
#: 스택 하나로 된 모델만의 설정입니다. probe에 함께 담깁니다.
ONE_STACK = {"epochs": 40, "batches": 5}
#: 자료에서 빼 둘 문장을 고르는 법은 하나이고, 시드는 모델과 배치의 순서만 바꿉니다.
PLAN = [{"what": "translation", "seed": seed} for seed in range(6)]
PLAN += [{"what": "one stack", "seed": seed} for seed in range(6)]

ENGLISH = {
    "나는": "I",
    "너는": "you",
    "그는": "he",
    "우리는": "we",
    "어제": "yesterday",
    "오늘": "today",
    "아까": "earlier",
    "책을": "book",
    "신문을": "newspaper",
    "빵을": "bread",
    "사과를": "apple",
    "읽었다": "read",
    "먹었다": "ate",
    "샀다": "bought",
}
ARTICLE = {"책을": "a", "신문을": "a", "빵을": "", "사과를": "an"}
SUITABLE = {
    "읽었다": ["책을", "신문을"],
    "먹었다": ["빵을", "사과를"],
    "샀다": list(ARTICLE),
}
RUNNING = "나는 어제 책을 읽었다".split()


class Task:
    """짝, 번호, 나눈 것."""

    def __init__(self):
        self.pairs = []
        for subject, time, thing, verb in itertools.product(
            ["나는", "너는", "그는", "우리는"],
            ["어제", "오늘", "아까", ""],
            ARTICLE,
            SUITABLE,
        ):
            if thing in SUITABLE[verb]:
                target = [ENGLISH[subject], ENGLISH[verb]]
                target += [ARTICLE[thing], ENGLISH[thing], ENGLISH.get(time, "")]
                source = f"{subject} {time} {thing} {verb}".split()
                self.pairs.append((source, " ".join(target).split()))
        words = {word for pair in self.pairs for side in pair for word in side}
        self.vocabulary = ["<pad>", "<bos>", "<eos>", *sorted(words)]
        self.number = {word: index for index, word in enumerate(self.vocabulary)}
        self.sources = self.to_ids([source for source, _ in self.pairs])
        self.targets = self.to_ids(
            [["<bos>", *target, "<eos>"] for _, target in self.pairs]
        )
        running = [source for source, _ in self.pairs].index(RUNNING)
        order = np.random.default_rng(SETTINGS["split_seed"]).permutation(
            len(self.pairs)
        )
        order = np.array([running, *order[order != running]])
        self.held_out = order[: SETTINGS["held_out"]]
        self.learned = order[SETTINGS["held_out"] :]
        taught = {tuple(self.pairs[row][0]) for row in self.learned}
        assert not any(tuple(self.pairs[row][0]) in taught for row in self.held_out)

    def to_ids(self, sentences):
        length = max(map(len, sentences))
        padded = [words + ["<pad>"] * (length - len(words)) for words in sentences]
        return np.int32([[self.number[word] for word in words] for words in padded])

    def exact(self, model, rows, sources):
        """문장 전체가 맞은 비율."""
        memory, visible = model.encode(sources), padding_mask(sources)
        ids = np.full((len(sources), 1), self.number["<bos>"], "int32")
        for _ in range(self.targets.shape[1] - 1):
            scores = model.decode(ids, memory, visible)[:, -1]
            ids = np.append(ids, np.argmax(scores, -1).astype("int32")[:, None], axis=1)
        right = 0
        for row, made in zip(rows, ids):
            text = " ".join(self.vocabulary[index] for index in made[1:])
            right += text.split("<eos>")[0].strip() == " ".join(self.pairs[row][1])
        return right / len(rows)


def build(task, seed):
    start_anew(seed)
    names = "d_model", "num_heads", "num_layers", "d_ff"
    sizes = {name: SETTINGS[name] for name in names}
    model = Transformer(TransformerConfig(len(task.vocabulary), **sizes))
    model.build()
    model.compile(
        keras.optimizers.Adam(SETTINGS["learning_rate"]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    return model


def fit(model, task, epochs):
    rows = task.learned
    inputs, labels = task.targets[rows, :-1], task.targets[rows, 1:]
    return model.fit(
        (task.sources[rows], inputs),
        labels,
        sample_weight=np.float32(labels != 0),
        batch_size=SETTINGS["batch_size"],
        epochs=epochs,
        verbose=0,
    ).history["loss"]


def wire(model, source, ids, scale=1.0, layers=(0, 1), hide_padding=True):
    """부품을 손으로 이은 로짓."""
    memory, visible = model.encode(source), padding_mask(source)
    x = model.positions(model.target_embedding(ids) * scale)
    mask = padding_mask(ids) & look_ahead_mask(ids.shape[1])
    for index in layers:
        visible_or_all = visible if hide_padding else None
        x = model.decoder.layers[index](x, memory, mask, memory_mask=visible_or_all)
    return model.linear_softmax(x).numpy()


WIRINGS = {
    "right": {},
    "scale": {"scale": SETTINGS["d_model"] ** -0.5},
    "layers": {"layers": (1, 1)},
    "padding": {"hide_padding": False},
}


def wirings(model, task):
    """잘못 이은 것마다 정답률, 그리고 패딩을 더 붙일 때 로짓이 움직인 거리."""
    rows, found = task.held_out, {}
    inputs, answers = task.targets[rows, :-1], task.targets[rows, 1:]
    short = task.sources[rows]
    long = np.pad(short, ((0, 0), (0, SETTINGS["more_padding"])))
    for name, options in WIRINGS.items():
        logits = wire(model, long, inputs, **options)
        right = (logits.argmax(-1) == answers)[answers != 0].mean()
        moved = np.abs(logits - wire(model, short, inputs, **options)).max()
        apart = np.abs(logits - model((long, inputs))).max()
        found[f"token_{name}"] = round(float(right), 4)
        found[f"moved_{name}"] = round(float(moved), 3)
        found[f"apart_{name}"] = round(float(apart), 3)
    return found


def aligned(model, task):
    """층마다, 두 헤드의 평균이 낱말 넷에서 옮길 낱말을 가장 많이 보는 수.

    우리 문장에서 <bos>, I, a, book을 넣고 다음 토큰을 고를 때입니다.
    """
    row = task.held_out[:1]
    source, inputs = task.sources[row], task.targets[row, :-1]
    memory = model.encode(source)
    mask = padding_mask(source)
    layers = model.decode(inputs, memory, mask, return_weights=True).weights
    found = {}
    for number, layer in enumerate(layers, 1):
        weights = np.mean(np.asarray(layer.cross_attention)[0], axis=0)
        seen = weights.argmax(-1)[[0, 1, 3, 4]].tolist()
        found[f"aligned_{number}"] = int(np.sum(np.equal(seen, [0, 3, 2, 1])))
    return found


class OneStack(keras.Model):
    """인코더 층의 스택 하나. 룩어헤드 마스크를 씌우면 쓰는 모델입니다."""

    def __init__(self, config, look_ahead):
        super().__init__()
        self.look_ahead = look_ahead
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = SinusoidalPositionalEncoding()
        self.stack = Encoder(config)
        self.scores = LinearSoftmax(config.vocab_size, embedding=self.embedding)

    def call(self, ids, training=None):
        mask = padding_mask(ids)
        if self.look_ahead:
            mask = mask & look_ahead_mask(ids.shape[1])
        x = self.positions(self.embedding(ids))
        return self.scores(self.stack(x, mask, training=training))


def one_stack(task, look_ahead, epochs):
    """한국어 문장만으로 배운 모델. 우리 문장과 앞의 두 토큰이 같은 것은 뺍니다.

    읽는 모델은 가린 토큰 하나를, 쓰는 모델은 다음 토큰을 맞히며 배웁니다.
    """
    start = np.array([task.number[word] for word in RUNNING[:2]])
    rows = task.sources[(task.sources[:, :2] != start).any(axis=1)]
    mask_id = len(task.vocabulary)
    if look_ahead:
        labels = rows
        inputs = np.insert(rows[:, :-1], 0, task.number["<bos>"], axis=1)
        counted = rows != 0
    else:
        labels = np.repeat(rows, 4, axis=0)  # 가릴 자리가 넷입니다
        hidden = np.tile(np.eye(4, dtype=bool), (len(rows), 1))
        inputs, counted = np.where(hidden, mask_id, labels), hidden & (labels != 0)
    names = "d_model", "num_heads", "num_layers", "d_ff"
    sizes = {name: SETTINGS[name] for name in names}
    model = OneStack(TransformerConfig(mask_id + 1, **sizes), look_ahead)
    model(inputs[:1])
    model.compile(
        keras.optimizers.Adam(SETTINGS["learning_rate"]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    model.fit(
        inputs,
        labels,
        sample_weight=np.float32(counted),
        batch_size=len(inputs) // ONE_STACK["batches"],
        epochs=epochs,
        verbose=0,
    )
    return model


def start_anew(seed):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


def third_token(task, seed):
    """'나는 어제 ___'에 책이나 신문이 올 확률. 뒤의 서술어를 바꾸어 가며 잽니다."""
    found = {}
    for name, look_ahead in (("reader", False), ("writer", True)):
        start_anew(seed)
        model = one_stack(task, look_ahead, ONE_STACK["epochs"])
        for verb in ("읽었다", "먹었다"):
            words = [task.number[word] for word in (*RUNNING[:2], "책을", verb)]
            if look_ahead:
                words = [task.number["<bos>"], *words[:2], words[3]]
            else:
                words[2] = len(task.vocabulary)
            p = tf.nn.softmax(model(np.array([words]))[0, 2]).numpy()
            mass = p[[task.number[word] for word in SUITABLE["읽었다"]]].sum()
            found[f"{name}_{verb}"] = round(float(mass), 4)
    return found


def measure(what, seed):
    task = Task()
    if what == "one stack":
        return third_token(task, seed)
    model = build(task, seed)
    found, passed = {}, 0
    held_out = task.held_out
    for epochs in SETTINGS["epochs"]:
        losses = fit(model, task, epochs - passed)
        passed = epochs
        found[f"loss_{epochs}"] = round(losses[-1], 4)
        found[f"exact_{epochs}"] = task.exact(model, held_out, task.sources[held_out])
        if epochs == SETTINGS["page_epochs"]:
            found |= wirings(model, task) | aligned(model, task)
            four = held_out[(task.sources[held_out] != 0).all(axis=1)]
            for order in ([2, 0, 1, 3], [3, 2, 1, 0]):
                name = "order_" + "".join(map(str, order))
                moved = task.sources[four][:, order]
                found[name] = round(task.exact(model, four, moved), 4)
    return found


def probe():
    """과제와, 갱신을 두 번 하며 잰 손실. 스택 하나는 한 에폭의 손실."""
    task = Task()
    model = build(task, 1)
    rows = task.learned[: SETTINGS["batch_size"]]
    inputs, labels = task.targets[rows, :-1], task.targets[rows, 1:]
    losses = [
        round(
            float(
                model.train_on_batch(
                    (task.sources[rows], inputs), labels, np.float32(labels != 0)
                )
            ),
            4,
        )
        for _ in range(3)
    ]
    first = dict(ONE_STACK)
    for name, look_ahead in (("reader", False), ("writer", True)):
        start_anew(1)
        history = one_stack(task, look_ahead, 1).history.history
        first[name] = round(history["loss"][0], 4)
    return {
        "one stack": first,
        "pairs": len(task.pairs),
        "vocabulary": task.vocabulary,
        "held_out": task.held_out.tolist(),
        "losses": losses,
    }


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
