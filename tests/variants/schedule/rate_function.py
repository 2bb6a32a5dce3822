"""Line-by-line PyTorch: a plain function of (step, d_model, warmup), step 0 made 1."""


def rate(step, model_size, warmup):
    if step == 0:
        step = 1
    return model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))


candidate = rate
