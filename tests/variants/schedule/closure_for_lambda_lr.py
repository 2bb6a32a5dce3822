"""A closure as LambdaLR wants it, zero at step 0."""


def make_schedule(d_model, warmup_steps):
    def lr_lambda(step):
        step = int(step)
        if step <= 0:
            return 0.0
        return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

    return lr_lambda


candidate = make_schedule
