"""「크게 학습하기」가 읽는 것: 학습의 한 스텝을 설계마다 잽니다.

한 스텝은 순방향, 진짜 토큰의 크로스 엔트로피, 역방향, Adam입니다. 같은 토큰 번호와 같은
크기의 모델로 잽니다. 배치를 묶는 쪽에서 진짜 길이로 쓸, 이 책의 문장 길이도 적습니다.

설계마다 프로세스를 따로 두어 가장 많이 쓴 메모리를 재고, 바퀴마다 돌아가며 한 설계씩
걷게 합니다. 가장 짧은 시간을 남깁니다. 끼어든 다른 일은 시간을 늘리기만 하므로 최솟값이
가장 덜 흔들립니다. 바쁜 기계에서는 그 프로세스가 쓴 CPU 시간이 더 믿을 만합니다.

- ``ours``: `Transformer`. 길이를 고정한 그래프와, `train`이 도는 스텝 (``loop``).
- ``keras_hub``: `keras_hub.layers`의 인코더와 디코더를 쌓고 임베딩을 공유한 모델.
- ``tutorial``: TensorFlow 튜토리얼의 설계. 헤드마다 모델만큼 넓고 (``key_dim`` =
  ``d_model``) 임베딩을 공유하지 않습니다.
- ``torch``: `torch.nn.Transformer`를 즉시 실행하고 임베딩을 공유한 모델.
- ``matmul``: float32 행렬 곱. 이 기계에서 낼 수 있는 가장 높은 빠르기로 봅니다.
"""

import json
import os
import re
import signal
import socket
import tempfile
import time
from functools import partial
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import measuring
import numpy as np
from experiment import ROOT, Experiment

LAYERS, D_MODEL, HEADS, D_FF, VOCABULARY = 4, 128, 8, 512, 8000
BATCH, LENGTH, DROPOUT = 64, 32, 0.1
PEAK_SIZE = 2048
DEATH = 5  # 둘째 기계가 죽는 스텝. 0부터 셉니다
PATIENCE = 400  # 초
WAYS = [
    ("matmul", "graph"),
    ("ours", "graph"),
    ("keras_hub", "graph"),
    ("tutorial", "graph"),
    ("torch", "eager"),
    ("ours", "loop"),
]


def flops():
    """한 스텝의 행렬 곱. 역방향은 순방향의 두 배이므로 순방향의 세 배입니다."""
    attention_maps = 4 * D_MODEL**2
    feed_forward = 2 * D_MODEL * D_FF
    weights = LAYERS * (3 * attention_maps + 2 * feed_forward) + D_MODEL * VOCABULARY
    scores = LAYERS * 3 * 2 * LENGTH * D_MODEL  # 점수와, 값을 섞는 일
    return 3 * 2 * (weights + scores) * BATCH * LENGTH


SETTINGS = {
    "rounds": 8,
    "steps_a_round": 4,
    "model": {
        "num_layers": LAYERS,
        "d_model": D_MODEL,
        "num_heads": HEADS,
        "d_ff": D_FF,
        "vocab_size": VOCABULARY,
        "dropout": DROPOUT,
        "batch": BATCH,
        "length": LENGTH,
    },
    "flops_a_step": flops(),
    "matmul_flops": 2 * PEAK_SIZE**3,
}
PLAN = [{"what": "sentences"}, {"what": "steps"}, {"what": "failures"}]


def token_ids():
    rng = np.random.default_rng(0)
    ids = rng.integers(3, VOCABULARY, size=(2, BATCH, LENGTH + 1)).astype(np.int32)
    return ids[0, :, :LENGTH], ids[1, :, :-1], ids[1, :, 1:]


# ---------------------------------------------------------------- 설계


def ours():
    from transformer_notes.transformer import Transformer, TransformerConfig

    sizes = {"d_model": D_MODEL, "num_heads": HEADS, "d_ff": D_FF}
    config = TransformerConfig(VOCABULARY, num_layers=LAYERS, dropout=DROPOUT, **sizes)
    model = Transformer(config)
    model.build()
    return model


def keras_hub():
    import keras
    import keras_hub

    from transformer_notes.positional_encoding import sinusoidal_encoding

    class Hub(keras.Model):
        def __init__(self):
            super().__init__()
            layers = keras_hub.layers
            self.embedding = layers.ReversibleEmbedding(VOCABULARY, D_MODEL)
            self.drops = [keras.layers.Dropout(DROPOUT) for _ in range(2)]
            sizes = {"intermediate_dim": D_FF, "num_heads": HEADS, "dropout": DROPOUT}
            kinds = layers.TransformerEncoder, layers.TransformerDecoder
            self.encoder, self.decoder = (
                [kind(**sizes) for _ in range(LAYERS)] for kind in kinds
            )
            self.table = sinusoidal_encoding(LENGTH, D_MODEL)

        def call(self, inputs, training=None):
            source_ids, target_ids = inputs
            source_mask, target_mask = source_ids != 0, target_ids != 0
            x, y = (
                drop(self.embedding(ids) * D_MODEL**0.5 + self.table, training=training)
                for drop, ids in zip(self.drops, inputs)
            )
            for layer in self.encoder:
                x = layer(x, padding_mask=source_mask, training=training)
            for layer in self.decoder:
                y = layer(
                    y,
                    x,
                    decoder_padding_mask=target_mask,
                    encoder_padding_mask=source_mask,
                    training=training,
                )
            return self.embedding(y, reverse=True)

    return Hub()


def tutorial():
    import keras
    import tensorflow as tf

    from transformer_notes.positional_encoding import sinusoidal_encoding

    layers = keras.layers

    class Block(layers.Layer):
        """어텐션 하나나 둘, 그다음 피드포워드."""

        supports_masking = True

        def __init__(self, cross):
            super().__init__()
            self.attentions = [
                layers.MultiHeadAttention(HEADS, key_dim=D_MODEL, dropout=DROPOUT)
                for _ in range(1 + cross)
            ]
            self.feed_forward = keras.Sequential(
                [
                    layers.Dense(D_FF, activation="relu"),
                    layers.Dense(D_MODEL),
                    layers.Dropout(DROPOUT),
                ]
            )
            self.norms = [layers.LayerNormalization() for _ in range(2 + cross)]

        def call(self, x, memory=None, training=None):
            cross = memory is not None
            places = [x, memory] if cross else [x]
            for attend, norm, place in zip(self.attentions, self.norms, places):
                seen = x if place is not memory else memory
                causal = cross and place is not memory
                x = norm(
                    x
                    + attend(
                        query=x,
                        value=seen,
                        key=seen,
                        use_causal_mask=causal,
                        training=training,
                    )
                )
            return self.norms[-1](x + self.feed_forward(x, training=training))

    class Tutorial(keras.Model):
        def __init__(self):
            super().__init__()
            self.embeddings = [
                layers.Embedding(VOCABULARY, D_MODEL, mask_zero=True) for _ in range(2)
            ]
            self.drops = [layers.Dropout(DROPOUT) for _ in range(2)]
            self.encoder = [Block(cross=False) for _ in range(LAYERS)]
            self.decoder = [Block(cross=True) for _ in range(LAYERS)]
            self.final = layers.Dense(VOCABULARY)
            self.table = sinusoidal_encoding(2048, D_MODEL)[tf.newaxis, :LENGTH]

        def call(self, inputs, training=None):
            x, y = (
                drop(embed(ids) * D_MODEL**0.5 + self.table, training=training)
                for drop, embed, ids in zip(self.drops, self.embeddings, inputs)
            )
            for block in self.encoder:
                x = block(x, training=training)
            for block in self.decoder:
                y = block(y, memory=x, training=training)
            return self.final(y)

    return Tutorial()


# ---------------------------------------------------------------- 한 스텝


def gradients(model, inputs, labels):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        logits = model(inputs, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        real = tf.cast(labels != 0, losses.dtype)
        loss = tf.reduce_sum(losses * real) / tf.reduce_sum(real)
    return loss, tape.gradient(loss, model.trainable_variables)


def keras_step(design, mode):
    """파라미터의 수와, 한 스텝 걷고 손실을 내는 함수입니다."""
    import keras
    import tensorflow as tf

    from transformer_notes import training

    tf.config.threading.set_intra_op_parallelism_threads(measuring.cores())
    keras.utils.set_random_seed(0)
    *inputs, labels = map(tf.constant, token_ids())
    model = {"ours": ours, "keras_hub": keras_hub, "tutorial": tutorial}[design]()
    model(inputs)
    optimizer = keras.optimizers.Adam(1e-4, beta_2=0.98, epsilon=1e-9)
    optimizer.build(model.trainable_variables)

    if mode == "loop":  # `train`이 부르는 함수. 길이가 달라도 그래프는 하나입니다
        update = training.update_step(model, optimizer, 0.0, pad_id=0)
        batch = (tuple(inputs), labels)
        return model.count_params(), lambda: float(update(batch)[0])

    @tf.function
    def step(inputs, labels):
        loss, found = gradients(model, inputs, labels)
        optimizer.apply(found, model.trainable_variables)
        return loss

    return model.count_params(), lambda: float(step(inputs, labels))


def torch_step():
    import torch

    torch.set_num_threads(measuring.cores())
    torch.manual_seed(0)
    source_ids, target_ids, labels = (
        torch.from_numpy(ids.astype(np.int64)) for ids in token_ids()
    )
    embedding = torch.nn.Embedding(VOCABULARY, D_MODEL)
    model = torch.nn.Transformer(
        D_MODEL, HEADS, LAYERS, LAYERS, D_FF, DROPOUT, batch_first=True
    )
    dropout = torch.nn.Dropout(DROPOUT)
    position = np.arange(LENGTH)[:, None] / 1e4 ** (np.arange(0, D_MODEL, 2) / D_MODEL)
    table = np.stack([np.sin(position), np.cos(position)], -1).reshape(LENGTH, D_MODEL)
    table = torch.from_numpy(table.astype(np.float32))
    causal = model.generate_square_subsequent_mask(LENGTH, dtype=torch.bool)
    parameters = [*embedding.parameters(), *model.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-4, betas=(0.9, 0.98), eps=1e-9)
    model.train()

    def step():
        x, y = (
            dropout(embedding(ids) * D_MODEL**0.5 + table)
            for ids in (source_ids, target_ids)
        )
        hidden = source_ids == 0
        y = model(
            x,
            y,
            tgt_mask=causal,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_key_padding_mask=target_ids == 0,
            tgt_is_causal=True,
        )
        logits = y @ embedding.weight.T
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return sum(p.numel() for p in parameters), step


def matmul_step():
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(measuring.cores())
    matrix = tf.random.stateless_normal((PEAK_SIZE, PEAK_SIZE), seed=(0, 0))
    step = tf.function(lambda: tf.reduce_sum(tf.matmul(matrix, matrix)))
    return 0, lambda: float(step())


def prepare(design, mode):
    """자식 프로세스: 받은 수만큼 걷고, 스텝마다의 벽시계와 CPU의 시간을 알립니다."""
    if design == "matmul":
        parameters, step = matmul_step()
    elif design == "torch":
        parameters, step = torch_step()
    else:
        parameters, step = keras_step(design, mode)
    base = measuring.memory()
    for _ in range(3):
        step()

    def respond(steps):
        times = []
        for _ in range(steps):
            wall, processor = time.perf_counter(), time.process_time()
            step()
            now = time.perf_counter(), time.process_time()
            times.append((now[0] - wall, now[1] - processor))
        return times

    return {"parameters": parameters, "base_mib": base}, respond


# ---------------------------------------------------------------- 실패


def join(index, addresses):
    """기계 하나가 됩니다. 다른 연산보다 먼저 부릅니다."""
    os.environ["TF_CONFIG"] = json.dumps(
        {
            "cluster": {"worker": addresses},
            "task": {"type": "worker", "index": index},
        }
    )
    import tensorflow as tf

    return tf.distribute.MultiWorkerMirroredStrategy()


def learn_and_lose_one(pipe, index, addresses, folder):
    """두 기계로 배우다가 둘째가 죽습니다. 남은 것이 어떻게 끝나는지 알립니다."""
    strategy = join(index, addresses)
    import keras

    from transformer_notes.training import Batches, adam, train
    from transformer_notes.transformer import Transformer, TransformerConfig

    class Deadly(Batches):
        def at(self, step):
            if index == 1 and step == DEATH:
                pipe.send(time.time())
                os.kill(os.getpid(), signal.SIGKILL)
            return super().at(step)

    data = Deadly([([4, 5, 6], [2, 6, 5, 4, 3])] * 40, tokens=20)
    keras.utils.set_random_seed(0)
    with strategy.scope():
        sizes = {"d_model": 16, "num_heads": 2, "num_layers": 1, "d_ff": 32}
        model = Transformer(TransformerConfig(8, **sizes))
        model.build()
        options = {"optimizer": adam(16, 20), "save_every": 2, "progress": False}
        try:
            train(model, data, 5, folder, **options)
        except Exception as error:
            pipe.send((type(error).__name__, time.time()))


def fit_on_two(pipe, index, addresses, folder):
    """두 기계에서 Keras의 `fit`을 부르면 무엇이 나오는지 알립니다."""
    strategy = join(index, addresses)
    import keras

    with strategy.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    try:
        model.fit(np.ones((8, 1)), np.ones((8, 1)), batch_size=4, verbose=0)
        pipe.send(["", ""])
    except Exception as error:
        pipe.send([type(error).__name__, str(error).strip().splitlines()[0]])


def on_two_machines(work, folder):
    """두 프로세스에 시키고, 저마다 알린 것과 끝내기 코드를 모읍니다."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in servers]
    for server in servers:
        server.close()
    pipes, workers = [], []
    for index in range(2):
        ours, theirs = measuring.CONTEXT.Pipe()
        arguments = theirs, index, addresses, folder
        workers.append(measuring.CONTEXT.Process(target=work, args=arguments))
        workers[-1].start()
        theirs.close()
        pipes.append(ours)
    said = []
    for pipe in pipes:
        try:
            said.append(pipe.recv() if pipe.poll(PATIENCE) else None)
        except EOFError:
            said.append(None)
    for worker in workers:
        worker.join(PATIENCE)
        worker.kill()
    return said, [worker.exitcode for worker in workers]


def failures():
    """여러 기계에서 하나가 죽을 때와, `fit`을 부를 때."""
    with tempfile.TemporaryDirectory() as folder:
        (ended, died), codes = on_two_machines(learn_and_lose_one, folder)
        kept = [path.stem for path in Path(folder).glob("step-*.index")]
        steps = sorted(int(name.removeprefix("step-")) for name in kept)
        (fitted, _), _ = on_two_machines(fit_on_two, folder)
    return {
        "survivor_error": ended and ended[0],
        "seconds_until_noticed": ended and round(ended[1] - died, 1),
        "exit_codes": codes,
        "died_before_step": DEATH + 1,
        "newest_checkpoint": steps[-1],
        "fit_error": fitted[0],
        "fit_message": fitted[1],
    }


# ---------------------------------------------------------------- 재기


def measure(what):
    if what == "sentences":
        return {"lengths": sentence_lengths()}
    if what == "failures":
        return failures()
    workers, facts, times = {}, {}, {}
    try:
        for way in WAYS:  # 하나씩 만들어야 서로 느려지지 않습니다
            name = " ".join(way)
            workers[name] = measuring.Worker(prepare, *way)
            times[name] = []
            print(f"{name:16} 준비", flush=True)
        for _ in range(SETTINGS["rounds"]):
            for name, worker in workers.items():
                times[name] += worker.ask(SETTINGS["steps_a_round"])
        for name, worker in workers.items():
            wall, processor = zip(*times[name])
            facts[name] = worker.ready | {
                "peak_mib": worker.end(),
                "seconds": round(min(wall), 5),
                "median_seconds": round(float(np.median(wall)), 5),
                "cpu_seconds": round(min(processor), 5),
            }
    finally:
        for worker in workers.values():
            worker.kill()
    return {"ways": facts, "ratios": ratios(facts)}


def ratios(facts):
    """우리 그래프의 스텝에 견준 시간과, 행렬 곱의 빠르기에 견준 비율입니다."""
    table = {}
    for clock in ("seconds", "cpu_seconds"):
        ours_time = facts["ours graph"][clock]
        top = SETTINGS["matmul_flops"] / facts["matmul graph"][clock]
        for name, fact in facts.items():
            if name == "matmul graph":
                continue
            row = table.setdefault(name, {})
            row[f"{clock}_over_ours"] = round(fact[clock] / ours_time, 2)
            if "tutorial" not in name:  # 튜토리얼의 설계는 하는 일이 다릅니다
                row[f"{clock}_of_peak"] = round(flops() / fact[clock] / top, 3)
    return table


def sentence_lengths(count=2000):
    """이 책의 첫 문장들의 글자 수를 빈칸으로 이은 것."""
    lengths = []
    for page in sorted((ROOT / "docs/lectures").glob("*.md")):
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
        lengths += map(len, re.findall(r"[가-힣][^.\n|]*니다(?=\.)", text))
    return " ".join(map(str, lengths[:count]))


def probe():
    """한 스텝의 그래프가 하는 일. 문장의 길이는 잰 때의 것이므로 낡지 않습니다."""
    import tensorflow as tf

    model = ours()
    *inputs, labels = map(tf.constant, token_ids())
    work = measuring.heavy_operations(partial(gradients, model), inputs, labels)
    return {
        "steps": work | {"parameters": model.count_params()},
        "failures": {"death": DEATH},
    }


EXPERIMENT = Experiment(
    __file__, SETTINGS, PLAN, measure, probe, ("keras-hub", "torch")
)

if __name__ == "__main__":
    EXPERIMENT.main()
