"""nn.MultiheadAttention을 감싸고 마스크를 그 약속(True = 가림)으로 고치는 사람."""

from torch import nn


class Wrapped(nn.Module):
    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        self.heads = num_heads
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            shape = (query.shape[0], self.heads, query.shape[1], key.shape[1])
            mask = ~mask.bool().expand(shape).reshape(-1, *shape[2:])
        return self.mha(query, key, value, attn_mask=mask, average_attn_weights=False)


candidate = Wrapped
