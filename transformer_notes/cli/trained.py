"""학습한 것을 엽니다: 학습 폴더, 또는 함께 온 모델."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from transformer_notes.cli import answers, run_folder
from transformer_notes.cli.korean import as_bad_input, require, start_tensorflow
from transformer_notes.cli.recipes import RECIPES


class Trained(NamedTuple):
    """명령이 쓰는 모델과, 받을 글의 한도."""

    tokenizer: object
    model: object
    #: `models.files.TASKS` 가운데 하나.
    task: str
    #: 받을 가장 긴 글, 토큰.
    max_length: int
    #: 학습한 가장 긴 글, 토큰. 모르면 None입니다.
    longest_source: int | None
    #: 레이블의 이름. 글을 분류하는 모델에만 있습니다.
    labels: list | None
    #: 거절하고 되물을 조건.
    rules: dict


def split(words, name):
    """적힌 인자를 `(RUN_FOLDER, TEXT의 목록)`으로 나눕니다.

    --model을 주었으면 모두 TEXT이고 폴더는 None입니다.
    """
    if name is None:
        require(
            words, "RUN_FOLDER이(가) 빠졌습니다. 학습 폴더를 적거나 --model을 주세요."
        )
        return Path(words[0]), words[1:]
    first = "".join(words[:1])
    require(
        # 긴 글은 파일의 이름이 되지 못해, Path.exists는 예외를 냅니다
        not first or not os.path.exists(os.path.join(first, "run.json")),
        f"RUN_FOLDER와 --model은 함께 쓰지 않습니다. 받은 것: {first}와 {name}.",
    )
    return None, words


def open_folder(folder, checkpoint=1):
    """학습 폴더의 모델."""
    record = run_folder.read(folder)
    tokenizer, model = run_folder.open_model(folder, record, checkpoint)
    task = RECIPES[record.recipe].task
    return Trained(
        tokenizer,
        model,
        task,
        max_length=record.settings["max_length"],
        longest_source=record.longest_source,
        labels=record.labels,
        rules=rules_of(task, tokenizer),
    )


def open_model(name, checkpoint=1):
    """함께 온 모델이나 모델 파일. 학습 폴더여도 됩니다."""
    folder = Path(name)
    if (folder / "run.json").exists():  # 이름만 같은 다른 폴더가 있을 수도 있습니다
        return open_folder(folder, checkpoint)
    require(checkpoint == 1, "--checkpoint는 학습 폴더의 것입니다. 빼 주세요.")
    start_tensorflow()
    from transformer_notes import models

    with as_bad_input():
        found = models.load(name)
    room = 0 if found.task == "classify" else run_folder.MAX_EXTRA
    return Trained(
        found.tokenizer,
        found.model,
        found.task,
        max_length=found.model.config.max_length - room,
        longest_source=found.card.get("longest_source"),
        labels=found.card.get("labels"),
        rules=answers.REMARKS["rules"][found.task]
        if name in models.available()
        else rules_of(found.task, found.tokenizer),
    )


def rules_of(task, tokenizer):
    """독자가 학습한 모델의 조건. 함께 온 모델에서 잰 문턱은 날짜의 것만 씁니다."""
    rules = answers.REMARKS["rules"][task]
    if task == "dates":
        return rules
    if task == "chat" and any(
        re.search(rules["refuse"][0], token) for token in tokenizer.vocabulary
    ):
        return {key: rules[key] for key in ("refuse", "idioms", "heavy")}
    return {}
