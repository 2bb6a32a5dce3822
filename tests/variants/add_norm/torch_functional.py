"""F.layer_norm 한 줄을 돌려주는 공장 함수."""

import torch.nn.functional as F


def candidate(d_model):
    return lambda x, fx: F.layer_norm(x + fx, (d_model,), eps=1e-6)
