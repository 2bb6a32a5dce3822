"""인코더와 디코더 층의 검사: 배우는 이가 쓰는 대로 쓴 후보들."""

import re

import keras
import numpy as np
import pytest

from transformer_notes.checker import KINDS, check
from transformer_notes.config import TransformerConfig
from transformer_notes.decoder import Decoder, DecoderLayer
from transformer_notes.encoder import Encoder, EncoderLayer


class Norm:
    def __init__(self, rng, d_model, wrong=()):
        self.gamma, self.beta = rng.normal(1, 0.3, (2, d_model))
        self.axis = (1, 2) if "joint" in wrong else -1
        self.ddof = int("n-1" in wrong)

    def __call__(self, x):
        centred = x - x.mean(self.axis, keepdims=True)
        spread = x.var(self.axis, keepdims=True, ddof=self.ddof)
        return self.gamma * centred / np.sqrt(spread + 1e-5) + self.beta


class Attention:
    def __init__(self, rng, d_model, heads, wrong=()):
        self.heads, self.wrong = heads, wrong
        self.w_q, self.w_k, self.w_v, self.w_o = rng.normal(
            0, 0.5, (4, d_model, d_model)
        )

    def split(self, x):
        batch, length, d_model = x.shape
        if 10 in self.wrong:
            return x.reshape(batch, self.heads, length, -1)
        return x.reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3)

    def __call__(self, query, key, value, mask):
        q, k = self.split(query @ self.w_q), self.split(key @ self.w_k)
        scores = q @ k.swapaxes(2, 3)
        if 8 not in self.wrong:
            scores = scores / np.sqrt(q.shape[-1])
        if 3 in self.wrong:
            scores = scores * mask
        else:
            scores = np.where(mask != (2 in self.wrong), scores, -1e9)
        axis = -2 if 9 in self.wrong else -1
        weights = np.exp(scores - scores.max(axis, keepdims=True))
        weights /= weights.sum(axis, keepdims=True)
        x = weights @ self.split(value @ self.w_v)
        if 10 not in self.wrong:
            x = x.transpose(0, 2, 1, 3)
        x = x.reshape(query.shape) @ self.w_o
        return np.maximum(x, 0) if 12 in self.wrong else x


class FeedForward:
    def __init__(self, rng, d_model, d_ff, wrong=()):
        self.w1, self.b1 = rng.normal(0, 0.5, (d_model, d_ff)), rng.normal(size=d_ff)
        self.w2, self.b2 = rng.normal(0, 0.5, (d_ff, d_model)), rng.normal(size=d_model)
        self.wrong = wrong

    def __call__(self, x):
        x = x @ self.w1 + self.b1
        x = (x if 23 in self.wrong else np.maximum(x, 0)) @ self.w2 + self.b2
        return np.maximum(x, 0) if 24 in self.wrong else x


class Block:
    wrong, norm_first, attentions = (), False, 1

    def __init__(self, d_model, num_heads, d_ff):
        rng = np.random.default_rng(5)
        self.attention = [
            Attention(rng, d_model, num_heads, self.wrong)
            for _ in range(self.attentions)
        ]
        self.feed_forward = FeedForward(rng, d_model, d_ff, self.wrong)
        self.norms = [
            Norm(rng, d_model, self.wrong) for _ in range(self.attentions + 1)
        ]

    def add(self, x, norm, sublayer):
        before = norm(x) if self.norm_first or 28 in self.wrong else x
        total = (before if 28 in self.wrong else x) + sublayer(before)
        return total if self.norm_first else norm(total)


class EncoderBlock(Block):
    def __call__(self, x, mask):
        mask = np.asarray(mask, bool)
        (attention,) = self.attention
        x = self.add(x, self.norms[0], lambda x: attention(x, x, x, mask))
        return self.add(x, self.norms[1], self.feed_forward)


class DecoderBlock(Block):
    attentions = 2

    def __call__(self, x, memory, look_ahead_mask, padding_mask):
        own, cross = self.attention
        mask = np.asarray(look_ahead_mask, bool)
        seen = np.asarray(padding_mask, bool)
        if 7 in self.wrong:
            seen = mask[:, :, -1:]

        def read(x):
            if 11 in self.wrong:
                return cross(memory, memory, x, seen)
            return cross(x, memory, memory, seen)

        x = self.add(x, self.norms[0], lambda x: own(x, x, x, mask))
        x = self.add(x, self.norms[1], read)
        return self.add(x, self.norms[2], self.feed_forward)


class EncoderStack:
    shared = False

    def __init__(self, d_model, num_heads, d_ff):
        self.layers = [EncoderBlock(d_model, num_heads, d_ff) for _ in range(3)]
        if self.shared:
            self.layers = self.layers[:1] * 3

    def __call__(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return x


def kind_of(block, **attributes):
    return type("Mine", (block,), attributes)


def numbers(wrong):
    return tuple(sorted({{"joint": 26, "n-1": 26}.get(one, one) for one in wrong}))


def with_norm_first(numbers):
    """pre-norm에서 정규화한 것을 잔차로 더하면 28이 아니라 45입니다."""
    return tuple(45 if number == 28 else number for number in numbers)


INSIDE = (2, 3, 8, 9, 10, 12, 23, 24, "joint", "n-1", 28)
#: 실수마다 두 쌍에 나옵니다. 열을 따라 씌우면 곱한 것(3)과 더한 것이 같아 9만 남습니다.
PAIRS = [*zip(INSIDE, INSIDE[2:] + INSIDE[:2])]
PAIRS.remove((3, 9))


BLOCKS = {"encoder_layer": EncoderBlock, "decoder_layer": DecoderBlock}
ONES = [("encoder_layer", one) for one in (None, *INSIDE)]
ONES += [("decoder_layer", one) for one in (None, 7, 11, *INSIDE)]


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("kind, one", ONES, ids=str)
def test_a_layer_is_told_what_is_wrong(kind, one, norm_first):
    wrong = () if one is None else (one,)
    mine = kind_of(BLOCKS[kind], wrong=wrong, norm_first=norm_first)
    report = check(mine, kind)
    known = with_norm_first(numbers(wrong)) if norm_first else numbers(wrong)
    assert report.mistakes == known, str(report)
    assert report.verdict == ("known" if wrong else "right")
    assert wrong or ("pre-norm" in str(report)) == norm_first


def test_an_encoder_layer_with_two_mistakes_is_told_both(subtests):
    for pair in PAIRS:
        with subtests.test(str(pair)):
            report = check(kind_of(EncoderBlock, wrong=pair), "encoder_layer")
            assert report.mistakes == numbers(pair), str(report)


def test_a_decoder_layer_with_two_mistakes_is_told_both(subtests):
    """크로스 어텐션의 실수 하나와, 층 안의 실수 하나."""
    for pair in [*((7, one) for one in INSIDE[::3]), (11, 12), (11, "joint")]:
        with subtests.test(str(pair)):
            report = check(kind_of(DecoderBlock, wrong=pair), "decoder_layer")
            assert report.mistakes == numbers(pair), str(report)


@pytest.mark.parametrize(
    "block, kind, wrong",
    [
        (DecoderBlock, "decoder_layer", (11, 12, 24)),
        (DecoderBlock, "decoder_layer", (7, 10, 23)),
        (EncoderBlock, "encoder_layer", (8, 12, 23, 24)),
        (DecoderBlock, "decoder_layer", (7, 8, 12, 23)),
    ],
    ids=str,
)
def test_many_mistakes_in_one_layer_are_told_together(block, kind, wrong):
    assert check(kind_of(block, wrong=wrong), kind).mistakes == wrong


def test_two_mistakes_that_look_like_one_are_named_as_the_one():
    """모두 가린 열은 점수가 0이어도 큰 음수여도 고릅니다."""
    mine = kind_of(EncoderBlock, wrong=(3, 9))
    assert check(mine, "encoder_layer").mistakes == (9,)


def test_one_layer_called_often_is_named():
    report = check(kind_of(EncoderStack, shared=True), "encoder_layer")
    assert report.mistakes == (25,)
    assert report.example.inputs == {"가중치를 가진 층": 1, "부른 횟수": 3}
    assert check(EncoderStack, "encoder_layer").passed


def test_the_other_polarity_is_right_when_it_is_said():
    mine = kind_of(EncoderBlock, wrong=(2,))
    assert check(mine, "encoder_layer", mask_true="hide").passed
    assert check(EncoderBlock, "encoder_layer", mask_true="hide").mistakes == (2,)


# ---------------------------------------------------------------- 올바른 남의 코드


class KerasLayer(keras.layers.Layer):
    """활성 함수와 너비를 바꾸어 보는 Keras의 층."""

    wide = False

    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        width = embed_dim if self.wide else embed_dim // num_heads
        self.attention = keras.layers.MultiHeadAttention(num_heads, width)
        self.wide_map = keras.layers.Dense(ff_dim, activation="gelu")
        self.narrow_map = keras.layers.Dense(embed_dim)
        self.first = keras.layers.LayerNormalization()
        self.second = keras.layers.LayerNormalization()
        self.drop = keras.layers.Dropout(rate)

    def call(self, x, mask=None, training=False):
        seen = self.attention(x, x, attention_mask=mask)
        x = self.first(x + self.drop(seen, training=training))
        x = x + self.drop(self.narrow_map(self.wide_map(x)), training=training)
        return self.second(x)


def ours(layer, **options):
    def make(d_model, num_heads, d_ff):
        config = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
        return layer(TransformerConfig(20, **config, num_layers=2, **options))

    return make


@pytest.mark.parametrize(
    "right, kind",
    [
        (KerasLayer, "encoder_layer"),
        (ours(EncoderLayer), "encoder_layer"),
        (ours(Encoder, norm_first=True, attention_bias=True), "encoder_layer"),
        (ours(DecoderLayer, norm_first=True), "decoder_layer"),
        (ours(Decoder), "decoder_layer"),
    ],
)
def test_honest_layers_pass(right, kind):
    report = check(right, kind)
    assert report.passed, str(report)


def test_heads_as_wide_as_the_model_are_named():
    report = check(kind_of(KerasLayer, wide=True), "encoder_layer")
    assert report.mistakes == (13,)
    assert all({13, 25} <= {*KINDS[kind].sees} for kind in BLOCKS)
    assert report.example.inputs == {"헤드의 수": 4, "헤드마다의 너비": 8}


# ---------------------------------------------------------------- 가중치를 읽지 못할 때


def hidden(block, change=lambda x, args: x):
    """가중치를 함수 안에 감춘 층. 값을 읽을 수 없습니다."""

    def make(d_model, num_heads, d_ff):
        layer = block(d_model, num_heads, d_ff)

        class Opaque:
            __slots__ = ()

            def __call__(self, *args):
                return change(layer(*args), args)

        return Opaque()

    return make


@pytest.mark.parametrize(
    "block, kind",
    [(EncoderBlock, "encoder_layer"), (DecoderBlock, "decoder_layer")],
)
def test_what_cannot_be_read_is_not_called_right(block, kind):
    report = check(hidden(block), kind)
    assert (report.verdict, report.passed, report.mistakes) == ("unjudged", False, ())
    assert "가중치를 읽지 못했습니다" in str(report) and "견주려면" in str(report)


def test_a_leak_between_sentences_is_not_a_frozen_batch():
    """3차원 마스크로는 배치가 하나일 때에만 실행되어, 굳은 것처럼 보입니다."""

    class Leaks(EncoderBlock):
        def __call__(self, x, mask):
            x = super().__call__(x, mask)
            return x + x.mean(0, keepdims=True) * (len(x) > 1)

    report = check(Leaks, "encoder_layer")
    assert (report.verdict, report.mistakes) == ("wrong", ()), str(report)
    assert "배치의 다른 문장" in str(report)


def test_a_list_of_sentences_is_read_as_a_batch():
    class Listed(EncoderBlock):
        def __call__(self, x, mask):
            return [*super().__call__(x, mask)]

    assert check(Listed, "encoder_layer").passed


def test_sizes_that_follow_from_the_others_are_filled_in():
    class Demanding(EncoderBlock):
        def __init__(self, d_model, d_ff, n_head, d_k, d_v, drop_prob):
            assert (d_k, d_v, drop_prob) == (d_model // n_head, d_k, 0)
            super().__init__(d_model, n_head, d_ff)

    assert check(Demanding, "encoder_layer").passed


def wired(wire):
    """인코더의 부품을 `wire(x, 어텐션, 정규화들, 피드포워드)`로 잇습니다."""

    class Wired(EncoderBlock):
        def __call__(self, x, mask):
            def attend(x, shown=None):
                shown = np.asarray(mask, bool) if shown is None else shown
                return self.attention[0](x, x, x, shown)

            return wire(x, attend, *self.norms, self.feed_forward)

    return Wired


def test_every_way_to_wire_a_layer_wrongly_is_named_or_called_unknown(subtests):
    wirings = {
        (48,): [
            lambda x, a, n1, n2, f: n2(f(n1(a(x)))),
            lambda x, a, n1, n2, f: n2(f(n1(x + a(x)))),
            lambda x, a, n1, n2, f: (lambda h: n2(h + f(h)))(n1(a(x))),
        ],
        (49,): [
            lambda x, a, n1, n2, f: n2(x + f(n1(x + a(x)))),
            lambda x, a, n1, n2, f: (lambda h: n2(2 * h + f(h)))(n1(x + a(x))),
        ],
        (50,): [
            lambda x, a, n1, n2, f: (lambda h: h + f(h))(x + a(x)),
            lambda x, a, n1, n2, f: (lambda h: n2(h + f(h)))(x + a(x)),
            lambda x, a, n1, n2, f: (lambda h: h + f(h))(n1(x + a(x))),
        ],
        (51,): [lambda x, a, n1, n2, f: (lambda h: n1(h + f(h)))(n1(x + a(x)))],
        (52,): [
            lambda x, a, n1, n2, f: n1(x + a(x)),
            lambda x, a, n1, n2, f: n2(x + f(x)),
            lambda x, a, n1, n2, f: (lambda h: n2(h + f(h)))(n1(x)),
        ],
        (53,): [
            lambda x, a, n1, n2, f: (lambda h: n1(h + a(h)))(n2(x + f(x))),
            lambda x, a, n1, n2, f: (lambda h: n2(h + a(h)))(n1(x + f(x))),
        ],
        (47,): [lambda x, a, n1, n2, f: (lambda h: n2(h + f(h)))(n1(x + a(x, True)))],
        # 논문의 층이 아니지만 목록에도 없습니다
        (): [
            lambda x, a, n1, n2, f: (lambda h: n2(h - f(h)))(n1(x + a(x))),
        ],
    }
    for known, wires in wirings.items():
        for place, wire in enumerate(wires):
            with subtests.test(f"{known} {place}"):
                report = check(wired(wire), "encoder_layer")
                assert report.mistakes == known and not report.passed, str(report)
                assert report.verdict == ("known" if known else "unjudged")


def test_a_decoder_layer_wired_wrongly_is_named(subtests):
    def first(self, x, mask):
        return self.norms[0](x + self.attention[0](x, x, x, mask))

    def no_self_mask(self, x, memory, mask, seen):
        x = first(self, x, np.ones_like(mask))
        x = self.norms[1](x + self.attention[1](x, memory, memory, seen))
        return self.norms[2](x + self.feed_forward(x))

    def stale_residual(self, x, memory, mask, seen):
        x = first(self, x, mask)
        h = self.norms[1](x + self.attention[1](x, memory, memory, seen))
        return self.norms[2](x + self.feed_forward(h))

    def one_attention(self, x, memory, mask, seen):
        x = first(self, x, mask)
        x = self.norms[1](x + self.attention[0](x, memory, memory, seen))
        return self.norms[2](x + self.feed_forward(x))

    for call, known in ((no_self_mask, 47), (stale_residual, 49), (one_attention, 25)):
        with subtests.test(call.__name__):
            wrong = type("Wired", (DecoderBlock,), {"__call__": call})
            report = check(wrong, "decoder_layer")
            assert report.mistakes == (known,), str(report)


def test_arrays_made_at_random_are_made_once():
    made = []

    class Parallel(EncoderBlock):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__(d_model, num_heads, d_ff)
            self.norms[0].gamma = np.random.uniform(0.5, 1.5, d_model)
            made.append(self)

        def __call__(self, x, mask):
            mask, normed = np.asarray(mask, bool), self.norms[0](x)
            attended = self.attention[0](normed, normed, normed, mask)
            return x + attended + self.feed_forward(normed)

    assert check(Parallel, "encoder_layer").verdict == "unjudged"
    assert len(made) == 1


def wired_decoder(wire):
    """디코더의 부품을 `wire(x, 셀프, 크로스, 정규화들, 피드포워드)`로 잇습니다."""

    class Wired(DecoderBlock):
        def __call__(self, x, memory, mask, memory_mask):
            own, cross = self.attention
            mask, seen = np.asarray(mask, bool), np.asarray(memory_mask, bool)

            def attend(x):
                return own(x, x, x, mask)

            def read(x, shown=None):
                return cross(x, memory, memory, seen if shown is None else shown)

            return wire(x, attend, read, *self.norms, self.feed_forward)

    return Wired


def test_every_way_to_wire_a_decoder_wrongly_is_named(subtests):
    def ended(h, n3, f):
        return n3(h + f(h))

    wirings = {
        47: lambda x, a, r, n1, n2, n3, f: ended(
            (lambda h: n2(h + r(h, True)))(n1(x + a(x))), n3, f
        ),
        48: lambda x, a, r, n1, n2, n3, f: ended(n2(r(n1(x + a(x)))), n3, f),
        50: lambda x, a, r, n1, n2, n3, f: ended(
            (lambda h: h + r(h))(n1(x + a(x))), n3, f
        ),
        52: lambda x, a, r, n1, n2, n3, f: ended(n1(x + a(x)), n3, f),
        53: lambda x, a, r, n1, n2, n3, f: ended(
            (lambda h: n1(h + a(h)))(n2(x + r(x))), n3, f
        ),
    }
    for number, wire in wirings.items():
        with subtests.test(str(number)):
            report = check(wired_decoder(wire), "decoder_layer")
            assert report.mistakes == (number,), str(report)


def test_each_example_shows_its_own_mistake_alone_and_always_the_same():
    mine = kind_of(EncoderBlock, wrong=(23, 24))
    report, again = (str(check(mine, "encoder_layer")) for _ in range(2))
    assert report == again
    shown = re.findall(r"이것만 고치면 나올 값.*?:\n(.*?)\n  나온 값", report, re.S)
    assert len(shown) == 2 and shown[0] != shown[1]
    assert "나와야 할 값" not in report


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda x, args: x + args[0].mean(1, keepdims=True), "패딩의 벡터"),
        (lambda x, args: x + np.arange(x.shape[1])[:, None], "자리의 차례"),
        (lambda x, args: args[0], "그대로입니다"),
        (lambda x, args: x + x[:1].mean() * (len(x) > 1), "배치의 다른 문장"),
        (lambda x, args: x[..., :-1], "모양은"),
    ],
)
def test_broken_properties_of_an_encoder_layer_are_described(change, sentence):
    report = check(hidden(EncoderBlock, change), "encoder_layer")
    assert not report.passed and report.mistakes == ()
    assert sentence in str(report)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda x, args: x + args[0].mean(1, keepdims=True), "뒤의 토큰"),
        (lambda x, args: x + args[1].mean(1, keepdims=True), "memory_mask"),
        (lambda x, args: args[0], "그대로입니다"),
    ],
)
def test_broken_properties_of_a_decoder_layer_are_described(change, sentence):
    report = check(hidden(DecoderBlock, change), "decoder_layer")
    assert not report.passed and report.mistakes == ()
    assert sentence in str(report)
