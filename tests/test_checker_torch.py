"""검사기가 PyTorch로 쓴 후보를 알아봅니다. torch가 없으면 이 파일은 건너뜁니다."""

import itertools

import pytest
from others import torch

from transformer_notes.checker import check

if torch is None:
    pytest.skip("torch가 없습니다", allow_module_level=True)

pytestmark = pytest.mark.extra
nn = torch.nn
torch.set_num_threads(1)


def named(subtests, what, make, numbers):
    """혼자 한 실수도, 둘을 함께 한 실수도, 하지 않은 것도 그대로 불립니다."""
    for count in range(3):
        for wrong in itertools.combinations(numbers, count):
            with subtests.test(str(wrong)):
                report = check(make(wrong), what)
                assert (report.passed, report.mistakes) == (not wrong, wrong)


def right(candidate, what, **options):
    report = check(candidate, what, **options)
    assert (report.passed, report.mistakes) == (True, ()), str(report)
    return report


# ---------------------------------------------------------------- 어텐션


def torch_batched(query, keys, values, mask):
    scores = torch.bmm(query, keys.transpose(1, 2)) / query.size(-1) ** 0.5
    return torch.bmm(scores.masked_fill(~mask, float("-inf")).softmax(-1), values)


class TorchModule(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(mask == 0, -1e9).softmax(-1)
        return self.dropout(weights) @ v, weights


@pytest.mark.parametrize(
    "candidate",
    [
        *(torch_batched, TorchModule, TorchModule(0.5)),
        nn.functional.scaled_dot_product_attention,
    ],
)
def test_honest_attention_is_right(candidate):
    right(candidate, "attention")


class Heads(nn.Module):
    """PyTorch로 멀티 헤드 어텐션을 쓰는 사람의 모듈."""

    def __init__(self, d_model, num_heads, wrong):
        super().__init__()
        self.count, self.wrong, self.batch = num_heads, wrong, None
        width = d_model * num_heads if 13 in wrong else d_model
        self.q, self.k, self.v = (nn.Linear(d_model, width) for _ in range(3))
        self.out = nn.Linear(width, d_model)
        self.drop = nn.Dropout(0.3)

    def split(self, x, batch):
        if 10 in self.wrong:
            return x.reshape(batch, self.count, -1, x.shape[-1] // self.count)
        return x.reshape(batch, -1, self.count, x.shape[-1] // self.count).transpose(
            1, 2
        )

    def forward(self, query, key, value, mask):
        wrong = self.wrong
        self.batch = self.batch or len(query)
        batch = self.batch if 41 in wrong else len(query)
        if 11 in wrong:
            query, key, value = key, value, query
        q = self.split(self.q(query), batch)
        k, v = self.split(self.k(key), batch), self.split(self.v(value), batch)
        scores = q @ k.transpose(-1, -2)
        scores = scores if 8 in wrong else scores / q.shape[-1] ** 0.5
        mask = mask.transpose(-1, -2) if 5 in wrong else mask
        mask = mask == (2 not in wrong)
        if 3 in wrong:
            scores = scores * mask
        else:
            scores = scores.masked_fill(~mask, -1e9)
        weights = scores.softmax(-2 if 9 in wrong else -1)
        dropped = self.drop(weights)
        joined = (dropped @ v).transpose(1, 2).flatten(2)
        output = self.out(joined)
        output = output.relu() if 12 in wrong else output
        return output, dropped if 14 in wrong else weights


HEADS, MASK = "multi_head_attention", "padding_mask"
SEEN = (2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 41)


def heads_with(wrong):
    return lambda d_model, num_heads: Heads(d_model, num_heads, wrong)


@pytest.mark.parametrize("number", SEEN)
def test_a_mistake_of_heads_is_named(number):
    assert check(heads_with((number,)), HEADS).mistakes == (number,)


def test_two_mistakes_of_heads_are_both_named(subtests):
    """실수마다 두 번 나옵니다."""
    assert check(heads_with(()), HEADS).passed
    for wrong in map(sorted, zip(SEEN, SEEN[2:] + SEEN[:2])):
        with subtests.test(str(wrong)):
            assert [*check(heads_with(wrong), HEADS).mistakes] == wrong


class FusedByHead(nn.Module):
    """헤드마다 쿼리, 키, 값을 나란히 담고, 헤드의 축을 뒤에 둡니다."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)

    def forward(self, q, k, v, mask):
        b, d = len(q), q.shape[-1]
        parts = [
            self.qkv(x).view(b, -1, self.heads, 3, d // self.heads) for x in (q, k, v)
        ]
        q, k, v = (part[..., i, :].transpose(1, 2) for i, part in enumerate(parts))
        output = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(output.transpose(1, 2).reshape(b, -1, d))


@pytest.mark.parametrize("candidate", [FusedByHead, FusedByHead(16, 4)])
def test_honest_heads_are_right_however_the_weights_are_kept(candidate):
    assert "성질만" not in str(right(candidate, HEADS))


def test_a_ready_module_keeps_its_weights_and_its_mode():
    module = FusedByHead(16, 4).train()
    before = [weight.clone() for weight in module.parameters()]
    check(module, HEADS)
    assert module.training
    assert all(map(torch.equal, before, module.parameters()))


def test_the_shape_of_a_mask_is_told_in_numbers():
    assert "모양은 (1, 2)로" in str(right(lambda ids: torch.tensor(ids) != 0, MASK))


# ---------------------------------------------------------------- 임베딩, 피드포워드


class TorchTable(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.table = nn.Embedding(vocab, d_model, padding_idx=0)
        self.root = d_model**0.5

    def forward(self, tokens):
        return self.table(tokens) * self.root


@pytest.mark.parametrize("candidate", [TorchTable, TorchTable(8, 20)])
def test_honest_embeddings_are_right(candidate):
    right(candidate, "embedding")


def test_an_embedding_left_alone_is_mistake_22():
    assert check(nn.Embedding(7, 5), "embedding").mistakes == (22,)


class Net(nn.Module):
    def __init__(self, d_model, d_ff, wrong=(), frozen=None):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model, False)
        self.wrong, self.frozen = wrong, frozen

    def forward(self, x):
        if 41 in self.wrong:
            self.frozen = self.frozen or len(x)
            x = x.reshape(self.frozen, -1, x.shape[-1])
        hidden = self.up(x)
        hidden = hidden if 23 in self.wrong else hidden.clamp(min=0)
        output = self.down(hidden)
        return output.relu() if 24 in self.wrong else output


def test_mistakes_of_feed_forward_are_named_alone_and_together(subtests):
    def make(wrong):
        return lambda d_model, d_ff: Net(d_model, d_ff, wrong)

    named(subtests, "feed_forward", make, (23, 24, 41))


@pytest.mark.parametrize(
    "candidate",
    [
        *(Net, Net(8, 32)),
        nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Dropout(0.5), nn.Linear(9, 6)),
    ],
)
def test_honest_feed_forward_is_right(candidate):
    assert "성질만" not in str(right(candidate, "feed_forward"))


def test_another_activation_is_none_of_the_known_mistakes():
    candidate = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 6))
    report = check(candidate, "feed_forward")
    assert (report.passed, report.mistakes) == (False, ())


# ---------------------------------------------------------------- 층 정규화


class Block(nn.Module):
    def __init__(self, d_model, wrong, how, epsilon=1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        self.wrong, self.how, self.epsilon = wrong, how, epsilon
        self.drop = nn.Dropout(0.3)

    def norm(self, x):
        how = self.how if 26 in self.wrong else ""
        axes = (-2, -1) if how == "axes" else (-1,)
        variance = x.var(axes, keepdim=True, correction=int("n-1" in how))
        spread = (variance + self.epsilon).sqrt()
        if "outside" in how:
            spread = variance.sqrt() + self.epsilon
        return (x - x.mean(axes, keepdim=True)) / spread * self.gain + self.shift

    def forward(self, x, sublayer_output):
        before = sublayer_output if 27 in self.wrong else self.drop(sublayer_output)
        x = self.norm(x) if 28 in self.wrong else x
        output = self.norm(x + before)
        return self.drop(output) if 27 in self.wrong else output


@pytest.mark.parametrize("how", ["axes", "n-1", "outside", "n-1 outside"])
def test_mistakes_of_norms_are_named_alone_and_together(subtests, how):
    def make(wrong):
        return lambda d_model: Block(d_model, wrong, how)

    named(subtests, "add_norm", make, (26, 27, 28))


@pytest.mark.parametrize("epsilon", [1e-3, 1e-5, 1e-9, 1e-12])
def test_honest_norms_are_right_with_any_epsilon(epsilon):
    right(lambda d_model: Block(d_model, (), "", epsilon), "add_norm")


# ---------------------------------------------------------------- 층


def of_torch(layer, norm_first):
    def make(d_model, num_heads, d_ff):
        return layer(d_model, num_heads, d_ff, batch_first=True, norm_first=norm_first)

    return make


def torch_encoder(layer, x, mask):
    return layer(x, src_key_padding_mask=~mask.reshape(len(x), -1).bool())


def torch_decoder(layer, x, memory, mask, memory_mask):
    mask = ~mask.reshape(len(x), x.shape[1], -1).bool()
    return layer(
        x,
        memory,
        tgt_mask=mask.repeat_interleave(layer.self_attn.num_heads, dim=0),
        memory_key_padding_mask=~memory_mask.reshape(len(x), -1).bool(),
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_honest_encoder_layers_pass(norm_first):
    layer = of_torch(nn.TransformerEncoderLayer, norm_first)
    right(layer, "encoder_layer", adapter=torch_encoder)


def test_honest_decoder_layers_pass():
    layer = of_torch(nn.TransformerDecoderLayer, False)
    right(layer, "decoder_layer", adapter=torch_decoder)


def test_a_finished_layer_is_judged_with_the_weights_it_has():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    report = check(layer, "encoder_layer", adapter=torch_encoder)
    assert report.passed and "성질만" not in str(report)


# ---------------------------------------------------------------- 손실


def torch_loss(logits, target):
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=0
    )


def test_the_arguments_may_come_in_the_other_order_when_their_names_tell():
    assert check(torch_loss, "loss").passed


def test_a_loss_of_torch_with_its_own_smoothing_gives_mass_to_padding():
    def loss(labels, logits, label_smoothing=0.1):
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten().long(),
            ignore_index=0,
            label_smoothing=label_smoothing,
        )

    assert check(loss, "loss").mistakes == (33,)
