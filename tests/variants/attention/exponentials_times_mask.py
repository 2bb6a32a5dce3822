"""덧셈 없이 지수에 0/1 마스크를 곱하고 합으로 나누는 사람. 더하는 것과 같습니다."""

import numpy as np


def masked_attention(q, k, v, mask):
    s = np.matmul(q, np.moveaxis(k, -1, -2)) * q.shape[-1] ** -0.5
    keep = np.ones((1, 1), bool) if mask is None else np.asarray(mask, dtype=bool)
    keep = np.broadcast_to(keep, s.shape)
    top = np.max(s, axis=-1, keepdims=True, where=keep, initial=-1e9)
    e = np.exp(np.minimum(s - top, 0)) * keep
    w = e / (np.sum(e, axis=-1, keepdims=True) + 1e-20)
    return {"output": np.matmul(w, v), "weights": w}


def candidate(query, key, value, mask=None):
    answer = masked_attention(query, key, value, mask)
    return answer["output"], answer["weights"]
