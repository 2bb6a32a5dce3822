"""조립한 모델과 그 설정 (논문 3장, 표 3)."""

import dataclasses

import keras

from transformer_notes import checks
from transformer_notes.decoder import Decoder
from transformer_notes.embedding import TokenEmbedding, _tensor_from_lists
from transformer_notes.encoder import Encoder
from transformer_notes.linear_softmax import LinearSoftmax
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """모델의 크기와 갈래. 기본값은 논문의 base입니다 (표 3).

    Raises:
        TypeError: 정수가 아닌 크기, 수가 아닌 비율, 불리언이 아닌 갈래.
        ValueError: 나누어떨어지지 않는 d_model, 범위를 벗어난 값, 모르는 위치 인코딩,
            어휘 집합에 없는 pad_id.

    Examples:
        >>> TransformerConfig.paper_big().d_model
        1024
        >>> len(TransformerConfig.table3())
        20
    """

    #: 정답 쪽 어휘 집합의 크기.
    vocab_size: int
    #: 입력 쪽 어휘 집합의 크기. None이면 정답 쪽과 같은 임베딩을 함께 씁니다.
    source_vocab_size: int | None = None
    #: 층 사이를 흐르는 벡터의 차원.
    d_model: int = 512
    #: 어텐션의 헤드 수.
    num_heads: int = 8
    #: 인코더와 디코더에 저마다 쌓을 층의 수.
    num_layers: int = 6
    #: 피드포워드 안쪽 층의 차원. 논문은 d_model의 네 배입니다.
    d_ff: int = 2048
    #: 헤드 하나의 키의 차원. None이면 d_model // num_heads입니다.
    key_dim: int | None = None
    #: 헤드 하나의 값의 차원. None이면 d_model // num_heads입니다.
    value_dim: int | None = None
    #: 하위 층의 출력과, 임베딩과 위치의 합에 씌울 드롭아웃 (5.4절).
    dropout: float = 0.1
    #: 어텐션의 네 선형 변환에 편향을 둘지. 논문의 식에는 없습니다.
    attention_bias: bool = False
    #: True이면 pre-norm. 논문은 post-norm입니다.
    norm_first: bool = False
    #: "sinusoidal" 또는 "learned" (표 3의 E).
    positions: str = "sinusoidal"
    #: 학습되는 위치 표의 행 수. 사인파에는 한도가 없습니다.
    max_length: int = 512
    #: 임베딩과 출력의 선형 변환이 행렬을 함께 쓸지 (3.4절).
    tie_embeddings: bool = True
    #: 패딩 토큰의 번호.
    pad_id: int = 0

    def __post_init__(self):
        for name in ("vocab_size", "d_model", "num_heads", "num_layers", "d_ff"):
            self._check(name, checks.positive_int)
        for name in ("source_vocab_size", "key_dim", "value_dim"):
            if getattr(self, name) is not None:
                self._check(name, checks.positive_int)
        self._check("max_length", checks.positive_int)
        self._check("dropout", checks.rate)
        for name in ("attention_bias", "norm_first", "tie_embeddings"):
            self._check(name, _boolean)
        if None in (self.key_dim, self.value_dim) and self.d_model % self.num_heads:
            raise ValueError(
                "d_model에는 num_heads로 나누어떨어지는 수가 필요합니다. 받은 것: "
                f"d_model={self.d_model}, num_heads={self.num_heads}. 헤드 수를 "
                "바꾸거나 key_dim과 value_dim을 정해 주세요."
            )
        if self.positions not in ("sinusoidal", "learned"):
            raise ValueError(
                'positions에는 "sinusoidal"이나 "learned"가 필요합니다. '
                f"받은 것: {self.positions!r}."
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(
                "사인파 위치 인코딩에는 짝수 d_model이 필요합니다. "
                f"받은 것: {self.d_model}. 짝수로 바꾸거나 positions를 "
                '"learned"로 두세요.'
            )
        self._check("pad_id", checks.integer)
        tokens = min(self.vocab_size, self.source_vocab_size or self.vocab_size)
        if not 0 <= self.pad_id < tokens:
            raise ValueError(
                f"pad_id에는 어휘 집합에 있는 번호, 곧 0부터 {tokens - 1}까지의 "
                f"정수가 필요합니다. 받은 것: {self.pad_id}. 토크나이저가 쓰는 패딩 "
                "토큰의 번호를 넣어 주세요."
            )

    def _check(self, name, check):
        # NumPy의 수는 저장되지 않으므로 검사하며 파이썬의 수로 바꾸어 둡니다.
        object.__setattr__(self, name, check(name, getattr(self, name)))

    @classmethod
    def paper_base(cls, vocab_size=37_000):
        """논문의 base 모델입니다. 어휘 집합은 "약 37,000"입니다 (5.1절)."""
        return cls(vocab_size)

    @classmethod
    def paper_big(cls, vocab_size=37_000):
        """논문의 big 모델입니다 (표 3의 마지막 줄)."""
        return cls(vocab_size, d_model=1024, num_heads=16, d_ff=4096, dropout=0.3)

    @classmethod
    def table3(cls, vocab_size=37_000):
        """표 3의 줄 20개를 이름으로 찾는 사전입니다. 빈칸은 base와 같습니다.

        D의 두 줄은 레이블 스무딩만 다릅니다. 그것은 모델이 아니라 학습의 값이므로
        모델은 base와 같습니다.
        """
        base = cls.paper_base(vocab_size)
        rows = {"base": {}}
        for num_heads in (1, 4, 16, 32):
            rows[f"A h={num_heads}"] = {"num_heads": num_heads}
        for key_dim in (16, 32):
            rows[f"B d_k={key_dim}"] = {"key_dim": key_dim}
        for num_layers in (2, 4, 8):
            rows[f"C N={num_layers}"] = {"num_layers": num_layers}
        for d_model in (256, 1024):
            rows[f"C d_model={d_model}"] = {"d_model": d_model}
        for d_ff in (1024, 4096):
            rows[f"C d_ff={d_ff}"] = {"d_ff": d_ff}
        for dropout in (0.0, 0.2):
            rows[f"D P_drop={dropout}"] = {"dropout": dropout}
        for smoothing in (0.0, 0.2):
            rows[f"D eps_ls={smoothing}"] = {}
        rows["E"] = {"positions": "learned"}
        table = {name: dataclasses.replace(base, **row) for name, row in rows.items()}
        return table | {"big": cls.paper_big(vocab_size)}

    def get_config(self):
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package="transformer_notes")
class Transformer(keras.Model):
    """인코더-디코더 모델 전체입니다. 여느 Keras 모델처럼 `compile`하고 `fit`합니다.

    패딩 마스크와 룩어헤드 마스크는 토큰 번호에서 스스로 만듭니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    Call arguments:
        inputs: 토큰 번호의 쌍 `(source_ids, target_ids)`. 정수, (batch, length_s)와
            (batch, length_t). target_ids는 정답을 한 칸 민 것, 곧 디코더의 입력입니다.
        training: 드롭아웃을 씌울지.

    Returns:
        로짓, (batch, length_t, vocab_size). t번째 자리는 target_ids의 t번째 토큰 다음에
        올 토큰의 점수입니다.

    Raises:
        TypeError: `TransformerConfig`가 아닌 config, 정수가 아닌 토큰 번호.
        ValueError: 쌍이 아닌 입력, 2차원이 아니거나 빈 토큰 번호, 문장의 수가 서로 다른
            두 배치, 학습되는 위치 표보다 긴 문장.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호. `jit_compile=True`에서는
            예외 대신 출력이 NaN입니다.

    Examples:
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
        >>> model = Transformer(config)
        >>> logits = model(([[5, 6, 7]], [[1, 8]]))
        >>> logits.shape
        TensorShape([1, 2, 20])
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(config, TransformerConfig):
            raise TypeError(
                "config에는 TransformerConfig가 필요합니다. 받은 것: "
                f"{type(config).__name__} {config!r}. "
                "TransformerConfig(vocab_size)로 만들어 주세요."
            )
        self.config = config
        options = {"dtype": self.dtype_policy}
        self.target_embedding = TokenEmbedding(
            config.vocab_size, config.d_model, name="target_embedding", **options
        )
        self.source_embedding = self.target_embedding
        if config.source_vocab_size is not None:
            self.source_embedding = TokenEmbedding(
                config.source_vocab_size,
                config.d_model,
                name="source_embedding",
                **options,
            )
        if config.positions == "learned":
            self.positions = LearnedPositionalEncoding(
                config.max_length, name="positions", **options
            )
        else:
            self.positions = SinusoidalPositionalEncoding(name="positions", **options)
        self.source_dropout = keras.layers.Dropout(config.dropout, **options)
        self.target_dropout = keras.layers.Dropout(config.dropout, **options)
        self.encoder = Encoder(config, name="encoder", **options)
        self.decoder = Decoder(config, name="decoder", **options)
        self.linear_softmax = LinearSoftmax(
            config.vocab_size,
            embedding=self.target_embedding if config.tie_embeddings else None,
            name="linear_softmax",
            **options,
        )

    def build(self, input_shape=None):
        for name in self._part_shapes():
            self._build_part(name)

    def _part_shapes(self):
        ids_shape, x_shape = (None, None), (None, None, self.config.d_model)
        return {
            "source_embedding": [ids_shape],
            "target_embedding": [ids_shape],
            "positions": [x_shape],
            "encoder": [x_shape],
            "decoder": [x_shape, x_shape],
            "linear_softmax": [x_shape],
        }

    def _build_part(self, name):
        part = getattr(self, name)
        if not part.built:  # 공유하는 임베딩, encode를 먼저 부른 인코더
            part.build(*self._part_shapes()[name])

    def get_build_config(self):
        # 인코더만 쓴 모델의 파일에는 디코더의 가중치가 없습니다. 쓴 부품만 적습니다.
        return {"parts": [n for n in self._part_shapes() if getattr(self, n).built]}

    def build_from_config(self, config):
        for name in config["parts"]:
            self._build_part(name)

    def __call__(self, inputs, *args, **kwargs):
        # Keras는 위치 인자로 텐서만 받습니다. 파이썬 목록은 먼저 텐서로 바꿉니다.
        source_ids, target_ids = _pair(inputs)
        inputs = _from_lists(source_ids), _from_lists(target_ids)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None):
        source_ids, target_ids = _pair(inputs)
        memory = self.encode(source_ids, training=training)
        memory_mask = padding_mask(source_ids, self.config.pad_id)
        return self.decode(target_ids, memory, memory_mask, training=training)

    def encode(self, source_ids, training=None):
        """입력 문장을 읽습니다.

        Args:
            source_ids: 정수, (batch, length_s).
            training: 드롭아웃을 씌울지.

        Returns:
            memory, (batch, length_s, d_model).
        """
        source_ids = _token_ids("source_ids", source_ids)
        # 인코더만 쓰는 모델도 Keras의 검사를 통과합니다. 나머지는 부를 때 만들어집니다.
        self.built = True
        x = self.positions(self.source_embedding(source_ids))
        x = self.source_dropout(x, training=training)  # (batch, length_s, d_model)
        mask = padding_mask(source_ids, self.config.pad_id)
        return self.encoder(x, attention_mask=mask, training=training)

    def decode(
        self, target_ids, memory, memory_mask=None, training=None, cache=None, start=0
    ):
        """memory를 보며 다음 토큰에 점수를 매깁니다.

        Args:
            target_ids: 정수, (batch, length_t).
            memory: `encode`의 출력.
            memory_mask: 입력 문장의 `padding_mask`.
            training: 드롭아웃을 씌울지.
            cache: `Decoder`의 캐시. 주면 룩어헤드 마스크는 캐시가 대신합니다. 번호는
                캐시에 남지 않으므로, 이때에는 target_ids의 패딩을 가리지 않습니다.
            start: 이번 첫 토큰의 위치.

        Returns:
            로짓, (batch, length_t, vocab_size). `cache`를 주었으면 `(로짓, 새 캐시)`.
        """
        target_ids = _token_ids("target_ids", target_ids)
        if not target_ids.shape[:1].is_compatible_with(memory.shape[:1]):
            raise ValueError(
                "source_ids와 target_ids에는 같은 수의 문장이 필요합니다. "
                f"받은 배치 크기: {memory.shape[0]}, {target_ids.shape[0]}. 두 배치를 "
                "짝지어 주세요."
            )
        x = self.positions(self.target_embedding(target_ids), start=start)
        x = self.target_dropout(x, training=training)  # (batch, length_t, d_model)
        mask = None
        if cache is None:
            mask = padding_mask(target_ids, self.config.pad_id)
            mask = mask & look_ahead_mask(keras.ops.shape(target_ids)[1])
        x = self.decoder(
            x,
            memory,
            attention_mask=mask,
            memory_mask=memory_mask,
            training=training,
            cache=cache,
            start=start,
        )
        if cache is not None:
            x, cache = x
        logits = self.linear_softmax(x)  # (batch, length_t, vocab_size)
        return logits if cache is None else (logits, cache)

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, input_shape):
        _, target_shape = input_shape
        return (*target_shape, self.config.vocab_size)

    def compute_output_spec(self, inputs, training=None):
        source_ids, target_ids = _pair(inputs)
        # 임베딩이 dtype과 모양을 검사합니다.
        self.source_embedding.compute_output_spec(source_ids)
        self.target_embedding.compute_output_spec(target_ids)
        shape = self.compute_output_shape((source_ids.shape, target_ids.shape))
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        config = keras.saving.serialize_keras_object(self.config)
        return {**super().get_config(), "config": config}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        inner = keras.saving.deserialize_keras_object(config["config"])
        return cls(**{**config, "config": inner})


def _boolean(name, value):
    if not isinstance(value, bool):
        raise TypeError(
            f"{name}에는 True나 False가 필요합니다. "
            f"받은 것: {type(value).__name__} {value!r}."
        )
    return value


def _pair(inputs):
    if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
        given = f"{len(inputs)}개" if isinstance(inputs, (list, tuple)) else "하나"
        raise ValueError(
            "inputs에는 쌍 (source_ids, target_ids)가 필요합니다. "
            f"받은 것: {given}. model((source_ids, target_ids))처럼 묶어 주세요."
        )
    return inputs


def _from_lists(ids):
    return _tensor_from_lists(ids) if isinstance(ids, (list, tuple)) else ids


def _token_ids(name, ids):
    ids = _from_lists(ids)
    # 빈 목록의 dtype은 float32입니다. dtype보다 먼저 비었는지 봅니다.
    if 0 in tuple(getattr(ids, "shape", ())):
        raise ValueError(
            f"{name}에는 토큰이 하나라도 있는 모양 (batch, length)가 필요합니다. "
            f"받은 모양: {tuple(ids.shape)}. 빈 배치를 걸러 주세요."
        )
    return checks.token_id_tensor(name, ids)
