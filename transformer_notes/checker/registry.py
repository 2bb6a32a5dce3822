"""검사하는 것의 목록. 하나를 보태면 여기에 올립니다."""

from transformer_notes.checker.attention import Attention
from transformer_notes.checker.blocks import AddNorm, Embedding, FeedForward
from transformer_notes.checker.decoding import BeamSearch, Greedy
from transformer_notes.checker.heads import MultiHeadAttention
from transformer_notes.checker.layers import DecoderLayer, EncoderLayer
from transformer_notes.checker.losses import Accuracy, Loss
from transformer_notes.checker.masks import LookAheadMask, PaddingMask
from transformer_notes.checker.positions import PositionalEncoding
from transformer_notes.checker.pretraining import MaskTokens
from transformer_notes.checker.schedule import Schedule

#: 이름과 `Kind`.
KINDS = {
    kind.name: kind
    for kind in (
        PositionalEncoding(),
        PaddingMask(),
        LookAheadMask(),
        Attention(),
        MultiHeadAttention(),
        FeedForward(),
        AddNorm(),
        Embedding(),
        Loss(),
        Accuracy(),
        Schedule(),
        MaskTokens(),
        EncoderLayer(),
        DecoderLayer(),
        Greedy(),
        BeamSearch(),
    )
}
