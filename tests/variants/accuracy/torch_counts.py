"""PyTorch: number right over number of real tokens, .item() at the end."""


def token_accuracy(trg, output, pad_idx=0):
    pred = output.argmax(dim=-1)
    non_pad = trg.ne(pad_idx)
    n_correct = pred.eq(trg).masked_select(non_pad).sum().item()
    return n_correct / non_pad.sum().item()


candidate = token_accuracy
