"""모든 토큰을 정답으로 적는 사람."""


def mask_tokens(token_ids, chance, random_ids, mask_id):
    chosen = (token_ids > 3) & (chance < 0.15)
    inputs = token_ids.copy()
    inputs[chosen & (chance < 0.135)] = random_ids[chosen & (chance < 0.135)]
    inputs[chosen & (chance < 0.12)] = mask_id
    return inputs, token_ids


candidate = mask_tokens
mistakes = (55,)
