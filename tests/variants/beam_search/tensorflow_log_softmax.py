"""TensorFlow: tf.nn.log_softmax와 tf.math.top_k를 빔마다 부르고 NumPy로 고릅니다."""

import tensorflow as tf


def normalized(beam):
    ids, total = beam
    return float(total) / ((5 + len(ids) - 1) / 6) ** 0.6


def decode(next_logits, bos, eos, max_length, beam_size):
    alive, ended = [([bos], 0.0)], []
    for _ in range(max_length):
        branches = []
        for ids, total in alive:
            log_p = tf.nn.log_softmax(next_logits(tf.constant([ids])))[0]
            top = tf.math.top_k(log_p, k=min(beam_size + 1, log_p.shape[0]))
            for value, index in zip(top.values.numpy(), top.indices.numpy()):
                branches.append((ids + [int(index)], total + float(value)))
        branches.sort(key=lambda beam: -beam[1])
        ended += [beam for beam in branches if beam[0][-1] == eos]
        alive = [beam for beam in branches if beam[0][-1] != eos][:beam_size]
        if not alive:
            break
    return max(ended or alive, key=normalized)[0]


candidate = decode
