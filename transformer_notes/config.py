"""모델의 크기와 갈래를 담은 설정 (논문 표 3)."""

import dataclasses

import keras

from transformer_notes import _arguments
from transformer_notes.add_norm import AddAndNorm
from transformer_notes.feed_forward import PositionwiseFeedForward
from transformer_notes.multi_head_attention import MultiHeadAttention
from transformer_notes.positional_encoding import SCHEMES


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """모델의 크기와 갈래. 기본값은 논문의 base입니다 (표 3).

    층에 들어갈 부품도 설정이 만듭니다. 다른 부품을 쓰는 모델은 이 클래스를 물려받아
    `norm`부터 `positional_encoding`까지의 메서드 가운데 바꿀 것만 다시 적습니다.

    Raises:
        TypeError: 정수가 아닌 num_layers.
        ValueError: 나누어떨어지지 않는 d_model, 1보다 작은 num_layers, 모르는 위치
            인코딩, 사인파인데 홀수인 d_model, 어휘 집합에 없는 pad_id.

    Examples:
        >>> big = TransformerConfig.paper_big()
        >>> big
        TransformerConfig(vocab_size=37000, source_vocab_size=None, d_model=1024,
                          num_heads=16, num_layers=6, d_ff=4096, key_dim=None,
                          value_dim=None, dropout=0.3, attention_bias=False,
                          norm_first=False, positions='sinusoidal', max_length=512,
                          tie_embeddings=True, pad_id=0)
        >>> rows = TransformerConfig.table3()
        >>> print(*rows, sep=", ")
        base, A h=1, A h=4, A h=16, A h=32, B d_k=16, B d_k=32, C N=2, C N=4, C N=8,
        C d_model=256, C d_model=1024, C d_ff=1024, C d_ff=4096, D P_drop=0.0,
        D P_drop=0.2, D eps_ls=0.0, D eps_ls=0.2, E, big
        >>> rows["A h=4"].num_heads, rows["E"].positions
        (4, 'learned')
        >>> rows["base"] == TransformerConfig.paper_base() == TransformerConfig(37_000)
        True
        >>> rows["big"] == big
        True
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
    #: "sinusoidal"이나 "learned" (표 3의 E), 또는 `SCHEMES`에 더한 위치 인코딩의 이름.
    positions: str = "sinusoidal"
    #: 학습되는 위치 표의 행 수. 사인파에는 한도가 없습니다.
    max_length: int = 512
    #: 임베딩과 출력의 선형 변환이 행렬을 함께 쓸지 (3.4절).
    tie_embeddings: bool = True
    #: 패딩 토큰의 번호.
    pad_id: int = 0

    def __post_init__(self):
        if None in (self.key_dim, self.value_dim) and self.d_model % self.num_heads:
            raise ValueError(
                "d_model에는 num_heads로 나누어떨어지는 수가 필요합니다. 받은 것: "
                f"d_model={self.d_model}, num_heads={self.num_heads}. 헤드 수를 "
                "바꾸거나 key_dim과 value_dim을 정해 주세요."
            )
        _arguments.positive_int("num_layers", self.num_layers)
        _arguments.choice("positions", self.positions, SCHEMES)
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(
                "사인파 위치 인코딩에는 짝수 d_model이 필요합니다. "
                f"받은 것: {self.d_model}. 짝수로 바꾸거나 positions를 "
                '"learned"로 두세요.'
            )
        tokens = min(self.vocab_size, self.source_vocab_size or self.vocab_size)
        if not 0 <= self.pad_id < tokens:
            raise ValueError(
                f"pad_id에는 어휘 집합에 있는 번호, 곧 0부터 {tokens - 1}까지의 "
                f"정수가 필요합니다. 받은 것: {self.pad_id}. 토크나이저가 쓰는 패딩 "
                "토큰의 번호를 넣어 주세요."
            )

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

    def norm(self, **options):
        """pre-norm의 스택이 끝에서 한 번 더 씌울 정규화를 만듭니다.

        Args:
            **options: `keras.layers.Layer`의 인자 (`name`, `dtype`). 아래도 같습니다.
        """
        return keras.layers.LayerNormalization(epsilon=1e-5, **options)

    def add_and_norm(self, **options):
        """하위 층을 감쌀 `AddAndNorm`을 만듭니다."""
        return AddAndNorm(self.dropout, norm_first=self.norm_first, **options)

    def attention(self, kind=MultiHeadAttention, **options):
        """셀프 어텐션이나 크로스 어텐션을 만듭니다. kind는 그 층의 클래스입니다."""
        return kind(
            self.d_model,
            self.num_heads,
            key_dim=self.key_dim,
            value_dim=self.value_dim,
            use_bias=self.attention_bias,
            **options,
        )

    def feed_forward(self, **options):
        """위치별 피드포워드 신경망을 만듭니다."""
        return PositionwiseFeedForward(self.d_model, self.d_ff, **options)

    def positional_encoding(self, **options):
        """`positions`의 이름으로 `SCHEMES`에서 찾은 위치 인코딩을 만듭니다."""
        return SCHEMES[self.positions](self, **options)

    def get_config(self):
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config):
        return cls(**config)
