"""답이 글의 어디를 보았는지 그립니다: `translate`와 `chat`이 씁니다."""

from transformer_notes._files import replacing
from transformer_notes.cli import answers
from transformer_notes.cli.korean import require, say

LARGEST = 64  # 그림에 그릴 토큰의 수


def draw_attention(path, model, tokenizer, text, answer_ids):
    """마지막 층의 크로스 어텐션을 헤드에 걸쳐 평균하여 파일로 그립니다."""
    import matplotlib
    import numpy as np

    from transformer_notes.figures import plotting

    hidden, (spans,) = tokenizer.hide([text])
    source_ids = tokenizer.encode(hidden, eos=True)
    target_ids = answer_ids[np.newaxis]
    longest = max(source_ids.shape[1], target_ids.shape[1])
    require(
        longest <= LARGEST,
        f"어텐션은 입력도 답도 {LARGEST}토큰 이하일 때 그립니다. 받은 것: "
        f"{longest}토큰. 더 짧은 글로 해 보세요.",
    )
    shifted = np.concatenate([[[tokenizer.bos_id]], target_ids[:, :-1]], axis=1)
    decoded = model.decode(shifted, model.encode(source_ids), return_weights=True)
    weights = decoded.weights[-1].cross_attention[0].numpy().mean(axis=0)
    source, target = (
        answers.names(tokenizer, ids[0], spans) for ids in (source_ids, target_ids)
    )
    drawn = plotting.attention_heatmap(weights, target, source, "크로스 어텐션")
    with replacing(path) as partial, matplotlib.rc_context(plotting.style()):
        drawn.savefig(partial)
    say(f"그렸습니다: {path}")
