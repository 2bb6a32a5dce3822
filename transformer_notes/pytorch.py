"""같은 모델을 PyTorch로: 가중치를 주고받으면 로짓이 같습니다.

PyTorch가 있어야 가져올 수 있습니다: ``pip install torch``.
"""

import numpy as np
import torch
from torch import nn

from transformer_notes.config import TransformerConfig
from transformer_notes.decoder import DecoderLayer
from transformer_notes.transformer import Transformer

__all__ = ["TorchTransformer", "from_torch", "to_torch"]


class TorchTransformer(nn.Module):
    """`Transformer`와 같은 계산을 하는, `torch.nn`의 층으로 쌓은 모델.

    논문처럼 드롭아웃은 하위 층의 출력과 임베딩에만 씌웁니다 (5.4절). 처음 가중치는
    torch가 정합니다. 우리 모델처럼 시작하려면 ``to_torch(Transformer(config))``로
    만드세요.

    Args:
        config: `TransformerConfig`. `torch.nn`의 층이 하는 것만 됩니다: 사인파 위치,
            헤드의 차원이 d_model / num_heads인 어텐션.

    호출 인자:
        source_ids: int64 텐서, (batch, length_s).
        target_ids: int64 텐서, (batch, length_t). 정답을 한 칸 민 것입니다.

    Returns:
        로짓, 가중치와 같은 dtype의 텐서, (batch, length_t, vocab_size).

    Raises:
        ValueError: `torch.nn`의 층이 하지 않는 설정.
    """

    def __init__(self, config):
        super().__init__()
        _refuse_others(config)
        self.config, d_model = config, config.d_model
        self.target_embedding = nn.Embedding(config.vocab_size, d_model)
        self.source_embedding = self.target_embedding
        if config.source_vocab_size is not None:
            self.source_embedding = nn.Embedding(config.source_vocab_size, d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.TransformerEncoder(
            *self._layers(nn.TransformerEncoderLayer), enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(*self._layers(nn.TransformerDecoderLayer))
        self.output = nn.Linear(d_model, config.vocab_size, bias=False)
        if config.tie_embeddings:
            self.output.weight = self.target_embedding.weight

    def _layers(self, layer_class):
        """스택의 재료: 층 하나, 층의 수, 끝의 정규화."""
        config = self.config
        layer = layer_class(
            config.d_model,
            config.num_heads,
            config.d_ff,
            config.dropout,
            batch_first=True,
            norm_first=config.norm_first,
        )
        layer.dropout.p = 0.0  # torch는 피드포워드의 가운데에도,
        for part in layer.modules():
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 0.0  # 어텐션의 가중치에도 씌웁니다
                if not config.attention_bias:
                    for bias in (part.in_proj_bias, part.out_proj.bias):
                        nn.init.zeros_(bias).requires_grad_(False)
        # nn.Transformer는 post-norm의 끝에도 정규화를 답니다. 그래서 쓰지 않습니다.
        norm = nn.LayerNorm(config.d_model) if config.norm_first else None
        return layer, config.num_layers, norm

    def embed(self, embedding, ids):
        """토큰의 벡터에 배율을 곱하고 사인파를 더한 다음, 드롭아웃을 씌웁니다."""
        d_model = self.config.d_model
        rates = 10_000.0 ** (
            -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
        )
        angles = torch.arange(ids.shape[1])[:, None] * rates  # (length, d_model / 2)
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # 사인, 코사인의 쌍
        x = embedding(ids) * d_model**0.5  # (batch, length, d_model)
        # 파형은 (length, d_model)로 펴고, 임베딩의 dtype에 맞춥니다.
        return self.dropout(x + waves.flatten(-2).to(x))  # (batch, length, d_model)

    def forward(self, source_ids, target_ids):
        # torch의 층에서는 True가 '가림'입니다.
        source_hidden, target_hidden = (
            ids == self.config.pad_id for ids in (source_ids, target_ids)
        )
        length = target_ids.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        memory = self.encoder(
            self.embed(self.source_embedding, source_ids),
            src_key_padding_mask=source_hidden,
        )
        x = self.decoder(
            self.embed(self.target_embedding, target_ids),
            memory,
            tgt_mask=later.to(target_ids.device),
            tgt_is_causal=True,
            tgt_key_padding_mask=target_hidden,
            memory_key_padding_mask=source_hidden,
        )
        return self.output(x)


def _refuse_others(config):
    width = config.d_model // config.num_heads
    for name, given, needed in (
        ("config의 클래스", type(config), TransformerConfig),
        ("positions", config.positions, "sinusoidal"),
        ("key_dim", config.key_dim or width, width),
        ("value_dim", config.value_dim or width, width),
    ):
        if given != needed:
            raise ValueError(
                f"torch.nn의 층으로는 {name}이(가) {needed}인 모델만 만듭니다. "
                f"받은 것: {given}."
            )


def to_torch(model):
    """모델의 가중치를 담은 `TorchTransformer`를 만듭니다.

    Args:
        model: `Transformer`.

    Returns:
        `TorchTransformer`. 드롭아웃을 끈 평가 상태입니다.

    Raises:
        ValueError: `torch.nn`의 층이 하지 않는 설정.
    """
    module = TorchTransformer(model.config)
    model.build()
    state = module.state_dict()
    for name, variables in shared_weights(model).items():
        state[name].copy_(torch.from_numpy(stacked(name, variables)))
    return module.eval()


def from_torch(module):
    """`TorchTransformer`의 가중치를 담은 우리 모델을 만듭니다.

    Args:
        module: `TorchTransformer`.

    Returns:
        `Transformer`.

    Raises:
        ValueError: 설정의 attention_bias는 False인데 0이 아닌 어텐션의 편향.
    """
    model = Transformer(module.config)
    model.build()
    shared = shared_weights(model)
    for name, tensor in module.state_dict().items():
        array = tensor.cpu().numpy()
        if name in shared:
            parts = np.split(array, len(shared[name]))
            for variable, part in zip(shared[name], parts):
                variable.assign(part if "embedding" in name else part.T)
        elif name.endswith("bias") and array.any():
            raise ValueError(
                f"이 설정의 모델에는 어텐션의 편향이 없는데 {name}가 0이 아닙니다. "
                "TransformerConfig(attention_bias=True)로 만든 TorchTransformer를 "
                "학습해 주세요."
            )
    return model


def stacked(name, arrays):
    """우리의 배열들을 torch의 배열 하나로. 행렬은 전치해 위아래로 쌓습니다.

    Args:
        name: torch의 이름. 임베딩의 표는 두 쪽이 같은 꼴입니다.
        arrays: 가중치나 기울기의 목록.
    """
    arrays = [np.asarray(array) for array in arrays]
    return np.concatenate([a if "embedding" in name else a.T for a in arrays])


def shared_weights(part):
    """torch의 이름마다, 같은 수를 담은 우리 가중치의 목록.

    torch는 쿼리와 키와 값의 행렬을 하나로 쌓아 두므로 목록입니다.

    Args:
        part: `Transformer`, `Encoder`, `Decoder`, `MultiHeadAttention`.
    """
    if isinstance(part, Transformer):
        found = {"target_embedding.weight": [part.target_embedding.embeddings]}
        if part.source_embedding is not part.target_embedding:
            found["source_embedding.weight"] = [part.source_embedding.embeddings]
        if not part.config.tie_embeddings:
            found["output.weight"] = part.linear_softmax.weights
        for name in ("encoder", "decoder"):
            found |= _under(name, shared_weights(getattr(part, name)))
        return found
    if hasattr(part, "layers"):
        found = {} if part.norm is None else _norm("norm", part.norm)
        for number, layer in enumerate(part.layers):
            found |= _under(f"layers.{number}", _layer(layer))
        return found
    maps = zip(part.query_map, part.key_map, part.value_map)
    found = {f"in_proj_{kind}": [*kinds] for kind, kinds in zip(_KINDS, maps)}
    output = zip(_KINDS, part.output_map)
    return found | {f"out_proj.{kind}": [variable] for kind, variable in output}


_KINDS = ("weight", "bias")


def _layer(layer):
    attentions = [("self_attn", layer.self_attention)]
    norms = [layer.self_attention_norm]
    if isinstance(layer, DecoderLayer):
        attentions.append(("multihead_attn", layer.cross_attention))
        norms.append(layer.cross_attention_norm)
    found = {}
    for name, attention in attentions:
        found |= _under(name, shared_weights(attention))
    names = [f"linear{n}.{kind}" for n in (1, 2) for kind in _KINDS]
    found |= {n: [w] for n, w in zip(names, layer.feed_forward.weights)}
    for number, norm in enumerate([*norms, layer.feed_forward_norm], start=1):
        found |= _norm(f"norm{number}", norm.norm)
    return found


def _norm(name, norm):
    return {f"{name}.weight": [norm.gamma], f"{name}.bias": [norm.beta]}


def _under(prefix, found):
    return {f"{prefix}.{name}": variables for name, variables in found.items()}
