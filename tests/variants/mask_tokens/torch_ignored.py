"""고르지 않은 자리에 -100을 적는 PyTorch 사람."""

import torch


def mask_tokens(inputs, probs, random_words, mask_token_id):
    special = inputs < 4
    picked = (probs < 0.15) & ~special
    labels = torch.where(picked, inputs, torch.full_like(inputs, -100))
    inputs = inputs.clone()
    inputs[picked & (probs < 0.12)] = mask_token_id
    randomised = picked & (probs >= 0.12) & (probs < 0.135)
    inputs[randomised] = random_words[randomised]
    return inputs, labels


candidate = mask_tokens
