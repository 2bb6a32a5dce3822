"""명령 `evaluate`: 답을 아는 짝으로 채점합니다."""

import sys
from collections import Counter

import click

from transformer_notes.cli import answers, pairs, run_folder
from transformer_notes.cli.korean import Command, as_bad_input, put, require, warn
from transformer_notes.cli.options import (
    DATA,
    beam_option,
    checkpoint_option,
    run_folder_argument,
)


@click.command(cls=Command)
@run_folder_argument
@click.option("--data", type=DATA, help="채점할 파일. [기본값: 떼어 둔 짝]")
@beam_option
@checkpoint_option
def evaluate(folder, data, beam_size, checkpoint):
    """학습에서 떼어 둔 짝으로 채점합니다.

    완전 일치는 답이 한 글자도 다르지 않은 비율입니다. 손실과 정확도는
    정답의 토큰마다 재어 평균합니다. 패딩은 어디에도 세지 않습니다.
    글을 분류하는 모델에서는 정확도가 레이블을 맞힌 비율이고, 가장 흔한
    레이블로만 답할 때의 정확도를 함께 적습니다.

    예:
      transformer-notes evaluate runs/dates
      transformer-notes evaluate runs/dates --beam 4 --checkpoint average:5
      transformer-notes evaluate runs/my --data test.tsv
    """
    record = run_folder.read(folder)
    labels = record.labels
    require(
        not labels or beam_size is None,
        "--beam은 글로 답하는 모델의 것입니다. 빼 주세요.",
    )
    path = run_folder.whole(folder, record, "held_out.tsv") if data is None else data
    with as_bad_input():
        rows, _ = pairs.read(path)
    tokenizer, model = run_folder.open_model(folder, record, checkpoint)
    given = [(pairs.readable(tokenizer, row.source), row.target) for row in rows]
    longest = record.settings["max_length"]
    kept, ids = pairs.encode(tokenizer, given, longest, labels)
    require(
        ids,
        f"{path}에는 채점할 짝이 남지 않았습니다. {longest}토큰 이하인 짝을 주세요.",
    )
    unknown = tokenizer.unknown_characters([source for source, _ in given])
    if unknown:
        warn(
            "학습에서 보지 못한 글자가 있습니다: "
            f"{pairs.shortened(' '.join(unknown))}. <unk>로 읽습니다."
        )

    from transformer_notes import training

    longest = max(len(row) for pair in ids for row in pair)
    batches = training.Batches(ids, tokens=answers.BATCH * longest)
    loss, accuracy = training.evaluate(model, batches)
    put(f"짝         {len(ids):,}개")
    if not labels:
        right = _count_exact(model, tokenizer, kept, beam_size)
        put(f"완전 일치  {100 * right / len(ids):.2f}% ({right:,}개)")
    put(f"손실       {loss:.4f} (스무딩 없이)")
    put(f"정확도     {100 * accuracy:.2f}%")
    if labels:
        ((label, most),) = Counter(label for _, label in kept).most_common(1)
        put(f"늘 같은 답 {100 * most / len(kept):.2f}% ({label!r})")


def _count_exact(model, tokenizer, kept, beam_size):
    """답이 한 글자도 다르지 않은 짝의 수."""
    sources, targets = zip(*sorted(kept, key=lambda pair: len(pair[0])))
    replies, shown = [], sys.stderr.isatty()
    with click.progressbar(
        length=len(sources), label="채점", file=sys.stderr, hidden=not shown
    ) as bar:
        for group in pairs.groups(sources, answers.BATCH):  # 비슷한 길이끼리 옮깁니다
            replies += answers.reply(model, tokenizer, group, beam_size=beam_size)
            bar.update(len(group))
    answers.warn_unfinished(replies)
    # 모르는 글자가 든 정답은 맞힐 수 없습니다. 답의 글자는 모두 어휘 집합의 것입니다.
    wanted = map(tokenizer.normalize, targets)
    return sum(answer.text == target for answer, target in zip(replies, wanted))
