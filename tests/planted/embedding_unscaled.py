"""nn.Embedding을 그대로 쓰는 사람."""

from torch import nn

candidate = nn.Embedding
mistakes = (22,)
