"""nn.Transformer 사용자: (batch, length), True가 가릴 자리."""

import torch


def key_padding_mask(tokens: torch.Tensor, *, pad: int = 0) -> torch.Tensor:
    """패딩인 자리가 True인 (배치, 길이) 텐서를 돌려줍니다."""
    return tokens.eq(pad)


candidate = key_padding_mask
mask_true = "hide"
