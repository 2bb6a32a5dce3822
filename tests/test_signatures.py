"""독자와 바깥의 검사기가 기대는 이름: 인자의 순서와 기본값이 바뀌지 않습니다."""

import dataclasses
import inspect
import pkgutil

# 이름마다 소스에 적힌 그대로의 인자입니다. 층은 만들 때의 것과 부를 때의 것을 적습니다.
# ``self``와, 층이 Keras에 그대로 넘기는 ``**kwargs``는 적지 않습니다.
FUNCTIONS = {
    "attention.scaled_dot_product_attention": "query, key, value, mask=None",
    "masking.padding_mask": "token_ids, pad_id=0",
    "masking.look_ahead_mask": "length",
    "positional_encoding.sinusoidal_encoding": "length, d_model",
    "linear_softmax.LinearSoftmax.probabilities": "x",
    "training.masked_cross_entropy": "labels, logits, label_smoothing=0.0, pad_id=0",
    "training.masked_accuracy": "labels, logits, pad_id=0",
    "training.WarmupSchedule.__init__": "d_model, warmup_steps=4000",
    "training.train": (
        "model, data, epochs, folder, validation=None, optimizer=None, "
        "label_smoothing=0.1, save_every=None, keep=5, progress=True, tensorboard=False"
    ),
    "decoding.greedy": (
        "model, source_ids, bos_id, eos_id, max_extra=50, jit_compile=False"
    ),
    "decoding.sample": (
        "model, source_ids, bos_id, eos_id, max_extra=50, temperature=1.0, top_k=None, "
        "top_p=None, seed=None, jit_compile=False"
    ),
    "decoding.beam_search": (
        "model, source_ids, bos_id, eos_id, max_extra=50, beam_size=4, "
        "length_penalty=0.6, return_beams=False, jit_compile=False"
    ),
    "decoding.translate": (
        "model, tokenizer, texts, max_extra=50, beam_size=None, temperature=None, "
        "top_k=None, top_p=None, seed=None"
    ),
    "tokenization.Tokenizer.train": (
        "texts, vocab_size, min_frequency=2, normalization='nfc'"
    ),
    "classification.classify": "model, tokenizer, texts, batch=64",
    "classification.label_pairs": "tokenizer, texts, labels",
    "models.load": "name_or_path",
    "models.available": "",
    "models.Pretrained.translate": "texts, **how",
    "models.Pretrained.classify": "texts",
    "models.files.write": "path, model, tokenizer, task, card",
    "models.files.read": "path",
    "models.files.quantise": "weight",
    "transformer.TransformerConfig.paper_base": "vocab_size=37000",
    "transformer.TransformerConfig.paper_big": "vocab_size=37000",
    "transformer.TransformerConfig.table3": "vocab_size=37000",
    "transformer.Transformer.encode": (
        "source_ids, training=None, return_weights=False"
    ),
    "transformer.Transformer.decode": (
        "target_ids, memory, memory_mask=None, training=None, return_weights=False, "
        "attention_mask=None, position=None, cache=None, slot=0"
    ),
}
LAYERS = {
    "multi_head_attention.MultiHeadAttention": (
        "d_model, num_heads, key_dim=None, value_dim=None, use_bias=True, dropout=0.0",
        "query, key, value, attention_mask=None, training=None, return_weights=False, "
        "position_map=None, cache=None, slot=0",
    ),
    "embedding.TokenEmbedding": ("vocab_size, d_model", "token_ids"),
    "positional_encoding.SinusoidalPositionalEncoding": ("", "x, position=None"),
    "positional_encoding.LearnedPositionalEncoding": ("max_length", "x, position=None"),
    "feed_forward.PositionwiseFeedForward": ("d_model, d_ff", "x"),
    "add_norm.AddAndNorm": (
        "dropout=0.0, epsilon=1e-05, norm_first=False",
        "x, sublayer, training=None",
    ),
    "encoder.EncoderLayer": (
        "config",
        "x, attention_mask=None, training=None, return_weights=False, "
        "position_map=None",
    ),
    "encoder.Encoder": (
        "config",
        "x, attention_mask=None, training=None, return_weights=False, "
        "position_map=None",
    ),
    "decoder.DecoderLayer": (
        "config",
        "x, memory, attention_mask=None, memory_mask=None, training=None, "
        "return_weights=False, position_map=None, cache=None, slot=0",
    ),
    "decoder.Decoder": (
        "config",
        "x, memory, attention_mask=None, memory_mask=None, training=None, "
        "return_weights=False, position_map=None, cache=None, slot=0",
    ),
    "linear_softmax.LinearSoftmax": ("vocab_size, embedding=None", "x"),
    "transformer.Transformer": ("config", "inputs, training=None"),
    "classification.Classifier": (
        "config, num_labels",
        "inputs, training=None, return_weights=False",
    ),
}
CONFIG_FIELDS = {
    "vocab_size": dataclasses.MISSING,
    "source_vocab_size": None,
    "d_model": 512,
    "num_heads": 8,
    "num_layers": 6,
    "d_ff": 2048,
    "key_dim": None,
    "value_dim": None,
    "dropout": 0.1,
    "attention_bias": False,
    "norm_first": False,
    "positions": "sinusoidal",
    "max_length": 512,
    "tie_embeddings": True,
    "pad_id": 0,
}
NAMES = {
    "seq2seq": ["AdditiveAttention", "MultiplicativeAttention", "Seq2Seq"],
    "tokenization": ["Tokenizer"],
    "training": ["WarmupSchedule", "average_checkpoints", "train"],
    "corpora": ["dates"],
    "figures.widgets": [
        "AttentionExplorer",
        "DecodingTree",
        "HeadSplitter",
        "MaskBuilder",
        "MergeExplorer",
        "PositionExplorer",
    ]
    + ["ScheduleExplorer", "SmoothingExplorer", "SoftmaxExplorer"],
    "figures.plotting": [
        "attention_heatmap",
        "attention_heads",
        "positional_encoding_heatmap",
    ],
}


def find(dotted):
    return pkgutil.resolve_name(f"transformer_notes.{dotted}")


def written(function):
    parameters = inspect.signature(function).parameters.values()
    return ", ".join(
        str(parameter)
        for parameter in parameters
        if parameter.name not in ("self", "kwargs")
    )


def own_init(layer):
    """우리가 적은 생성자입니다. 적지 않았으면 인자가 없습니다."""
    for ancestor in layer.__mro__:
        if "__init__" in vars(ancestor):
            ours = ancestor.__module__.startswith("transformer_notes")
            return ancestor.__init__ if ours else (lambda: None)
    raise AssertionError(layer)


def test_functions_methods_and_layers_keep_their_arguments_and_defaults():
    assert {name: written(find(name)) for name in FUNCTIONS} == FUNCTIONS
    layers = {name: find(name) for name in LAYERS}
    kept = {
        name: (written(own_init(la)), written(la.call)) for name, la in layers.items()
    }
    assert kept == LAYERS


def test_layers_hand_the_keras_arguments_on_and_take_none_called_mask():
    """Keras가 mask라는 이름을 2차원 마스크로 몰래 채웁니다."""
    for name in LAYERS:
        layer = find(name)
        assert "mask" not in inspect.signature(layer.call).parameters, name
        parameters = inspect.signature(own_init(layer)).parameters
        if parameters:
            kind = parameters["kwargs"].kind
            assert kind is inspect.Parameter.VAR_KEYWORD, name
        else:
            assert layer(name="named", dtype="float16").name == "named"


def test_the_configuration_keeps_its_fields_their_order_and_defaults():
    config = find("transformer.TransformerConfig")
    fields = {field.name: field.default for field in dataclasses.fields(config)}
    assert list(fields.items()) == list(CONFIG_FIELDS.items())
    assert config.__dataclass_params__.frozen


def test_public_names_exist():
    methods = ["train", "encode", "decode", "save", "load"]
    for module, names in (NAMES | {"tokenization.Tokenizer": methods}).items():
        for name in names:
            assert callable(find(f"{module}.{name}")), (module, name)
