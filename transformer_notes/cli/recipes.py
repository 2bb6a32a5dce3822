"""레시피: 이름 하나로 고르는 학습의 설정. 쪽마다 하나이고, 값은 쪽의 것과 같습니다."""

from typing import NamedTuple


class Recipe(NamedTuple):
    """`train --recipe`가 고르는 것."""

    #: 설정마다의 기본값. 옵션을 주면 그것이 이깁니다.
    settings: dict
    #: 떼어 둘 때 같은 것끼리 한쪽에 둘 자리: 0은 입력, 1은 답.
    keys: tuple = (0,)


_DATES = {
    "epochs": 1,
    "count": 80_000,
    "held_out": 0.1,
    "normalization": "nfc",
    "vocab_size": None,
    "max_length": 256,
    "d_model": 64,
    "num_heads": 4,
    "num_layers": 2,
    "d_ff": 256,
    "dropout": 0.0,
    "positions": "sinusoidal",
    "label_smoothing": 0.0,
    "schedule": "cosine",
    "learning_rate": 0.003,
    "warmup_steps": 200,
    "tokens": 700,
    "save_every": 200,
    "seed": 0,
}
_PAIRS = _DATES | {
    "epochs": 6,
    "vocab_size": 8000,
    "dropout": 0.1,
    "label_smoothing": 0.1,
    "schedule": "paper",
    "learning_rate": None,
    "warmup_steps": 300,
    "tokens": 1024,
    "save_every": None,
}
_TRANSLATION = _PAIRS | {
    "epochs": 10,
    "d_model": 192,
    "num_heads": 6,
    "d_ff": 768,
    "schedule": "cosine",
    "learning_rate": 0.0015,
    "warmup_steps": 400,
    "tokens": 2048,
}
_CHATBOT = _PAIRS | {
    "epochs": 20,
    "normalization": "korean",
    "vocab_size": 4000,
    "d_model": 128,
    "d_ff": 512,
    "schedule": "cosine",
    "learning_rate": 0.001,
    "tokens": 2048,
}

#: 이름마다의 레시피. pairs는 쪽이 없는 파일의 기본값입니다.
RECIPES = {
    "dates": Recipe(_DATES),
    "pairs": Recipe(_PAIRS),
    "translation": Recipe(_TRANSLATION),
    "chatbot": Recipe(_CHATBOT, keys=(0, 1)),
}
