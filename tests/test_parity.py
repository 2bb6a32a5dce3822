"""같은 가중치를 담으면 다른 라이브러리의 어텐션, 층, 모델과 값도 기울기도 같다.

Keras의 층은 test_multi_head_attention.py와 test_add_norm.py가 견줍니다.
"""

import dataclasses
import re
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from others import keras_hub, needs_keras_hub, needs_torch, torch

from transformer_notes.decoder import DecoderLayer
from transformer_notes.encoder import EncoderLayer
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.multi_head_attention import MultiHeadAttention
from transformer_notes.transformer import Transformer, TransformerConfig
from transformer_notes.variants.feed_forward import GELUConfig

if torch:
    from transformer_notes import pytorch

both_norms = pytest.mark.parametrize("norm_first", [False, True])


@pytest.fixture(autouse=True, scope="module")
def double():
    """float64로 견줍니다. 분산이 작으면 기울기에서 float32의 반올림이 커집니다."""
    floatx, policy = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    # 정책은 처음 읽힐 때의 floatx에 머무르므로 따로 바꿉니다.
    keras.config.set_dtype_policy("float64")
    if torch:
        torch.set_default_dtype(torch.float64)
    yield
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(policy)
    if torch:
        torch.set_default_dtype(torch.float32)


# --- 무작위 크기와 가중치 -----------------------------------------------------------


@st.composite
def cases(draw):
    """설정의 크기와 두 쪽의 토큰 번호. 첫 문장 말고는 패딩이 붙습니다."""
    num_heads, batch = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    sizes = {
        # Keras는 1/√d_k를 float32로 둡니다. d_k가 4의 거듭제곱이면 반올림되지 않습니다.
        "d_model": num_heads * 4 ** draw(st.integers(1, 2)),
        "num_heads": num_heads,
        "num_layers": draw(st.integers(2, 3)),
        "d_ff": draw(st.integers(1, 20)),
    }
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ids = []
    for longest in (draw(st.integers(2, 6)), draw(st.integers(2, 6))):
        lengths = generator.integers(1, longest, size=(batch, 1))
        lengths[0] = longest
        tokens = generator.integers(1, 9, size=(batch, longest))
        ids.append(np.where(np.arange(longest) < lengths, tokens, 0))
    return SimpleNamespace(
        sizes=sizes, source=ids[0], target=ids[1], generator=generator
    )


def config(case, norm_first):
    return TransformerConfig(
        vocab_size=9,
        dropout=0.0,
        attention_bias=True,  # 두 라이브러리의 층은 언제나 편향을 둡니다
        norm_first=norm_first,
        **case.sizes,
    )


def fill(layer, generator):
    """편향까지 모두 0이 아닌 값으로 채웁니다."""
    layer.set_weights(
        [
            generator.normal(w.name == "gamma", len(w.shape) ** -0.5 / 2, w.shape)
            for w in layer.weights
        ]
    )
    return layer


def ours(kind, case, norm_first):
    layer = kind(config(case, norm_first))
    shape = (None, None, layer.config.d_model)
    layer.build(*[shape] * (2 if kind is DecoderLayer else 1))
    return fill(layer, case.generator)


def vectors(case, ids):
    shape = (*ids.shape, case.sizes["d_model"])
    return case.generator.normal(size=shape)


def run(call, inputs, weights):
    """출력, 그리고 입력의 기울기와 가중치의 기울기입니다 (TensorFlow)."""
    inputs = [tf.constant(x) for x in inputs]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = call(*inputs)
        loss = sum(tf.reduce_sum(tf.sin(x)) for x in tf.nest.flatten(outputs))
    gradients = tape.gradient(loss, [*inputs, *weights])
    return outputs, gradients[: len(inputs)], gradients[len(inputs) :]


def run_torch(call, inputs, module):
    """``run``과 같습니다. 가중치의 기울기는 이름으로 찾는 사전입니다."""
    inputs = [torch.tensor(x, requires_grad=True) for x in inputs]
    outputs = call(*inputs)
    flat = tf.nest.flatten(outputs)
    sum(torch.sin(x).sum() for x in flat).backward()
    gradients = {name: weight.grad for name, weight in module.named_parameters()}
    return [x.detach() for x in flat], [x.grad for x in inputs], gradients


def assert_close(actual, expected):
    tf.nest.map_structure(
        lambda a, e: np.testing.assert_allclose(a, e, rtol=1e-8, atol=1e-8),
        actual,
        expected,
    )


# --- 우리의 가중치를 저쪽의 이름으로 ------------------------------------------------


def for_torch(layer, read):
    """``read``는 변수를 받아 그 값이나 기울기를 배열로 돌려줍니다."""
    shared = pytorch.shared_weights(layer)
    return {name: pytorch.stacked(name, map(read, ws)) for name, ws in shared.items()}


def layer_for_keras_hub(layer, read):
    """keras-hub의 행렬은 (depth, num_heads, head_dim)입니다. 모양은 나중에 맞춥니다."""
    decodes = isinstance(layer, DecoderLayer)
    attentions = {"self_attention": layer.self_attention}
    norms = {"self_attention_layer_norm": layer.self_attention_norm}
    if decodes:
        attentions["cross_attention"] = layer.cross_attention
        norms["cross_attention_layer_norm"] = layer.cross_attention_norm
    else:
        attentions = {"self_attention_layer": layer.self_attention}
    norms["feedforward_layer_norm"] = layer.feed_forward_norm
    values = {}
    for name, attention in attentions.items():
        for part, weights in {
            "query": attention.query_map,
            "key": attention.key_map,
            "value": attention.value_map,
            "attention_output": attention.output_map,
        }.items():
            for kind, weight in zip(("kernel", "bias"), weights, strict=True):
                values[f"{name}/{part}/{kind}"] = read(weight)
    for name, norm in norms.items():
        values[f"{name}/gamma"] = read(norm.norm.gamma)
        values[f"{name}/beta"] = read(norm.norm.beta)
    inner, inner_bias, outer, outer_bias = layer.feed_forward.weights
    values["feedforward_intermediate_dense/kernel"] = read(inner)
    values["feedforward_intermediate_dense/bias"] = read(inner_bias)
    values["feedforward_output_dense/kernel"] = read(outer)
    values["feedforward_output_dense/bias"] = read(outer_bias)
    return values


def value_of(variable):
    return np.asarray(variable)


def gradient_of(layer, gradients):
    """변수를 받아 그 기울기를 돌려주는 함수입니다."""
    by_id = {id(w): g for w, g in zip(layer.trainable_variables, gradients)}
    # 임베딩의 기울기는 찾은 행만 있습니다. 표 전체로 폅니다.
    return lambda variable: tf.convert_to_tensor(by_id[id(variable)]).numpy()


# --- torch의 어텐션 -----------------------------------------------------------------


@needs_torch
@given(cases(), st.booleans(), st.floats(0, 1))
def test_attention_equals_torch_forward_and_backward(case, use_bias, shown):
    d_model, num_heads = case.sizes["d_model"], case.sizes["num_heads"]
    layer = MultiHeadAttention(d_model, num_heads, use_bias=use_bias)
    layer.build((None, None, d_model))
    fill(layer, case.generator)
    twin = torch.nn.MultiheadAttention(
        d_model, num_heads, bias=use_bias, batch_first=True
    )
    # 이름이 하나라도 남거나 모자라면 torch가 거절합니다.
    values = for_torch(layer, value_of)
    twin.load_state_dict({name: torch.tensor(v) for name, v in values.items()})
    query, memory = vectors(case, case.target), vectors(case, case.source)
    shape = (len(query), num_heads, query.shape[1], memory.shape[1])
    mask = case.generator.random(shape) < shown  # 헤드마다 다른 마스크
    mask[..., case.generator.integers(shape[-1])] = True  # 하나는 보여 줍니다
    inputs = [query, memory, memory[..., ::-1].copy()]
    outputs, to_inputs, to_weights = run(
        lambda *x: layer(*x, attention_mask=mask, return_weights=True),
        inputs,
        layer.trainable_variables,
    )
    expected, to_their_inputs, to_their_weights = run_torch(
        lambda *x: twin(
            *x,
            attn_mask=torch.from_numpy(~mask).flatten(0, 1),  # torch는 True가 가림
            average_attn_weights=False,
        ),
        inputs,
        twin,
    )
    assert_close(tf.nest.flatten(outputs), expected)
    assert_close(to_inputs, to_their_inputs)
    gradients = for_torch(layer, gradient_of(layer, to_weights))
    assert_close(gradients, to_their_weights)


# --- torch의 모델 -------------------------------------------------------------------


def model_of(case, norm_first, **others):
    settings = dataclasses.replace(config(case, norm_first), **others)
    model = Transformer(settings)
    model.build()
    return fill(model, case.generator)


def assert_model_same_as_torch(model, case, epsilon=1e-5):
    twin = pytorch.to_torch(model)
    for part in twin.modules():
        if isinstance(part, torch.nn.LayerNorm):
            part.eps = epsilon
    both = case.source, case.target
    logits, _, gradients = run(lambda: model(both), [], model.trainable_variables)
    ids = [torch.tensor(ids).long() for ids in both]
    (expected,), _, theirs = run_torch(lambda: twin(*ids), [], twin)
    assert_close(logits, expected)
    found = for_torch(model, gradient_of(model, gradients))
    assert found.keys() == {name for name, grad in theirs.items() if grad is not None}
    for name, gradient in found.items():
        assert_close(gradient, theirs[name])


settings = st.fixed_dictionaries(
    {
        "attention_bias": st.booleans(),
        "tie_embeddings": st.booleans(),
        "source_vocab_size": st.sampled_from([None, 11]),
    }
)


@needs_torch
@both_norms
@given(case=cases(), others=settings)
def test_model_equals_torch_and_its_weights_come_back(norm_first, case, others):
    model = model_of(case, norm_first, **others)
    assert_model_same_as_torch(model, case)
    back = pytorch.from_torch(pytorch.to_torch(model))
    assert back.config == model.config
    for ours_, theirs in zip(model.weights, back.weights, strict=True):
        np.testing.assert_array_equal(ours_, theirs)


@needs_torch
@both_norms
def test_one_graph_of_the_torch_model_takes_every_size(norm_first):
    """ONNX로 내보낼 때에 그리는 그래프입니다."""
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 4}
    twin = pytorch.to_torch(
        Transformer(TransformerConfig(9, norm_first=norm_first, **sizes))
    )
    example = [torch.ones(2, length, dtype=torch.int64) for length in (3, 4)]
    every = [dict.fromkeys((0, 1), torch.export.Dim.AUTO)] * 2
    graph = torch.export.export(twin, tuple(example), dynamic_shapes=every)
    ids = torch.tensor([[5, 6, 7, 8, 0]]), torch.tensor([[1, 2]])
    with torch.inference_mode():
        torch.testing.assert_close(graph.module()(*ids), twin(*ids))


@needs_torch
@given(case=cases())
def test_another_epsilon_is_noticed(case):
    with pytest.raises(AssertionError):  # Keras의 기본값
        assert_model_same_as_torch(model_of(case, False), case, epsilon=1e-3)


@needs_torch
def test_dropout_of_torch_falls_only_where_the_paper_puts_it():
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 4}
    module = pytorch.TorchTransformer(TransformerConfig(9, dropout=0.5, **sizes))
    ids = torch.tensor([[5, 6, 7, 8]])
    calm = module.eval()(ids, ids)
    promised = [  # 임베딩, 그리고 하위 층의 출력
        part
        for name, part in module.train().named_modules()
        if name == "dropout" or re.search(r"\.dropout[123]$", name)
    ]
    assert {part.p for part in promised} == {0.5}
    for kept in promised:
        for part in promised:
            part.p = 0.5 * (part is kept)
        assert not torch.equal(module(ids, ids), calm)
    kept.p = 0.0
    torch.testing.assert_close(module(ids, ids), calm)


@needs_torch
def test_what_the_layers_of_torch_do_not_do_is_refused():
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 4}
    for given_, name in (
        (TransformerConfig(9, positions="learned", **sizes), "positions"),
        (TransformerConfig(9, key_dim=3, **sizes), "key_dim"),
        (TransformerConfig(9, value_dim=3, **sizes), "value_dim"),
        (GELUConfig(9, **sizes), "GELUConfig"),
    ):
        with pytest.raises(ValueError, match=name):
            pytorch.TorchTransformer(given_)
    module = pytorch.TorchTransformer(TransformerConfig(9, **sizes))
    assert not module.encoder.layers[0].self_attn.in_proj_bias.requires_grad
    torch.nn.init.ones_(module.encoder.layers[0].self_attn.in_proj_bias)
    with pytest.raises(ValueError, match="attention_bias"):
        pytorch.from_torch(module)


# --- keras-hub의 인코더 층과 디코더 층 ----------------------------------------------


def assert_same_as_keras_hub(layer, call, inputs, call_twin):
    """저쪽 층을 만들어 이름으로 가중치를 담고 견줍니다."""
    settings = layer.config
    kind = layer.__class__.__name__.removesuffix("Layer")
    twin = getattr(keras_hub.layers, f"Transformer{kind}")(
        settings.d_ff,
        settings.num_heads,
        layer_norm_epsilon=1e-5,
        normalize_first=settings.norm_first,
    )
    twin.build(*(x.shape for x in inputs))
    theirs = {w.path.partition("/")[2]: w for w in twin.weights}
    values = layer_for_keras_hub(layer, value_of)
    assert values.keys() == theirs.keys()
    for name, weight in theirs.items():
        weight.assign(values[name].reshape(weight.shape))
    outputs, to_inputs, to_weights = run(call, inputs, layer.trainable_variables)
    expected, to_their_inputs, to_their_weights = run(
        lambda *x: call_twin(twin, *x), inputs, theirs.values()
    )
    assert_close(outputs, expected)
    assert_close(to_inputs, to_their_inputs)
    values = layer_for_keras_hub(layer, gradient_of(layer, to_weights))
    for name, gradient in zip(theirs, to_their_weights):
        assert_close(values[name], np.reshape(gradient, values[name].shape))


@needs_keras_hub
@both_norms
@given(case=cases())
def test_encoder_layer_equals_keras_hub_forward_and_backward(norm_first, case):
    layer = ours(EncoderLayer, case, norm_first)
    assert_same_as_keras_hub(
        layer,
        lambda x: layer(x, attention_mask=padding_mask(case.source)),
        [vectors(case, case.source)],
        lambda twin, x: twin(x, padding_mask=case.source != 0),
    )


@needs_keras_hub
@both_norms
@given(case=cases())
def test_decoder_layer_equals_keras_hub_forward_and_backward(norm_first, case):
    layer = ours(DecoderLayer, case, norm_first)
    mask = look_ahead_mask(case.target.shape[1]) & padding_mask(case.target)
    assert_same_as_keras_hub(
        layer,
        lambda x, memory: layer(
            x,
            memory,
            attention_mask=mask,
            memory_mask=padding_mask(case.source),
        ),
        [vectors(case, case.target), vectors(case, case.source)],
        lambda twin, x, memory: twin(
            x,
            memory,
            decoder_padding_mask=case.target != 0,
            encoder_padding_mask=case.source != 0,
        ),
    )
