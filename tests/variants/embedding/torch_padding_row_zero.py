"""A PyTorch user who keeps the padding row at zero with padding_idx=0."""

import torch
import torch.nn.functional as F
from torch import nn


class ScaledEmbedding(nn.Module):
    def __init__(self, num_embeddings: int, embedding_dim: int):
        super().__init__()
        weight = torch.randn(num_embeddings, embedding_dim) * embedding_dim**-0.5
        weight[0] = 0.0
        self.weight = nn.Parameter(weight)
        self.register_buffer("scale", torch.tensor(float(embedding_dim)).sqrt())

    def forward(self, input_ids):
        return F.embedding(input_ids, self.weight, padding_idx=0) * self.scale


candidate = ScaledEmbedding
