"""(v, k, q)로 적힌 함수를 (q, k, v)로 부르고 나누지도 않는 PyTorch 사람."""


def attention(values, keys, query, mask=None):
    energy = query @ keys.transpose(-1, -2)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    return energy.softmax(dim=-1) @ values


def candidate(query, key, value, mask=None):
    return attention(query, key, value, mask)


mistakes = (8, 11)
