"""말뭉치가 지키는 약속."""

import contextlib
import datetime
import os
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_notes import corpora
from transformer_notes.corpora import DATE_FORMS, FIRST_YEAR, LAST_YEAR
from transformer_notes.corpora.date_expressions import sino_korean

ROOT = Path(__file__).resolve().parents[1]

every_day = st.dates(datetime.date(1950, 1, 1), datetime.date(2049, 12, 31))
every_form = st.sampled_from(DATE_FORMS)
seeds = st.integers(0, 2**40)

ALL_DAYS = [
    datetime.date(1950, 1, 1) + datetime.timedelta(days=n)
    for n in range((datetime.date(2050, 1, 1) - datetime.date(1950, 1, 1)).days)
]


KNOWN = [
    ("이천삼십사년유월십일일", "2034-06-11"),
    ("25년10월18일 토요일", "2025-10-18"),
    ("천구백구십이년일월이십이일 수요일", "1992-01-22"),
]
KNOWN_UNREADABLE = [
    ("이천字이금십오시월십팔일", "?"),
    ("01월 0생일 력요일, 19마1", "?"),
    ("5g23아 (수), 1974년", "?"),
]
KNOWN_DAYS = ["1950-02-05", "1950-02-10", "1950-02-22"]


# --- 만드는 쪽의 코드를 쓰지 않는 해석기 ---------------------------------------------

NAMED_MONTHS = "일월 이월 삼월 사월 오월 유월 칠월 팔월 구월 시월 십일월 십이월".split()
SHAPES = {
    "units": r"(\d{4})년 ?(\d{1,2})월 ?(\d{1,2})일",
    "hangul": r"([가-힣]+?년) ?([가-힣]+?월) ?([가-힣]+일)",
    "dots": r"(\d{4})\. ?(\d{1,2})\. ?(\d{1,2})\.?",
    "slashes": r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})",
    "compact": r"(\d{4}|\d{2})(\d{2})(\d{2})",
    "short": r"'?(\d{2})(?:년 ?|\. ?|/)(\d{1,2})(?:월 ?|\. ?|/)(\d{1,2})일?",
    "trailing": r"(\d{1,2})월 ?(\d{1,2})일(?:, ?| )(\d{4})년?",
}


def read_hangul_number(text):
    """왼쪽부터 읽어 단위를 만나면 더합니다."""
    total, waiting = 0, 0
    for character in text:
        if character in "십백천":
            total += (waiting or 1) * 10 ** (1 + "십백천".index(character))
            waiting = 0
        else:
            waiting = 1 + "일이삼사오육칠팔구".index(character)
    return total + waiting


def parse(text, form):
    """표현을 `(날, 적힌 요일이나 None)`으로 읽습니다. 꼴에 맞지 않으면 실패합니다."""
    parts, weekday = read(text, form)
    return datetime.date(*parts), weekday


def read(text, form):
    """`((해, 달, 날), 적힌 요일이나 None)`. 달력은 보지 않습니다."""
    match = re.search(r"[ (]*([월화수목금토일])(?:요일\)?|\))", text)
    weekday = None
    if match:
        weekday = match[1]
        text = text[: match.start()] + text[match.end() :]
    found = re.fullmatch(SHAPES[form], text)
    if not found:
        raise ValueError(text, form)
    if form == "hangul":
        year = read_hangul_number(found[1][:-1])
        month = NAMED_MONTHS.index(found[2]) + 1
        dom = read_hangul_number(found[3][:-1])
    elif form == "trailing":
        month, dom, year = map(int, found.groups())
    else:
        year, month, dom = map(int, found.groups())
    if year < 100:
        year += 1900 if year >= 50 else 2000
    return (year, month, dom), weekday


# --- 답은 언제나 옳습니다 -----------------------------------------------------------


@given(every_day, every_form, seeds)
def test_every_expression_parses_back_to_its_answer(day, form, seed):
    for text, iso in corpora.dates(10, seed, [day], [form]):
        parsed, weekday = parse(text, form)
        assert parsed == day
        assert iso == f"{day.year:04}-{day.month:02}-{day.day:02}"
        if weekday:
            assert weekday == "월화수목금토일"[day.weekday()]


def test_a_thousand_expressions_of_each_form_parse_back():
    for form in DATE_FORMS:
        for text, iso in corpora.dates(1000, 5, forms=[form]):
            assert parse(text, form)[0].isoformat() == iso


def test_no_expression_has_two_answers():
    answers = {}
    for text, iso in corpora.dates(20_000, 1) + corpora.dates(20_000, 2):
        assert answers.setdefault(text, iso) == iso


def test_every_month_and_every_day_of_the_month_is_read_as_koreans_read_it():
    days = (
        "일 이 삼 사 오 육 칠 팔 구 십 "
        "십일 십이 십삼 십사 십오 십육 십칠 십팔 십구 이십 "
        "이십일 이십이 이십삼 이십사 이십오 이십육 이십칠 이십팔 이십구 삼십 삼십일"
    ).split()
    for month, month_name in enumerate(NAMED_MONTHS, start=1):
        for dom, name in enumerate(days, start=1):
            if month == 2 and dom > 29 or month in (4, 6, 9, 11) and dom > 30:
                continue
            day = datetime.date(2000, month, dom)
            ((text, _),) = corpora.dates(1, 0, [day], ["hangul"])
            expected = f"이천년{month_name}{name}일"
            assert text.replace(" ", "").startswith(expected), text


def test_years_are_read_as_koreans_read_them():
    for year, name in {
        1950: "천구백오십년",
        1999: "천구백구십구년",
        2000: "이천년",
        2001: "이천일년",
        2010: "이천십년",
        2011: "이천십일년",
        2026: "이천이십육년",
        2049: "이천사십구년",
    }.items():
        for text, _ in corpora.dates(5, 0, [datetime.date(year, 11, 21)], ["hangul"]):
            assert text.startswith(name)


def test_june_and_october_lose_their_final_consonant():
    texts = [text for text, _ in corpora.dates(5000, 0, forms=["hangul"])]
    assert not any("육월" in text or re.search("(?<!년)십월", text) for text in texts)
    assert any("유월" in text for text in texts)
    assert any("시월" in text for text in texts)


@given(st.integers(1, 9999))
def test_every_number_is_read_back(number):
    assert read_hangul_number(sino_korean(number)) == number


def test_two_digit_years_name_each_year_of_the_range_once():
    assert LAST_YEAR - FIRST_YEAR == 99
    for year in (1950, 1999, 2000, 2049):
        day = datetime.date(year, 1, 2)
        for text, iso in corpora.dates(5, 0, [day], ["short"]):
            assert text.removeprefix("'")[:2] == f"{year % 100:02}"
            assert iso[:4] == str(year)


# --- 사람이 쓰는 여러 꼴 ------------------------------------------------------------


def test_the_promised_expressions_are_written():
    for form, expected in (
        ("units", "2026년 11월 21일 토요일"),
        ("hangul", "이천이십육년 십일월 이십일일"),
        ("hangul", "이천이십육년십일월이십일일"),
        ("dots", "2026. 11. 21. (토)"),
        ("slashes", "2026-11-21"),
        ("compact", "261121"),
        ("short", "26. 11. 21(토)"),
        ("short", "'26년 11월 21일"),
        ("trailing", "11월 21일, 2026"),
    ):
        written = corpora.dates(1000, 0, [datetime.date(2026, 11, 21)], [form])
        assert expected in {text for text, _ in written}


def test_single_digits_come_with_and_without_a_zero():
    written = {t for t, _ in corpora.dates(99, 0, [datetime.date(2026, 6, 3)])}
    assert any("6월 3일" in text for text in written)
    assert any("06월 03일" in text for text in written)


def test_forms_are_drawn_evenly():
    count = 7000
    expressions = corpora.dates(count, 0)
    found = Counter(
        next(form for form in DATE_FORMS if _fits(text, form))
        for text, _ in expressions
    )
    for form in DATE_FORMS:
        assert abs(found[form] - count / len(DATE_FORMS)) < 150


def _fits(text, form):
    try:
        parse(text, form)
    except ValueError:
        return False
    return True


def test_every_expression_is_composed_hangul_without_stray_spaces():
    for text, _ in corpora.dates(2000, 0):
        assert text == unicodedata.normalize("NFC", text).strip()
        assert "  " not in text


# --- 떼어 두기 ----------------------------------------------------------------------


@example(0.0, 0)
@given(st.floats(0, 0.999), seeds)
def test_the_split_is_a_partition_of_all_days(fraction, seed):
    training, held_out = corpora.split_days(fraction, seed)
    assert sorted(training + held_out) == ALL_DAYS
    assert len(held_out) == max(1, int(len(ALL_DAYS) * fraction))
    assert training == sorted(training) and held_out == sorted(held_out)


def test_no_held_out_day_appears_in_training_in_any_form():
    training, held_out = corpora.split_days()
    forbidden = {day.isoformat() for day in held_out}
    assert not any(iso in forbidden for _, iso in corpora.dates(20_000, 0, training))
    for form in DATE_FORMS:
        for text, iso in corpora.dates(500, 0, training, [form]):
            assert parse(text, form)[0].isoformat() == iso not in forbidden
        assert all(
            iso in forbidden for _, iso in corpora.dates(99, 0, held_out, [form])
        )


def test_another_seed_holds_out_other_days():
    assert corpora.split_days(seed=0) != corpora.split_days(seed=1)


# --- 없는 날과 날짜가 아닌 글 --------------------------------------------------------


def numbers(text):
    """배운 꼴이면 적힌 해, 달, 날. 아니면 None입니다. 달력은 보지 않습니다."""
    for form in DATE_FORMS:
        with contextlib.suppress(ValueError):
            return read(text, form)[0]


def test_an_unreadable_text_is_copied_as_written_or_refused():
    """해석기가 읽는 글이면 적힌 수 그대로가 답이고, 읽지 못하는 글만 거절합니다."""
    found = corpora.unreadable_dates(20_000, 1, ALL_DAYS)
    refused = [text for text, answer in found if answer == corpora.REFUSAL]
    assert 0.3 < len(refused) / len(found) < 0.7
    # 해석기는 요일의 괄호를 느슨하게 읽습니다.
    whole = [t for t in refused if t.count("(") == t.count(")") < 2]
    assert len(whole) > len(refused) / 2
    assert not [text for text in whole if numbers(text)]
    for text, answer in found:
        # 한글로만 적은 달은 해석기가 열둘까지 읽습니다.
        if answer != corpora.REFUSAL and re.search(r"\d", text):
            year, month, dom = numbers(text)
            assert answer == f"{year:04}-{month:02}-{dom:02}"
    readable = dict(corpora.dates(20_000, 2))
    assert all(readable.get(text, answer) == answer for text, answer in found)


def test_unreadable_texts_are_the_same_everywhere():
    assert corpora.unreadable_dates(3, 0, ALL_DAYS) == KNOWN_UNREADABLE


# --- 언제나 같습니다 ----------------------------------------------------------------


def test_the_same_seed_writes_the_same_expressions_everywhere():
    """값을 적어 둡니다. 다른 기계, 다른 파이썬에서도 같아야 합니다."""
    assert corpora.dates(3, 0) == KNOWN
    assert [str(day) for day in corpora.split_days()[1][:3]] == KNOWN_DAYS


@given(seeds, st.integers(1, 50))
def test_a_longer_run_of_days_keeps_its_answers(seed, count):
    answers = [iso for _, iso in corpora.dates(count + 10, seed)]
    assert [iso for _, iso in corpora.dates(count, seed)] == answers[:count]


def test_seeds_do_not_touch_the_global_generator():
    random.seed(1)
    expected = random.random()
    random.seed(1)
    corpora.dates(10, 0), corpora.split_days()
    assert random.random() == expected
    assert corpora.dates(10, 0) != corpora.dates(10, 1)


def test_another_process_with_another_hash_seed_writes_the_same():
    code = "from transformer_notes import corpora as c; print(hash('가'), c.dates(9))"
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env=environment | {"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
        check=True,
    )
    assert finished.stdout.partition(" ")[2].strip() == str(corpora.dates(9))


# --- 잘못 부르면 무엇을 고칠지 말합니다 ---------------------------------------------


def test_wrong_arguments_are_refused_with_their_names():
    day, late = ALL_DAYS[0], datetime.date(2050, 1, 1)
    for error, named, arguments in (
        (ValueError, "days.*1949", {"days": [datetime.date(1949, 12, 31)]}),
        (ValueError, "days.*2050", {"days": [day, late]}),
        (KeyError, "로마자", {"forms": ["로마자"]}),
    ):
        with pytest.raises(error, match=named):
            corpora.dates(1, **arguments)
