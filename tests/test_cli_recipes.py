"""명령줄이 지키는 약속: 글을 분류하는 레시피와 대화의 레시피."""

import re
import shutil
from pathlib import Path

import chatbot
import classification
import numpy as np
import pytest
import translation
from command_line import refuse, run

from transformer_notes import corpora, training
from transformer_notes.classification import Classifier
from transformer_notes.cli import answers as cli_answers
from transformer_notes.cli import run_folder
from transformer_notes.cli.recipes import RECIPES
from transformer_notes.tokenization import Tokenizer

TINY = (
    "--d-model 16 --num-heads 2 --d-ff 32 --num-layers 1 --tokens 512 --dropout 0 "
    "--warmup-steps 20"
).split()
GOOD, BAD = ["좋은", "멋진", "즐거운"], ["나쁜", "지루한", "아까운"]
THINGS = [
    "영화",
    "노래",
    "책",
    "하루",
    "여행",
    "이야기",
    "그림",
    "사진",
    "음식",
    "날씨",
]


def write_reviews(path, labels=("긍정", "부정")):
    lines = (
        f"정말{'!' * (1 + n % 5)}  {word} {thing}\t{label}\n"
        for label, words in zip(labels, (GOOD, BAD))
        for word in words
        for n, thing in enumerate(THINGS)
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    data = write_reviews(tmp_path_factory.mktemp("data") / "reviews.tsv")
    folder = tmp_path_factory.mktemp("runs") / "reviews"
    asked = "--recipe", "classification", "--data", data, *TINY
    sizes = "--epochs", 40, "--learning-rate", 0.01, "--label-smoothing", 0
    result = run("train", folder, *asked, *sizes, "--vocab-size", 100)
    assert f"classify --model {folder}" in result.stdout
    return folder


def test_a_run_folder_of_reviews_holds_its_labels(reader):
    record = run_folder.read(reader)
    assert record.recipe == "classification"
    assert record.labels == ["긍정", "부정"]
    tokenizer, model = run_folder.open_model(reader, record)
    assert isinstance(model, Classifier) and model.num_labels == 2
    assert tokenizer.normalize("정말!!!!!   좋은") == "정말!! 좋은"
    assert not {"긍", "부"} & set(tokenizer.vocabulary)  # 답은 글이 아닙니다
    assert "이미 끝난" in run("train", reader).stdout


def test_scores_of_labels_equal_a_plain_loop(reader):
    tokenizer, model = run_folder.open_model(reader, run_folder.read(reader))
    lines = (reader / "held_out.tsv").read_text("utf-8").splitlines()
    hits, losses = [], []
    for text, label in (line.split("\t") for line in lines):
        ids = tokenizer.encode([text], eos=True)
        logits = model((ids, ids[:, :1])).numpy()[0, 0, 1:].astype(float)
        wanted = ["긍정", "부정"].index(label)
        hits.append(logits.argmax() == wanted)
        losses.append(np.log(np.exp(logits).sum()) - logits[wanted])
    shown = run("evaluate", reader).stdout
    pattern = (
        r"짝 +(\d+)개\n손실 +([\d.]+) \(스무딩 없이\)\n정확도 +([\d.]+)%\n"
        r"늘 같은 답 ([\d.]+)% \('[긍부]정'\)\n"
    )
    count, loss, accuracy, same = map(float, re.fullmatch(pattern, shown).groups())
    assert (count, accuracy) == (len(lines), round(100 * np.mean(hits), 2))
    good = sum(line.endswith("긍정") for line in lines)
    assert same == round(100 * max(good, len(lines) - good) / len(lines), 2)
    assert loss == pytest.approx(np.mean(losses), abs=1e-4)
    assert accuracy > 90  # 그렇지 않으면 시험이 되지 않습니다
    assert "--beam" in refuse("evaluate", reader, "--beam", 2)


def test_a_folder_classifies_texts(reader):
    texts = "정말 멋진 영화", "정말 지루한 영화"
    for which in ("newest", "best", "average:2"):
        asked = "classify", "--model", reader, "--checkpoint", which
        lines = run(*asked, *texts).stdout.splitlines()
        assert [line.split("\t")[0] for line in lines] == ["긍정", "부정"]
    asked = "classify", "--model", reader, "--checkpoint", "average:99"
    assert "--checkpoint" in refuse(*asked, texts[0])
    line = refuse("translate", reader, texts[0])
    assert str(reader) in line and "classify" in line


def test_labels_that_were_not_learned_are_left_out(reader, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("정말 멋진 책\t긍정\n정말 책\t글쎄\n", encoding="utf-8")
    result = run("evaluate", reader, "--data", path)
    assert "1개" in result.stderr
    assert result.stdout.startswith("짝         1개\n")
    path.write_text("정말 책\t글쎄\n", encoding="utf-8")
    run("evaluate", reader, "--data", path, code=2)


def test_labels_that_were_exchanged_are_noticed(reader, tmp_path):
    folder = Path(shutil.copytree(reader, tmp_path / "copied"))
    path = folder / "run.json"
    text = path.read_text("utf-8")
    for label, other in (("긍정", "부정"), ("긍정", "긌정")):
        path.write_text(text.replace(label, other), encoding="utf-8")
        assert str(path) in refuse("classify", "--model", folder, "책", code=1)


def test_labels_that_are_numbers_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "train", lambda *given, **how: None)
    data = write_reviews(tmp_path / "x.tsv", labels=("10", "9"))
    once = "--recipe", "classification", "--data", data, *TINY, "--epochs", 1
    run("train", tmp_path / "run", *once)
    assert run_folder.read(tmp_path / "run").labels == ["9", "10"]
    same = write_reviews(tmp_path / "y.tsv", labels=("1", "1"))
    asked = "--recipe", "classification", "--data", same
    assert "레이블" in refuse("train", tmp_path / "no", *asked)


def test_the_chatbot_learns_the_bundled_conversations(tmp_path, monkeypatch):
    folder = tmp_path / "chat"
    run("train", folder, "--recipe", "chatbot", *TINY, "--epochs", 1)
    record = run_folder.read(folder)
    assert (record.recipe, record.data, record.labels) == ("chatbot", None, None)
    own = RECIPES["chatbot"].settings
    assert record.settings["vocab_size"] == own["vocab_size"]
    assert record.settings["epochs"] == 1 != own["epochs"]

    talks = {talk[:2] for talk in corpora.conversations()}
    lines = (folder / "held_out.tsv").read_text("utf-8").splitlines()
    held_out = {tuple(line.split("\t")) for line in lines}
    assert held_out < talks and len(held_out) >= 0.1 * len(talks)
    read = Tokenizer.load(folder / "tokenizer.json").normalize
    for place in (0, 1):
        sides = [
            {read(talk[place]) for talk in side}
            for side in (held_out, talks - held_out)
        ]
        assert not sides[0] & sides[1]
    assert "이미 끝난" in run("train", folder).stdout
    assert "--data" in refuse("train", folder, "--data", folder / "run.json")
    assert len(run("translate", folder, "안녕?").stdout.splitlines()) == 1

    # 답은 토크나이저가 읽는 꼴로 견줍니다. 그보다 더 줄인 것은 틀린 답입니다.
    asked = tmp_path / "asked.tsv"
    asked.write_text("안녕?\t네!!!!  좋아요\n잘 자\t네!!\n", encoding="utf-8")
    said = {"안녕?": "네!! 좋아요", "잘 자": "네!"}
    monkeypatch.setattr(
        cli_answers,
        "reply",
        lambda model, tokenizer, texts, **how: [
            cli_answers.Reply(said[text], True, None, [], 1.0) for text in texts
        ],
    )
    assert "50.00% (1개)" in run("evaluate", folder, "--data", asked).stdout


def of_the_page(settings, norm_first, **chosen):
    """쪽의 프로그램이 쓰는 설정을 레시피의 이름으로."""
    return settings | chosen | {"norm": "pre" if norm_first else "post"}


layers, rate, norm = chatbot.LONG["cell"]
picked = classification.CHOICES["transformer"][classification.CHOSEN["transformer"]]
PAGES = {
    "chatbot": of_the_page(
        chatbot.SETTINGS,
        norm == "pre",
        num_layers=layers,
        dropout=rate,
        epochs=chatbot.LONG["epochs"],
    ),
    "classification": of_the_page(
        classification.TRAINING | classification.SIZES,
        classification.SIZES["norm_first"],
        dropout=picked["dropout"],
        learning_rate=picked["peak"],
    ),
    "translation": of_the_page(
        translation.SETTINGS,
        translation.SETTINGS["norm_first"],
        learning_rate=translation.SETTINGS["peak"],
    ),
}


def test_a_recipe_trains_as_the_program_of_its_page():
    model = {"d_model", "num_heads", "num_layers", "d_ff", "norm", "dropout"}
    for name, page in PAGES.items():
        settings = RECIPES[name].settings
        named = settings.keys() & page.keys()
        assert model | {"vocab_size", "tokens", "epochs"} <= named
        for key in named:
            assert settings[key] == page[key], (name, key)
