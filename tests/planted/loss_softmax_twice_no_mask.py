"""torch: the model ends in softmax, CrossEntropyLoss adds another, padding counts."""

import torch.nn.functional as F


def criterion(target, scores):
    prob = F.softmax(scores, dim=-1)
    return F.cross_entropy(prob.transpose(1, 2), target.long())


candidate = criterion
mistakes = (29, 30)
