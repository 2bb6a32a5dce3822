"""셀프 어텐션은 한 행렬로, 크로스 어텐션은 두 행렬로 뽑는 PyTorch 사람."""

import torch.nn.functional as F
from torch import nn


class FusedDecoder(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, *, dropout=0.1, eps=1e-6):
        super().__init__()
        self.n_heads = n_heads
        line = lambda i, o: nn.Linear(i, o, bias=False)  # noqa: E731
        self.qkv, self.proj1 = line(d_model, 3 * d_model), line(d_model, d_model)
        self.q, self.kv = line(d_model, d_model), line(d_model, 2 * d_model)
        self.proj2 = line(d_model, d_model)
        self.fc1, self.fc2 = line(d_model, d_ff), line(d_ff, d_model)
        self.ln1, self.ln2, self.ln3 = (nn.LayerNorm(d_model, eps) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def mix(self, q, k, v, mask):
        q, k, v = (
            t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for t in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return y.transpose(1, 2).flatten(2)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        y = self.proj1(self.mix(*self.qkv(x).chunk(3, dim=-1), self_mask))
        x = self.ln1(x + self.drop(y))
        k, v = self.kv(memory).chunk(2, dim=-1)
        y = self.proj2(self.mix(self.q(x), k, v, memory_mask))
        x = self.ln2(x + self.drop(y))
        return self.ln3(x + self.drop(self.fc2(F.relu(self.fc1(x)))))


candidate = FusedDecoder
