"""패딩만 빼고 <eos>는 고르는 PyTorch 사람."""

import torch


def mask_tokens(token_ids, chance, random_ids, mask_id):
    chosen = (token_ids != 0) & (chance < 0.15)
    inputs = torch.where(chosen & (chance < 0.135), random_ids, token_ids)
    inputs = inputs.masked_fill(chosen & (chance < 0.12), mask_id)
    return inputs, token_ids.masked_fill(~chosen, -100)


candidate = mask_tokens
mistakes = (54,)
