"""TensorArray에 적는 번역기 클래스. 강의에서 모델을 내보낼 때 쓰는 모양입니다."""

import tensorflow as tf


class Translator:
    def __init__(self, step):
        self.step = step

    def __call__(self, bos, eos, max_length):
        out = tf.TensorArray(tf.int64, size=0, dynamic_size=True)
        out = out.write(0, tf.constant(bos, tf.int64))
        for i in range(max_length):
            ids = out.stack()[tf.newaxis]
            best = tf.argmax(self.step(ids), axis=-1)[0]
            out = out.write(i + 1, best)
            if best == eos:
                break
        return out.stack()


def candidate(next_logits, bos, eos, max_length):
    return Translator(next_logits)(bos, eos, max_length)
