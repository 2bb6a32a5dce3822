"""nn.TransformerDecoderLayer를 감싸고 두 마스크를 그 약속(True = 가림)으로 고칩니다."""

from torch import nn


class Layer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.num_heads = num_heads
        self.inner = nn.TransformerDecoderLayer(
            d_model, num_heads, d_ff, dropout=0.0, batch_first=True
        )

    def hidden(self, mask, batch, rows, columns):
        if mask is None:
            return None
        mask = mask.bool().expand(batch, self.num_heads, rows, columns)
        return ~mask.reshape(-1, rows, columns)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        b, n, m = x.shape[0], x.shape[1], memory.shape[1]
        return self.inner(
            x,
            memory,
            tgt_mask=self.hidden(self_mask, b, n, n),
            memory_mask=self.hidden(memory_mask, b, n, m),
        )


candidate = Layer
