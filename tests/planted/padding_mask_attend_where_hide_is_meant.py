"""PyTorch: (src != pad) given as key_padding_mask, where True means ignore."""


def make_mask(src, pad=0):
    return src != pad


candidate = make_mask
mask_true = "hide"
mistakes = (2,)
