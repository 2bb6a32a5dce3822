"""명령줄이 지키는 약속: 답의 확률, 되묻기, 뽑기, 터미널."""

import io
import re
import sys

import numpy as np
import pytest
from command_line import SMALL, Terminal, refuse, run, write_pairs
from matplotlib.figure import Figure

from transformer_notes import cli, decoding, training
from transformer_notes.cli import answers as cli_answers
from transformer_notes.cli import pairs as cli_pairs
from transformer_notes.cli import pictures, run_folder, trained
from transformer_notes.figures import plotting


def test_certainty_is_the_geometric_mean_over_the_tokens(opened, words_model):
    """패딩 없이 한 글씩, 토큰 하나씩 구한 확률의 평균과 같습니다."""
    tokenizer, network = words_model
    texts = ["하나 둘 셋", "넷", "영 영 다섯 둘"]
    for text, found in zip(texts, cli_answers.reply(network, tokenizer, texts)):
        source, chances = tokenizer.encode([text], eos=True), []
        seen = [tokenizer.bos_id]
        for token in found.ids:
            logits = network((source, np.array([seen]))).numpy()[0, -1].astype(float)
            chances.append((np.exp(logits) / np.exp(logits).sum())[token])
            seen.append(int(token))
        mean = np.prod(chances) ** (1 / len(chances))
        assert found.certainty == pytest.approx(mean, rel=1e-3)
        least = chances.index(min(chances[:-1]))  # 끝내는 토큰은 보지 않습니다
        assert found.weakest == least
        line = run("translate", opened, text, "--probability").stdout
        token = tokenizer.vocabulary[found.ids[least]].replace(" ", "␣")
        measured = f"{found.certainty:#.4g}\t{token}\t{found.chances[least]:#.4g}"
        assert line == f"{found.text}\t{measured}\n"
        assert run("translate", opened, text).stdout == f"{found.text}\n"


def test_an_unsure_answer_is_kept_back(opened):
    sure, unsure = "하나 둘 셋", "셋 셋 셋 셋 셋 하나"  # 여섯 낱말은 배우지 않았습니다
    shown = run("translate", opened, sure, unsure, "--probability")
    p = [float(line.split("\t")[1]) for line in shown.stdout.splitlines()]
    assert p[0] > p[1]  # 그렇지 않으면 시험이 되지 않습니다
    least = (p[0] + p[1]) / 2
    asked = "translate", opened, sure, unsure, "--least", least
    result = run(*asked, "--probability")
    first, second = result.stdout.splitlines()
    assert first == shown.stdout.splitlines()[0]
    assert second.startswith(f"\t{p[1]:#.4g}\t")
    assert run(*asked).stdout == first.split("\t")[0] + "\n\n"
    (line,) = [x for x in result.stderr.splitlines() if x.startswith("되묻습니다")]
    assert "2번째 글" in line and str(least) in line


def test_answers_that_are_no_day_are_kept_back():
    rules = cli_answers.REMARKS["rules"]["dates"]
    for text, certainty, reason in (
        ("2026-11-21", 0.995, ""),
        ("2026-11-21", 0.985, "0.99보다 낮아"),
        ("2026-02-30", 1.0, "달력에 없는 날"),
        ("2050-01-01", 1.0, "배운 해"),
        ("1949-12-31", 1.0, "배운 해"),
        ("2026-11", 1.0, "읽지 못했습니다. 글을"),
        ("", 1.0, "비었습니다"),
    ):
        held, asked = cli_answers.judged(rules, text, certainty)
        assert reason in held and bool(reason) == bool(held) and not asked, text
    assert cli_answers.judged({}, "2026-02-30", 0.1) == ("", "")  # 날짜에서만 봅니다


def test_below_the_second_threshold_it_asks_and_still_answers():
    rules = {"least": 0.2, "doubt": 0.5}
    assert cli_answers.judged(rules, "답", 0.1)[0]
    held, asked = cli_answers.judged(rules, "답", 0.3)
    assert not held and "0.3000" in asked and "0.5" in asked
    assert cli_answers.judged(rules, "답", 0.6) == ("", "")
    rules = cli_answers.REMARKS["rules"]["translate"]
    for source, answer, *said in (
        ('open(path, "rb")', 'openpath(rb")', ': open ".'),
        ("See e.g. my_new_code.", "예를 들어 my_code를 보세요.", ": my_new_code."),
        ("If none is given, nothing returns.", "없으면 아무것도 냅니다.", "부정하는"),
        ("It can't be 3.", "4일 수 있습니다.", ": 3.", "부정하는"),
        ("Tell whether or not f(3) is None.", "f(3)이 None인지 말합니다."),
    ):
        held, asked = cli_answers.judged(rules, answer, 0.9, source=source)
        assert not held and all(one in asked for one in said), source
        assert asked.count("견주어") == len(said), source


def test_a_folder_of_dates_asks_back_by_itself(tmp_path):
    """거의 배우지 못한 모델의 답은 날짜가 아니거나 확률이 낮습니다."""
    run("train", tmp_path / "dates", "--count", 60, *SMALL, "--epochs", 1)
    asked = "translate", tmp_path / "dates", "2026년 2월 30일", "--probability"
    result = run(*asked)
    assert re.fullmatch(r"\t\d\.\d+(e-\d+)?\t\S+\t\d\S+\n", result.stdout)
    assert "1번째 글" in result.stderr


def test_answers_are_drawn_on_request(opened):
    texts = ["하나 둘 셋"] * (2 * cli_answers.BATCH)
    drawn = ["--temperature", 5, "--seed", 3]
    first = run("translate", opened, *texts, *drawn).stdout
    assert first == run("translate", opened, *texts, *drawn).stdout
    lines = first.splitlines()
    assert len(set(lines)) > 1
    first_batch, second = lines[: cli_answers.BATCH], lines[cli_answers.BATCH :]
    assert first_batch != second  # 묶음마다 달리 뽑습니다
    other = run("translate", opened, *texts, "--temperature", 5, "--seed", 4).stdout
    assert other != first
    greedy = run("translate", opened, *texts).stdout
    assert first != greedy
    for calm in (
        ["--temperature", 0.01],
        [*drawn, "--top-k", 1],
        [*drawn, "--top-p", 1e-6],
    ):
        assert run("translate", opened, *texts, *calm).stdout == greedy


def test_an_answer_that_was_cut_is_told(opened, monkeypatch):
    cut = cli_answers.Reply("12", False, np.array([5, 6]), [], np.array([0.9, 0.9]))
    monkeypatch.setattr(
        cli_answers, "reply", lambda model, tokenizer, texts, **how: [cut] * len(texts)
    )

    def told(name):
        return cli_answers.remark("cut", name=name, extra=run_folder.MAX_EXTRA)

    said = run("translate", opened, "둘", "셋").stderr
    assert told("1번째 글") in said and told("2번째 글") in said
    assert told("글") in run("chat", opened, stdin="둘\n").stderr
    count = len((opened / "held_out.tsv").read_text("utf-8").splitlines())
    assert f"{count}개" in run("evaluate", opened).stderr


def test_drawing_and_searching_are_two_things(opened, words_model):
    both = "translate", opened, "둘", "--temperature", 1, "--beam", 2
    assert "--beam" in refuse(*both) and "--temperature" in refuse(*both)
    tokenizer, network = words_model
    with pytest.raises(ValueError, match="beam_size.*temperature"):
        decoding.translate(network, tokenizer, ["둘"], beam_size=2, temperature=1.0)
    for name in ("seed", "top_k", "top_p"):
        flag = "--" + name.replace("_", "-")
        line = refuse("translate", opened, "둘", flag, 1)
        assert flag in line and "--temperature" in line
        with pytest.raises(ValueError, match="temperature"):
            decoding.translate(network, tokenizer, ["둘"], **{name: 1})
    largest = tokenizer.vocab_size
    drawn = "translate", opened, "둘", "--temperature", 1, "--top-k"
    run(*drawn, largest)
    line = refuse(*drawn, largest + 1)
    assert "--top-k" in line and str(largest) in line


def test_unknown_characters_are_read_as_what_they_mean(opened, words_model, tmp_path):
    tokenizer, _ = words_model
    assert cli_pairs.readable(tokenizer, "１２ 둘") == "12 둘"
    assert cli_pairs.readable(tokenizer, "ⓐ둘") == "ⓐ둘"  # a도 모르는 글자입니다
    plain = run("translate", opened, "하나 둘 셋").stdout
    result = run("translate", opened, "하나\u3000둘\u3000셋")  # 전각 공백
    assert (result.stdout, result.stderr) == (plain, "")
    path = tmp_path / "wide.tsv"
    path.write_text("하나\u3000둘 셋\t123\n", encoding="utf-8")
    assert run("evaluate", opened, "--data", path).stderr == ""


def test_known_characters_stay_as_they_were_learned(tmp_path):
    """학습에 전각 숫자가 있었다면 바꾸지 않습니다."""
    from transformer_notes.tokenization import Tokenizer

    tokenizer = Tokenizer.train(["１ 1 2"], vocab_size=20)
    assert cli_pairs.readable(tokenizer, "１２") == "１2"


def test_the_losses_are_said_to_differ_only_when_they_do(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "train", lambda *given, **how: None)
    pairs = write_pairs(tmp_path / "pairs.tsv")
    once = ["--data", pairs, *SMALL, "--epochs", 1]
    assert "스무딩 0.1" in run("train", tmp_path / "with", *once).stdout
    plain = run("train", tmp_path / "without", *once, "--label-smoothing", 0).stdout
    assert "스무딩" not in plain


def test_the_version_is_said():
    assert re.fullmatch(r"transformer-notes \S.*\n", run("--version").stdout)


# --- 터미널 --------------------------------------------------------------------------


def test_a_terminal_has_a_prompt_and_lets_the_line_be_edited(words, request):
    """넷을 지우고 고칩니다. 끝나지 않은 줄의 Ctrl-C는 그 줄만 지웁니다."""
    terminal = Terminal("translate", words)
    request.addfinalizer(terminal.kill)
    for typed, said in {
        "하나 둘 넷\x1b[D\x1b[3~셋\r": "123\r\n",
        "다섯\x03영 영 영\r": "000\r\n",
    }.items():
        terminal.wait_for(">")
        terminal.type(typed)
        terminal.wait_for(said)
    terminal.wait_for(">")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_scoring_shows_how_far_it_is_on_a_terminal_only(opened, monkeypatch):
    assert "100%" not in run("evaluate", opened).stderr
    monkeypatch.setattr(sys, "stderr", screen := io.StringIO())
    screen.isatty = lambda: True
    cli.main(["evaluate", str(opened)], standalone_mode=False)
    assert "100%" in screen.getvalue()


def test_a_placeholder_is_written_as_the_name_that_it_hides(tmp_path, monkeypatch):
    shipped = trained.open_model("translator")
    text, drawn = "See os.killpg(pid, 9) and my_new_module.", []
    (reply,) = cli_answers.reply(shipped.model, shipped.tokenizer, [text])
    assert reply.spans == ["os.killpg(pid, 9)", "my_new_module"]
    assert all(span in reply.text for span in reply.spans)
    assert reply.certainty > 0.7  # 숨기지 않은 글로 구하면 훨씬 낮습니다
    names = cli_answers.names(shipped.tokenizer, reply.ids, reply.spans)
    assert "".join(names[:-1]).replace("␣", " ").strip() == reply.text
    monkeypatch.setattr(
        plotting, "attention_heatmap", lambda *given: drawn.extend(given) or Figure()
    )
    args = shipped.model, shipped.tokenizer, text, reply.ids
    pictures.draw_attention(tmp_path / "map.svg", *args)
    weights, rows, columns, _ = drawn
    assert rows == names and weights.shape == (len(rows), len(columns))
    assert "".join(columns[:-1]).replace("␣", " ").strip() == text
