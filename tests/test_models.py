"""함께 온 모델과 그 파일이 지키는 약속."""

import dataclasses
import errno
import functools
import hashlib
import importlib
import json
import os
import pickle
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from layers import random_weights
from shipping import ship

from transformer_notes import classification, corpora, decoding, models, training
from transformer_notes.classification import Classifier
from transformer_notes.figures.results import Results
from transformer_notes.models import files
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ["나는 어제 책을 읽었다", "책을 샀다", "어제 나는 책을 샀다"]
ODD_CARDS = {"labels": ["하나"]}, {"labels": ["같다"] * 2}, {}
CARD = {"command": "python 나.py", "scores": {"loss": 0.5}, "labels": ["부정", "긍정"]}


@functools.cache
def tokenizer():
    return Tokenizer.train(TEXTS, 40)


@functools.cache  # 시험은 가중치를 고치지 않으므로 한 번만 만듭니다
def network(task="translate", **changes):
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 12} | changes
    config = TransformerConfig(tokenizer().vocab_size, **sizes)
    model = Classifier(config, 2) if task == "classify" else Transformer(config)
    model.build()
    return random_weights(model)


def stored(path, task="translate", **changes):
    files.write(path, network(task, **changes), tokenizer(), task, CARD)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("models") / "good.safetensors")


def refused(path):
    """읽기를 거절하는 한 문장."""
    with pytest.raises(ValueError) as info:
        files.read(path)
    (line,) = str(info.value).splitlines()
    assert line.startswith(f"온전한 모델 파일이 필요합니다. 받은 것: {path} (")
    return line


SEAL = re.compile(rb'(?<=\\"sha256\\": \\")[0-9a-f]{64}')


def sealed(content):
    """해시를 맞게 고쳐 적습니다. 손상이 아니라 다른 프로그램이 쓴 파일입니다."""
    content = SEAL.sub(b"0" * 64, content, count=1)
    return SEAL.sub(hashlib.sha256(content).hexdigest().encode(), content, count=1)


def forged(good, path, change):
    """머리말과 텐서를 고치고 해시까지 맞춘 파일."""
    content = good.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    note = json.loads(header["__metadata__"]["transformer_notes"])
    tensors = safetensors.numpy.load(content)
    change(note, tensors)
    note = json.dumps(note, ensure_ascii=False)
    forged = safetensors.numpy.save(tensors, {"transformer_notes": note})
    path.write_bytes(sealed(forged))
    return path


# --- 8비트 --------------------------------------------------------------------------

matrices = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=3, max_side=6),
    elements=st.floats(-(2**20), 2**20, width=32, allow_subnormal=False),
)


@given(matrices)
def test_every_weight_comes_back_within_half_a_step_of_its_row(weight):
    q, scale = files.quantise(weight)
    assert q.dtype == np.int8 and scale.dtype == np.float32
    assert q.shape == weight.shape and scale.shape == (*weight.shape[:-1], 1)
    assert (np.abs(q * scale - weight) <= 0.501 * scale).all()
    assert (np.abs(q).max(axis=-1) == 127 * (scale[..., 0] > 0)).all()


@given(matrices)
def test_quantising_is_symmetric_and_a_second_time_changes_nothing(weight):
    q, scale = files.quantise(weight)
    opposite, same_scale = files.quantise(-weight)
    np.testing.assert_array_equal(opposite, -q)
    np.testing.assert_array_equal(same_scale, scale)
    np.testing.assert_array_equal(files.quantise(q * scale)[0], q)


def test_a_weight_that_is_no_number_is_refused():
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="weight"):
            files.quantise([[1.0, bad]])


# --- 쓰고 읽기 -----------------------------------------------------------------------


def test_a_file_brings_back_the_model_its_words_and_its_card(tmp_path):
    for task, changes in (
        ("translate", {}),
        ("chat", {"tie_embeddings": False, "attention_bias": True}),
        ("dates", {"positions": "learned", "norm_first": True, "key_dim": 3}),
        ("classify", {"positions": "learned", "max_length": 20}),
    ):
        path = stored(tmp_path / "m.safetensors", task, **changes)
        model, words, found_task, card = files.read(path)
        original = network(task, **changes)
        assert type(model) is type(original) and model.config == original.config
        assert (found_task, card) == (task, CARD)
        assert words.vocabulary == tokenizer().vocabulary
        for ours, theirs in zip(original.weights, model.weights, strict=True):
            if ours.ndim >= 2:
                ours = np.multiply(*files.quantise(ours))
            np.testing.assert_array_equal(theirs, ours)


def test_answers_are_those_of_the_rounded_weights(tmp_path):
    path = stored(tmp_path / "m.safetensors")
    found = models.load(path)
    rounded = Transformer(network().config)
    rounded.build()
    weights = [w.numpy() for w in network().weights]
    rounded.set_weights(
        [w if w.ndim < 2 else np.multiply(*files.quantise(w)) for w in weights]
    )
    for how in ({}, {"beam_size": 2}, {"temperature": 1.0, "seed": 3}):
        expected = decoding.translate(rounded, tokenizer(), TEXTS, **how)
        assert [a.text for a in found.translate(TEXTS, **how)] == [
            a.text for a in expected
        ]
    path = stored(tmp_path / "c.safetensors", "classify")
    model, words, *_ = files.read(path)
    expected = classification.classify(model, words, TEXTS)
    np.testing.assert_array_equal(models.load(path).classify(TEXTS), expected)


def test_the_same_model_is_written_in_the_same_bytes(good, tmp_path):
    again = stored(tmp_path / "again.safetensors")
    assert again.read_bytes() == good.read_bytes()


def test_most_of_the_file_is_one_byte_a_weight(tmp_path):
    path = stored(tmp_path / "m.safetensors", d_model=64, d_ff=512)
    count = network(d_model=64, d_ff=512).count_params()
    assert count < path.stat().st_size < 1.2 * count


def test_any_safetensors_reader_sees_what_is_inside(good):
    with safetensors.safe_open(good, "np") as opened:
        note = json.loads(opened.metadata()["transformer_notes"])
        kinds = {opened.get_tensor(name).dtype.name for name in opened.keys()}
    assert kinds == {"int8", "uint8", "float32"}
    assert list(note) == ["format", "sha256", "task", "config", "card"]
    assert TransformerConfig(**note["config"]) == network().config


def test_a_failed_write_leaves_the_old_file(good, tmp_path, monkeypatch):
    replace = os.replace

    def full(source, target):
        if Path(target).parent == tmp_path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    path = stored(tmp_path / "m.safetensors", "dates")
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError):
        stored(path)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [
        (path.name, before)
    ]


def test_a_model_over_six_megabytes_is_not_written(tmp_path):
    config = TransformerConfig(
        tokenizer().vocab_size, d_model=512, d_ff=2048, num_layers=1
    )
    with pytest.raises(ValueError, match=r"6,000,000바이트.*받은 것: [0-9,]+바이트"):
        files.write(tmp_path / "m", Transformer(config), tokenizer(), "chat", {})
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_belong_together_is_not_written(tmp_path):
    classifier = network("classify")
    other = Transformer(dataclasses.replace(network().config, vocab_size=99))
    broken = Transformer(network().config)
    broken.build()
    gamma = next(weight for weight in broken.weights if weight.name == "gamma")
    gamma.assign(np.full(gamma.shape, np.nan))
    for model, task, card, named in (
        (broken, "chat", CARD, "weight"),
        (network(), "paint", CARD, "task"),
        (network(), "classify", CARD, "task"),
        (classifier, "chat", CARD, "task"),
        (other, "chat", CARD, "model"),
        (network(), "chat", {"loss": float("nan")}, "float"),
        *((classifier, "classify", odd, "labels") for odd in ODD_CARDS),
    ):
        with pytest.raises(ValueError, match=named):
            files.write(tmp_path / "m", model, tokenizer(), task, card)
        assert list(tmp_path.iterdir()) == []


# --- 망가진 파일, 다른 파일 ----------------------------------------------------------


@given(st.data())
def test_a_flipped_bit_anywhere_is_noticed(good, tmp_path_factory, data):
    content = bytearray(good.read_bytes())
    for _ in range(20):
        place = data.draw(st.integers(0, len(content) - 1))
        bit = 1 << data.draw(st.integers(0, 7))
        path = tmp_path_factory.getbasetemp() / "flipped.safetensors"
        content[place] ^= bit
        path.write_bytes(content)
        refused(path)
        content[place] ^= bit


def test_a_flipped_bit_in_every_byte_of_the_beginning_is_noticed(good, tmp_path):
    content = bytearray(good.read_bytes())
    path = tmp_path / "flipped.safetensors"
    for place in range(300):
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        refused(path)
        content[place] ^= 1 << place % 8


@given(st.floats(0, 1, exclude_max=True))
def test_a_part_of_a_file_is_refused(good, tmp_path_factory, share):
    content = good.read_bytes()
    path = tmp_path_factory.getbasetemp() / "part.safetensors"
    path.write_bytes(content[: int(share * len(content))])
    refused(path)
    path.write_bytes(content + content[: int(share * len(content)) + 1])
    refused(path)


def test_foreign_files_are_refused_and_nothing_in_them_is_run(tmp_path):
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return Path.touch, (ran,)

    network().save(tmp_path / "model.keras")
    contents = {
        "pickle": pickle.dumps(Evil()),
        "keras": (tmp_path / "model.keras").read_bytes(),
        "other": safetensors.numpy.save({"a": np.ones(3)}, {"format": "np"}),
        "huge": (2**62).to_bytes(8, "little") + b"{}",
        "text": "모델".encode(),
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        refused(path)
    assert not ran.exists()


def test_a_file_too_large_is_refused_without_being_read(tmp_path, monkeypatch):
    path = tmp_path / "large.safetensors"
    with open(path, "wb") as file:
        file.truncate(2**40)  # 빈 자리는 디스크를 쓰지 않습니다
    monkeypatch.setattr(Path, "read_bytes", None)
    assert f"{2**40:,}바이트" in refused(path)


def drop(name):
    def change(note, tensors):
        del tensors[next(key for key in sorted(tensors) if key.endswith(name))]

    return change


def edit(name, function):
    def change(note, tensors):
        key = next(key for key in sorted(tensors) if key.endswith(name))
        tensors[key] = np.ascontiguousarray(function(tensors[key]))

    return change


def packed(text):
    return lambda note, tensors: tensors.update(
        tokenizer=np.frombuffer(zlib.compress(text), np.uint8)
    )


def config(**values):
    return lambda note, tensors: note["config"].update(values)


FORGERIES = (
    (lambda note, _: note.update(format=files.FORMAT + 7), f"형식 {files.FORMAT + 7}"),
    (lambda note, _: note.update(task="paint"), "paint"),
    (lambda note, _: note.update(task="classify", card={}), "labels"),
    (lambda note, _: note.pop("config"), "config"),
    (lambda note, _: note.update(task="classify", card=3), ""),
    (config(d_model=16), ""),
    (config(num_layers=2), ""),
    (config(num_layers=10**9), "큰 모델"),
    (config(vocab_size=10**9), "큰 모델"),
    (config(d_ff=10**12), "큰 모델"),
    (config(num_heads=10**6, key_dim=8, value_dim=8), "큰 모델"),
    (config(positions="learned", max_length=10**9), "큰 모델"),
    (config(positions="painted"), "painted"),
    (config(colour="red"), "colour"),
    (config(d_model="8"), ""),
    (drop("embeddings"), "embeddings"),
    (drop(".scale"), "scale"),
    (drop("tokenizer"), "tokenizer"),
    (edit("embeddings", np.transpose), ""),
    (edit("gamma", lambda x: x[:-1]), ""),
    (edit("tokenizer", lambda x: x[:-9]), "Tokenizer"),
    (edit("tokenizer", lambda x: x[1:]), ""),
    (packed(b" " * (files.LARGEST_TOKENIZER + 1)), "Tokenizer"),
    (packed(b"[" * 10**5), ""),
    (packed(b'{"version": "1.0"}'), ""),
)


def test_a_file_of_another_program_is_refused_whatever_its_digest(good, tmp_path):
    for place, (change, named) in enumerate(FORGERIES):
        line = refused(forged(good, tmp_path / "forged.safetensors", change))
        assert named in line, place


def test_a_broken_header_is_refused_whatever_its_digest(good, tmp_path):
    content, path = good.read_bytes(), tmp_path / "broken.safetensors"
    for length in (0, 10, 2**20, 2**63):
        path.write_bytes(sealed(length.to_bytes(8, "little") + content[8:]))
        refused(path)
    deep = b"[" * 10**5
    note = content[8 : 8 + content[8:].index(b', \\"task')] + b'}"},"a":' + deep
    path.write_bytes(sealed(len(note).to_bytes(8, "little") + note))
    refused(path)
    forged(good, path, lambda note, tensors: None)  # 고치지 않으면 읽힙니다
    files.read(path)


def test_a_missing_file_and_a_folder_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read(tmp_path / "none")
    with pytest.raises(OSError):
        files.read(tmp_path)


# --- 부르기 -------------------------------------------------------------------------


def test_an_unknown_name_lists_those_that_came_along(tmp_path):
    for name in ("datse", tmp_path / "none.safetensors", "", tmp_path):
        with pytest.raises(ValueError, match="dates.*받은 것") as info:
            models.load(name)
        assert str(name) in str(info.value)


def test_a_file_of_ones_own_is_loaded_by_its_path(good):
    for path in (good, str(good)):
        found = models.load(path)
        assert (found.task, found.card) == ("translate", CARD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.task = "chat"


def test_a_model_says_what_it_cannot_do(good, tmp_path):
    reader = models.load(stored(tmp_path / "c.safetensors", "classify"))
    with pytest.raises(AttributeError, match="Classifier"):
        reader.translate(TEXTS)
    with pytest.raises(ValueError, match="translate를 부르세요"):
        models.load(good).classify(TEXTS)


LOADER = """
import sys
from transformer_notes import models
models.load("dates")
assert "transformer_notes.training" not in sys.modules
assert "transformer_notes.figures.plotting" not in sys.modules
assert "pickle" not in vars(sys.modules["transformer_notes.models.files"])
"""


def test_loading_makes_nothing_of_training():
    subprocess.run([sys.executable, "-c", LOADER], cwd=ROOT, check=True)


# --- 싣기 ---------------------------------------------------------------------------


def test_shipping_measures_what_eight_bits_cost(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "FOLDER", tmp_path)
    pairs = [
        (row[row > 0], [2, *row[row > 0]])
        for row in tokenizer().encode(TEXTS, eos=True)
    ]
    batches, data = training.Batches(pairs, 100), {"name": "글", "sha256": "0"}
    seen = []
    run = ship(
        "toy",
        network(),
        tokenizer(),
        "translate",
        __file__,
        data,
        batches,
        batches,
        score=lambda model: {"place": seen.append(model) or len(seen)},
        note="장난감",
    )
    found = models.load("toy")
    before = training.evaluate(network(), batches)
    after = training.evaluate(found.model, batches)
    assert run["scores"] == before._asdict() | {"place": 1}
    assert run["stored_scores"] == after._asdict() | {"place": 2}
    assert before.loss != after.loss and before.loss == pytest.approx(after.loss, 0.1)
    assert {name: found.card[name] for name in ("scores", "stored_scores")} == {
        name: run[name] for name in ("scores", "stored_scores")
    }
    assert found.card["longest_source"] == max(len(source) for source, _ in pairs)
    assert found.card["command"] == "python tests/experiments/test_models.py"
    assert found.card["note"] == "장난감" and found.card["data"] == data
    content = (tmp_path / "toy.safetensors").read_bytes()
    assert run["model_sha256"] == hashlib.sha256(content).hexdigest()
    assert run["model_bytes"] == len(content)


# --- 함께 온 것 ----------------------------------------------------------------------


def test_a_model_agrees_with_the_command_and_the_results_that_name_it():
    """아무것도 만들지 않습니다. 결과가 낡았는지는 `test_experiments`가 봅니다."""
    for name in models.available():
        content = (models.FOLDER / f"{name}.safetensors").read_bytes()
        card = models.load(name).card
        command = re.fullmatch(r"python tests/experiments/(\w+)\.py", card["command"])
        results = Results.load(importlib.import_module(command[1]).EXPERIMENT.path)
        run = results.run(model=name)
        assert results.command == card["command"]
        assert run["model_sha256"] == hashlib.sha256(content).hexdigest()
        assert run["model_bytes"] == len(content) <= files.LARGEST
        for scores in ("scores", "stored_scores"):
            assert run[scores] == card[scores]
        assert re.fullmatch("[0-9a-f]{64}", card["data"]["sha256"])
        assert card["data"]["name"] and card["data"]["license"]
        assert re.fullmatch("[0-9a-f]{16}", card["digest"])
        assert {"python", "tensorflow", "keras", "numpy"} <= set(card["versions"])


def test_dates_reads_days_that_it_never_saw():
    import dates

    found = models.load("dates")
    _, held_out = corpora.split_days(seed=dates.SETTINGS["split_seed"])
    assert "2026-11-21" in map(str, held_out)
    (answer,) = found.translate(["2026년 11월 21일 토요일"])
    assert answer.text == "2026-11-21" and answer.finished
    rates = {}
    for form in corpora.DATE_FORMS:
        texts, answers = zip(*corpora.dates(200, 77, held_out, [form]))
        given = found.translate(texts)
        rates[form] = np.mean([a.text == b for a, b in zip(given, answers)])
    assert np.mean(list(rates.values())) >= 0.99 and min(rates.values()) >= 0.97, rates


def test_eight_bits_cost_dates_next_to_nothing():
    card = models.load("dates").card
    before, after = card["scores"], card["stored_scores"]
    assert before["exact"] >= 0.99 and after["exact"] >= before["exact"] - 0.002
