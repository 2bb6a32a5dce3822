"""설정을 객체에 담아 두는 사람: 부를 수 있는 객체, keras.ops."""

from keras import ops


class PaddingMask:
    def __init__(self, pad_token_id=0):
        self.pad_token_id = pad_token_id

    def __call__(self, input_ids):
        keep = ops.not_equal(input_ids, self.pad_token_id)
        return ops.expand_dims(ops.expand_dims(keep, 1), 1)


candidate = PaddingMask()
