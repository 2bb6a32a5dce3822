"""모델 하나를 파일 하나에: 설정, 어휘 집합, 8비트 가중치, 만든 내력.

파일은 safetensors입니다. 수와 글만 담고 코드는 담지 않으므로, 읽는 것만으로 무엇이
실행되는 일은 없습니다. 머리말에는 나머지 모두의 SHA-256이 적혀 있어서, 비트 하나만
뒤집혀도 읽지 않습니다.
"""

import dataclasses
import hashlib
import json
import tempfile
import zlib
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from transformer_notes import _arguments
from transformer_notes._files import contents, replacing
from transformer_notes.classification import Classifier
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig

#: 파일의 형식. 읽는 방법이 달라지면 올립니다.
FORMAT = 1
#: 모델이 하는 일. "classify"만 `Classifier`이고 나머지는 `Transformer`입니다.
TASKS = ("translate", "classify", "chat", "dates")
#: 파일의 가장 큰 크기, 바이트.
LARGEST = 6 * 10**6
LARGEST_TOKENIZER = 2**24  # 토크나이저의 압축을 풀었을 때의 가장 큰 크기

_TOKENIZER = "tokenizer"
_UNSEALED = "0" * 64  # 해시를 구할 때 해시의 자리에 적는 것
#: 다른 프로그램이 쓴 파일에서 나는 예외.
_UNREADABLE = (
    *(AttributeError, KeyError, RecursionError, TypeError, ValueError),
    *(safetensors.SafetensorError, zlib.error),
)


def quantise(weight):
    r"""행렬을 8비트 정수와 행마다의 배율로 바꿉니다.

    .. math:: q_{ij} = \mathrm{round}\!\left(\frac{w_{ij}}{s_i}\right), \qquad
              s_i = \frac{\max_j |w_{ij}|}{127}

    되돌린 값 :math:`s_i q_{ij}`\ 는 원래의 값과 많아야 :math:`s_i / 2`\ 만큼 다릅니다.

    Args:
        weight: 실수, (..., columns).

    Returns:
        `(q, s)`. int8 (..., columns)와 float32 (..., 1)입니다.

    Raises:
        ValueError: NaN이나 무한대가 든 가중치.

    Examples:
        >>> q, s = quantise(np.array([[0.5, -1.27, 0.004], [0.0, 0.0, 0.0]]))
        >>> print(q)
        [[  50 -127    0]
         [   0    0    0]]
        >>> print((q * s).round(3))
        [[ 0.5  -1.27  0.  ]
         [ 0.    0.    0.  ]]
    """
    weight = _finite(weight)
    scale = np.abs(weight).max(axis=-1, keepdims=True) / np.float32(127)
    return np.rint(weight / np.where(scale, scale, 1)).astype(np.int8), scale


def write(path, model, tokenizer, task, card):
    """모델을 파일 하나에 씁니다. 쓰다가 멈추어도 반쯤 쓴 파일은 남지 않습니다.

    행렬은 `quantise`로 줄이고, 편향이나 정규화의 벡터는 float32로 둡니다. 같은 것을
    두 번 쓰면 같은 바이트가 됩니다.

    Args:
        path: 쓸 파일. 확장자는 `.safetensors`입니다.
        model: 어휘 집합이 하나인 `Transformer`, task가 "classify"이면 `Classifier`.
        tokenizer: 모델과 같은 어휘 집합의 `Tokenizer`.
        task: 모델이 하는 일, `TASKS` 가운데 하나.
        card: 모델의 내력. JSON으로 적을 수 있는 사전. task가 "classify"이면 레이블의
            이름을 늘어놓은 `"labels"`가 있어야 합니다.

    Raises:
        ValueError: 모르는 task, 다른 일을 하는 model, 어휘 집합의 크기가 다른
            토크나이저, 레이블의 수가 다른 card, 유한하지 않은 가중치, 6 MB가 넘는 파일.
        OSError: 쓸 수 없는 자리.
    """
    _arguments.choice("task", task, TASKS)
    _check(model, tokenizer, task, card)
    model.build()
    tensors = {_TOKENIZER: _packed(tokenizer)}
    for key, weight in _keyed(model):
        if weight.ndim < 2:
            tensors[key] = _finite(weight)
        else:
            tensors[key], tensors[_scale(key)] = quantise(weight)
    note = {
        "format": FORMAT,
        "sha256": _UNSEALED,
        "task": task,
        "config": dataclasses.asdict(model.config),
        "card": card,
    }
    note = json.dumps(note, ensure_ascii=False, allow_nan=False)
    content = safetensors.numpy.save(tensors, {"transformer_notes": note})
    digest = hashlib.sha256(content).hexdigest()
    content = _replaced(content, _UNSEALED, digest)
    if len(content) > LARGEST:
        raise ValueError(
            f"model에는 파일이 {LARGEST:,}바이트를 넘지 않는 모델이 필요합니다. 받은 "
            f"것: {len(content):,}바이트. 어휘 집합이나 d_model을 줄여 주세요."
        )
    with replacing(path) as partial:
        partial.write_bytes(content)


def read(path):
    """`write`로 쓴 파일을 읽습니다.

    Args:
        path: 파일의 경로.

    Returns:
        `(model, tokenizer, task, card)`.

    Raises:
        OSError: 읽을 수 없는 파일.
        ValueError: 망가졌거나, 다른 판이 썼거나, `write`가 쓰지 않은 파일.
    """
    path = Path(path)
    try:
        content = contents(path, LARGEST)
        with safetensors.safe_open(path, "numpy") as opened:
            note = json.loads((opened.metadata() or {})["transformer_notes"])
        unsealed = _replaced(content, note["sha256"], _UNSEALED)
        sealed = hashlib.sha256(unsealed).hexdigest() == note["sha256"]
        if not sealed or note["format"] != FORMAT:
            raise ValueError(
                f"적힌 해시와 내용이 다르거나, 형식 {FORMAT}이 아니라 형식 "
                f"{note['format']}인 파일"
            )
        return _rebuilt(note, safetensors.numpy.load(content))
    except _UNREADABLE as error:
        raise ValueError(
            f"온전한 모델 파일이 필요합니다. 받은 것: {path} ({error}). 패키지를 다시 "
            "설치하거나 파일을 다시 받아 주세요."
        ) from None


def _finite(weight):
    """float32로. NaN이나 무한대가 있으면 거절합니다."""
    weight = np.asarray(weight, np.float32)
    if not np.isfinite(weight).all():
        raise ValueError(
            "weight에는 유한한 수가 필요합니다. 받은 것: NaN이나 무한대가 든 가중치. "
            "학습이 터지지 않았는지 살펴보세요."
        )
    return weight


def _replaced(content, digest, other):
    """머리말의 해시를 다른 것으로. 머리말이 맨 앞이므로 처음 나온 것이 그것입니다."""
    return content.replace(digest.encode(), other.encode(), 1)


def _check(model, tokenizer, task, card):
    """서로의 것이 아니면 그럴듯하게 틀린 답을 내거나, 쓴 것을 다시 읽지 못합니다."""
    classifies = isinstance(model, Classifier)
    if classifies != (task == "classify"):
        raise ValueError(
            'task에는 model이 하는 일이 필요합니다. "classify"는 Classifier의 일이고, '
            f"나머지는 Transformer의 일입니다. 받은 것: {task!r}, "
            f"{type(model).__name__}."
        )
    config = model.config
    sizes = {config.vocab_size, config.source_vocab_size or config.vocab_size}
    if sizes != {tokenizer.vocab_size}:
        raise ValueError(
            "model과 tokenizer에는 같은 어휘 집합 하나가 필요합니다. 받은 것: 모델의 "
            f"{sorted(sizes)}, 토크나이저의 {tokenizer.vocab_size}."
        )
    if classifies and len(set(card.get("labels", ()))) != model.num_labels:
        raise ValueError(
            f'card["labels"]에는 서로 다른 레이블의 이름 {model.num_labels}개가 '
            f"필요합니다. 받은 것: {card.get('labels')!r}."
        )


def _keyed(model):
    """가중치마다의 이름과 값. 순서도 이름에 적어, 순서가 바뀐 코드는 읽지 못합니다."""
    for place, weight in enumerate(model.weights):
        yield f"{place:03}.{weight.name}", weight.numpy()


def _scale(key):
    return f"{key}.scale"


def _rebuilt(note, tensors):
    """해시가 맞는 내용에서 모델과 토크나이저를 되살립니다."""
    tokenizer = _unpacked(tensors.pop(_TOKENIZER))
    config = TransformerConfig(**note["config"])
    _require_room(config, len(tensors))
    task, card = _arguments.choice("task", note["task"], TASKS), note["card"]
    if task == "classify":
        model = Classifier(config, len(card["labels"]))
    else:
        model = Transformer(config)
    _check(model, tokenizer, task, card)
    model.build()
    model.set_weights([_restored(tensors, key) for key, _ in _keyed(model)])
    return model, tokenizer, task, card


def _require_room(config, count):
    """만들기 전에, 이 파일에 다 들어갔을 크기인지 봅니다."""
    heads = config.num_heads * max(config.key_dim or 0, config.value_dim or 0)
    length = config.max_length if config.positions == "learned" else 0
    widest = max(config.vocab_size, config.d_model, config.d_ff, heads, length)
    largest = config.d_model * widest
    if largest > LARGEST or config.num_layers > count:
        raise ValueError("파일의 텐서보다 큰 모델의 설정")


def _restored(tensors, key):
    value = tensors[key]
    return value * tensors[_scale(key)] if value.dtype == np.int8 else value


def _packed(tokenizer):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        return np.frombuffer(zlib.compress(path.read_bytes(), 9), np.uint8)


def _unpacked(packed):
    # 너무 크거나 잘린 것은 여기에서 끊긴 JSON이 되어 load가 거절합니다.
    text = zlib.decompressobj().decompress(packed.tobytes(), LARGEST_TOKENIZER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_bytes(text)
        return Tokenizer.load(path)
