"""A plain Python closure that raises 0 to the power −0.5 at the first step."""


def noam(d_model, warmup_steps):
    def rate(step):
        return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

    return rate


candidate = noam
mistakes = (34,)
