"""층의 시험이 함께 쓰는 것: 실행 방식, 정밀도, 무작위 입력과 가중치.

시험이 아니므로 이름이 `test_`로 시작하지 않습니다.
"""

import inspect
import re
import tempfile
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

MODES = {
    "eager": lambda function: function,
    "graph": tf.function,
    "xla": lambda function: tf.function(function, jit_compile=True),
}
HALF = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
ROUNDING = {"mixed_float16": 2e-2, "mixed_bfloat16": 1e-1, "float64": 1e-12}
every_mode = pytest.mark.parametrize("mode", MODES)
every_policy = pytest.mark.parametrize("policy", ["float32", "float64", *HALF])


def normal(*shape, seed=0, dtype="float32"):
    return tf.constant(np.random.default_rng(seed).normal(size=shape), dtype)


def random_weights(layer, seed=0, scale=0.5):
    """편향까지 0이 아닌 값으로 채웁니다. 정수인 것(시드)은 그대로 둡니다."""
    generator = np.random.default_rng(seed)
    for weight in layer.weights:
        if "int" not in str(weight.dtype):
            weight.assign(generator.normal(size=weight.shape) * scale)
    return layer


def caught(kind, call, *inputs, **options):
    """call이 낸 예외의 메시지. Keras가 뒤에 늘어놓는 인자의 이름은 뺍니다."""
    with pytest.raises(kind) as info:
        call(*inputs, **options)
    return str(info.value).partition("Arguments received by")[0]


class Masked(keras.layers.Layer):
    """입력에 Keras의 마스크를 붙입니다. 층이 그것을 끊는지 볼 때 씁니다."""

    supports_masking = True

    def compute_mask(self, x, previous=None):
        return tf.fill(tf.shape(x)[:2], True)

    def call(self, x):
        return tf.identity(x)


def keeps_layer_promises(make, *inputs, call=None, symbolic=True):
    """층이면 모두 지키는 약속을 한 번에 봅니다. 어긴 것은 그 이름을 말합니다.

    - 가중치마다 이름이 있다.
    - 그래프 안에서도 밖에서도 네 정밀도로, XLA에서는 float16으로, float64의 값과
      반올림만큼만 다르다.
    - 출력의 dtype은 계산 dtype이고, 가중치마다 유한하고 0이 아닌 기울기가 있다.
    - 그래프 하나가 어떤 배치와 길이도 받고, 빈 것을 넣으면 빈 것이 나온다.
    - 다른 문장은 답을 바꾸지 않고, Keras의 마스크는 경고 없이 여기서 끝난다.
    - 설정에는 만들 때의 인자가 모두 있고 같은 층을 다시 만든다. 알린 모양과 dtype이
      돌려준 것과 같고, ``.keras`` 파일이 같은 모델을 돌려준다 (`symbolic`이 False이면
      dtype과 파일은 보지 않습니다).

    Args:
        make: `make(**options)`. `name`과 `dtype`을 받아 층을 만듭니다.
        inputs: 층에 넣을 배열. 실수 (batch, length, depth)나 정수 (batch, length)이고,
            앞의 두 축이 서로 같습니다.
        call: `call(layer, *inputs)`. 층을 부르는 법. 텐서 하나를 돌려줍니다.
        symbolic: `keras.Input`을 받는 층인지.
    """
    call = call or (lambda layer, *inputs: layer(*inputs))
    inputs = [tf.constant(x) for x in inputs]

    def at(dtype):
        return [tf.cast(x, dtype) if x.dtype.is_floating else x for x in inputs]

    def built(**options):
        layer = make(**options)
        call(layer, *at(layer.compute_dtype))
        return random_weights(layer, scale=0.5)

    nameless = [w.path for w in built().weights if re.match("variable", w.name)]
    assert not nameless, f"이름 없는 가중치: {nameless}"
    exact = call(built(dtype="float64"), *at("float64"))
    for policy in ("float32", "float64", *HALF):
        layer = built(dtype=policy)
        given = at(layer.compute_dtype)
        for mode, wrap in MODES.items():
            where = f"{policy}, {mode}"
            if mode == "xla" and policy != "mixed_float16":
                continue  # 컴파일이 느립니다. 가장 까다로운 정밀도에서만 봅니다

            @wrap
            def run(*given, layer=layer):
                with tf.GradientTape() as tape:
                    output = call(layer, *given)
                    loss = tf.reduce_sum(tf.sin(tf.cast(output, tf.float32)))
                return output, tape.gradient(loss, layer.trainable_variables)

            output, gradients = run(*given)
            assert output.dtype.name == layer.compute_dtype, where
            np.testing.assert_allclose(
                tf.cast(output, tf.float64),
                exact,
                atol=ROUNDING.get(policy, 1e-5) * max(1, np.abs(exact).max()),
                err_msg=where,
            )
            for weight, gradient in zip(layer.trainable_variables, gradients):
                gradient = np.asarray(tf.convert_to_tensor(gradient), np.float64)
                assert np.all(np.isfinite(gradient)), f"{where}: {weight.name}"
                assert np.any(gradient), f"{where}: {weight.name}의 기울기가 0"

    layer = built()
    specs = [tf.TensorSpec((None, None, *x.shape[2:]), x.dtype) for x in inputs]
    whole = tf.function(lambda *given: call(layer, *given), input_signature=specs)
    for batch, length in ((1, 1), (2, 2), (0, 2), (2, 0)):
        part = [x[:batch, :length] for x in inputs]
        expected = call(layer, *part)
        assert whole(*part).shape == expected.shape == (batch, length, *exact.shape[2:])
        np.testing.assert_allclose(whole(*part), expected, atol=1e-5)
    assert whole.experimental_get_tracing_count() == 1
    np.testing.assert_allclose(
        call(layer, *[x[:1] for x in inputs]), call(layer, *inputs)[:1], atol=1e-5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output = call(layer, *[Masked(dtype=x.dtype.name)(x) for x in inputs])
    assert getattr(output, "_keras_mask", None) is None, "마스크가 빠져나갔습니다"

    if type(layer).compute_output_shape is not keras.layers.Layer.compute_output_shape:
        shapes = [tuple(x.shape) for x in inputs]
        assert make().compute_output_shape(*shapes) == exact.shape

    layer = make(name="own", dtype="mixed_bfloat16", trainable=False)
    # 둘 다 빠뜨려도 두 설정은 서로 같으므로, 인자의 이름부터 봅니다.
    own = vars(type(layer)).get("__init__")
    arguments = inspect.signature(own).parameters.keys() if own else set()
    missing = arguments - {"self", "kwargs"} - layer.get_config().keys()
    assert not missing, f"설정에 없는 인자: {missing}"
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    assert (again.name, again.compute_dtype) == ("own", "bfloat16")
    call(again, *inputs)
    assert again.trainable_weights == []
    if not symbolic:
        return

    symbols = [keras.Input((None, *x.shape[2:]), dtype=x.dtype.name) for x in inputs]
    announced = call(make(dtype="mixed_float16"), *symbols)
    assert announced.shape == (None, None, *exact.shape[2:])
    assert announced.dtype == "float16"
    model = random_weights(keras.Model(symbols, call(make(), *symbols)))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        loaded = keras.models.load_model(f"{folder}/model.keras")
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
