"""공개된 말뭉치를 받는다: 끊고, 멈추고, 돌려보내고, 속이는 서버에서도."""

import contextlib
import errno
import gzip
import hashlib
import io
import itertools
import os
import re
import socket
import sys
import tarfile
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest
from command_line import refuse, run
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import corpora
from transformer_notes.corpora import download, downloads, tables
from transformer_notes.corpora.downloads import DATASETS, Dataset, DownloadError, File

WHOLE = "물음과 대답\n".encode() * 5000
HOME = "https://example.org/home"
TRIES = 1 + downloads.RETRIES


# --- 시험의 서버 --------------------------------------------------------------------


class Server:
    """길마다 할 일을 차례로 합니다. 마지막 일은 되풀이합니다."""

    def __init__(self):
        self.plans = defaultdict(lambda: [status(404)])
        self.asked = []
        self.closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                plan = server.plans[self.path]
                # 이 실이 끊긴 일을 적을 때 pytest는 출력을 갈아 끼우고 있기도 합니다.
                with contextlib.suppress(ConnectionError):
                    (plan.pop(0) if len(plan) > 1 else plan[0])(self, server)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(
            target=self.http.serve_forever, args=[0.02], daemon=True
        )
        self.thread.start()

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def give(content):
    def do(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return do


def cut(handler, _):
    """길이를 다 알리고 반만 보냅니다."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(WHOLE)))
    handler.end_headers()
    handler.wfile.write(WHOLE[: len(WHOLE) // 2])


def stall(handler, server):
    """반만 보내고 기다리게 합니다."""
    cut(handler, server)
    handler.wfile.flush()
    server.closing.wait(20)


def silent(handler, server):
    """받아들이고 아무 말도 하지 않습니다."""
    server.closing.wait(20)


def status(code):
    def do(handler, _):
        handler.send_response(code)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return do


def redirect(where):
    def do(handler, _):
        handler.send_response(302)
        handler.send_header("Location", where)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return do


lie = give(WHOLE[:-1] + b"!")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)  # 다시 하기 전에 쉬지 않습니다
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    small = Dataset("작은 말뭉치", "허가서 하나", HOME, server.base, (FILE,))
    monkeypatch.setitem(DATASETS, "chatbot", small)
    yield server
    server.close()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


FILE = File("far.csv", "near.csv", sha256(WHOLE))


@pytest.fixture
def said():
    return []


# --- 잘 될 때 -----------------------------------------------------------------------


def test_a_file_arrives_whole_and_its_licence_was_told_before(server, tmp_path, said):
    folder = tmp_path / "new" / "folder"
    server.plans["/far.csv"] = [
        lambda *them: (said.append("요청"), give(WHOLE)(*them)),
    ]
    path = download("chatbot", folder, say=said.append)
    assert path == folder / "near.csv" and path.read_bytes() == WHOLE
    assert list(folder.iterdir()) == [path]
    told = said[: said.index("요청")]
    assert any("허가서 하나" in line for line in told)
    assert any(HOME in line for line in told)
    assert all("\n" not in line for line in said)


def test_what_is_there_and_whole_is_not_fetched_again(server, tmp_path, said):
    (tmp_path / "near.csv").write_bytes(WHOLE)
    assert download("chatbot", tmp_path, say=said.append) == tmp_path / "near.csv"
    assert server.asked == [] and str(tmp_path / "near.csv") in said[-1]


def test_what_is_there_and_damaged_is_told_and_fetched_again(server, tmp_path, said):
    path = tmp_path / "near.csv"
    path.write_bytes(WHOLE[:-7])
    server.plans["/far.csv"] = [give(WHOLE)]
    download("chatbot", tmp_path, say=said.append)
    assert path.read_bytes() == WHOLE and f"{server.base}/far.csv" in said[-1]


def test_several_files_arrive_in_a_folder_and_only_the_missing_are_fetched(
    server, tmp_path, monkeypatch
):
    files = tuple(File(n, n, sha256(n.encode())) for n in ("train", "test"))
    monkeypatch.setitem(DATASETS, "nsmc", Dataset("", "", HOME, server.base, files))
    for file in files:
        server.plans[f"/{file.name}"] = [give(file.name.encode())]
    (tmp_path / "train").write_bytes(b"train")
    assert download("nsmc", tmp_path, say=str) == tmp_path
    assert server.asked == ["/test"]
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "train": "train",
        "test": "test",
    }


def test_a_mirror_is_asked_instead_and_must_give_the_same_bytes(
    server, tmp_path, monkeypatch
):
    elsewhere = Dataset("", "", HOME, "http://nowhere.invalid/x", (FILE,))
    monkeypatch.setitem(DATASETS, "chatbot", elsewhere)
    server.plans["/copies/here/far.csv"] = [give(WHOLE)]
    path = download("chatbot", tmp_path, f"{server.base}/copies/here/", str)
    assert path.read_bytes() == WHOLE
    path.unlink()
    server.plans["/copies/here/far.csv"] = [lie]
    with pytest.raises(DownloadError, match="http://127"):
        download("chatbot", tmp_path, f"{server.base}/copies/here", str)
    assert list(tmp_path.iterdir()) == []


def test_a_redirection_is_followed(server, tmp_path):
    for start in (server.base, ""):
        server.plans["/far.csv"] = [redirect(start + "/moved")]
        server.plans["/moved"] = [give(WHOLE)]
        path = download("chatbot", tmp_path, say=str)
        assert path.read_bytes() == WHOLE
        path.unlink()
    assert server.asked == ["/far.csv", "/moved"] * 2


def test_the_folder_is_the_given_one_then_the_environments_then_the_cache(
    server, tmp_path, monkeypatch
):
    server.plans["/far.csv"] = [give(WHOLE)]
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.delenv("TRANSFORMER_NOTES_DATA", raising=False)
    assert download("chatbot", say=str).parent == tmp_path / "cache/transformer-notes"
    monkeypatch.setenv("TRANSFORMER_NOTES_DATA", str(tmp_path / "mine"))
    assert download("chatbot", say=str).parent == tmp_path / "mine"
    assert download("chatbot", tmp_path / "this", say=str).parent == tmp_path / "this"


def test_a_terminal_sees_how_far_it_is(server, tmp_path, monkeypatch, capsys):
    server.plans["/far.csv"] = [give(WHOLE)]
    download("chatbot", tmp_path / "quiet", say=str)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    download("chatbot", tmp_path / "seen", say=str)
    shown = capsys.readouterr()
    assert "100%" in shown.err and shown.out == ""


# --- 잘 안 될 때 --------------------------------------------------------------------


def drip(handler, server):
    """끝없이 조금씩 보냅니다."""
    handler.send_response(200)
    handler.end_headers()
    while not server.closing.wait(0.01):
        handler.wfile.write(b"x")


def endless(handler, server):
    """끝없이 보냅니다."""
    handler.send_response(200)
    handler.end_headers()
    while not server.closing.is_set():
        handler.wfile.write(bytes(2**16))


def odd_length(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Length", "many")
    handler.end_headers()
    handler.wfile.write(WHOLE[:-1])


LIMITED = stall, silent, drip, endless
BAD = (
    *(cut, lie, odd_length, give(b""), give(WHOLE + b"\n"), status(404), status(500)),
    *(redirect("/far.csv"), redirect("file:///etc/hostname"), *LIMITED),
)


def short(monkeypatch, fault):
    """기다리는 시간과 크기를, 시험할 것만 줄입니다."""
    if fault in (stall, silent):
        monkeypatch.setattr(downloads, "TIMEOUT", 0.3)
    elif fault is drip:
        monkeypatch.setattr(downloads, "LONGEST", 0.3)
    elif fault is endless:
        monkeypatch.setattr(tables, "LARGEST", 10**6)


def test_after_all_tries_a_sentence_is_told_and_nothing_is_left(
    server, tmp_path, monkeypatch, subtests
):
    for before, fault in itertools.product((None, b"old"), BAD):
        with subtests.test(fault=BAD.index(fault)), monkeypatch.context() as patch:
            if before:
                (tmp_path / "near.csv").write_bytes(before)
            short(patch, fault)
            server.plans["/far.csv"], said = [fault], []
            with pytest.raises(DownloadError) as caught:
                download("chatbot", tmp_path, say=said.append)
            message = str(caught.value)
            assert "\n" not in message
            assert message.endswith(f". 받은 곳: {server.base}/far.csv")
            assert list(tmp_path.iterdir()) == []
            tries = [line for line in said if "far.csv" in line]
            assert len(tries) == (1 if fault in (drip, endless) else TRIES)


def test_a_fault_that_passes_is_overcome(server, tmp_path):
    for fault in (cut, lie, give(b""), status(500)):
        server.plans["/far.csv"] = [fault] * downloads.RETRIES + [give(WHOLE)]
        path = download("chatbot", tmp_path, say=str)
        assert path.read_bytes() == WHOLE and list(tmp_path.iterdir()) == [path]
        path.unlink()


def test_a_server_that_cannot_be_reached_is_told(tmp_path, server, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(downloads, "RETRIES", 0)
    odd = "http://[::1", "http://a b/", "http://" + "a" * 300
    for address in (gone, *odd, "", "far", "ftp://a", "file:///tmp"):
        with pytest.raises(DownloadError, match=f"받은 곳: {re.escape(address)}"):
            download("chatbot", tmp_path, address, str)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_of_the_system_and_leaves_nothing(
    server, tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(downloads, "_receive", full)
    with pytest.raises(OSError) as caught:
        download("chatbot", tmp_path, say=str)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_an_error_of_the_system(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        download("chatbot", tmp_path / "file" / "below", say=str)

    def forbidden(*_, **__):
        raise PermissionError("pooch가 영어로 적은 긴 글")

    monkeypatch.setattr(pooch.Pooch, "fetch", forbidden)
    with pytest.raises(PermissionError) as caught:
        download("chatbot", tmp_path, say=str)
    assert (caught.value.errno, caught.value.filename) == (errno.EACCES, str(tmp_path))


def test_wrong_arguments_are_refused_with_words(server):
    with pytest.raises(ValueError, match="name.*nothing"):
        download("nothing")
    assert server.asked == []


# --- 지문 ---------------------------------------------------------------------------


@given(st.binary(max_size=50), st.integers(0, 49), st.integers(1, 255))
def test_any_changed_byte_is_noticed_by_either_fingerprint(
    tmp_path_factory, content, place, change
):
    folder = tmp_path_factory.mktemp("proof")
    changed = bytearray(content)
    if place < len(content):
        changed[place] ^= change
    else:
        changed += b"+"
    numbered = b"blob " + str(len(content)).encode() + b"\0" + content
    for digest in (sha256(content), hashlib.sha1(numbered).hexdigest()):
        dataset = Dataset("", "", HOME, "http://nowhere", (File("f", "f", digest),))
        asked = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(DATASETS, "chatbot", dataset)
            patch.setattr(downloads, "_fetch", lambda *_, asked=asked: asked.append(1))
            (folder / "f").write_bytes(content)
            download("chatbot", folder, say=str)
            assert not asked
            (folder / "f").write_bytes(changed)
            download("chatbot", folder, say=str)
            assert asked


def test_a_blob_is_numbered_as_git_numbers_it(tmp_path, server, monkeypatch):
    """`echo hello | git hash-object --stdin`이 적는 번호입니다."""
    number = "ce013625030ba8dba906f756967f9e9ca394464a"
    dataset = Dataset("", "", HOME, server.base, (File("far.csv", "f", number),))
    monkeypatch.setitem(DATASETS, "chatbot", dataset)
    server.plans["/far.csv"] = [give(b"hello"), give(b"hello\n")]
    assert download("chatbot", tmp_path, say=str).read_bytes() == b"hello\n"
    assert len(server.asked) == 2


def test_every_dataset_is_whole():
    names = [file.name for d in DATASETS.values() for file in d.files]
    assert len(set(names)) == len(names)
    for dataset in DATASETS.values():
        assert dataset.what and dataset.licence
        assert dataset.home.startswith("https://")
        assert dataset.base.startswith("https://") and dataset.base[-1] != "/"
        for file in dataset.files:
            assert len(bytes.fromhex(file.digest)) in (20, 32)


# --- 파이썬 문서의 보관 파일 --------------------------------------------------------

ENTRY = 'msgid "a *nice* word"\nmsgstr "좋은 낱말"\n'
PAIRS = [
    ("a nice word 0", "좋은 낱말", "about"),
    ("a nice word 1", "좋은 낱말", "library/math"),
]
TABLE = "document\ten\tko\n" + "".join(f"{d}\t{s}\t{t}\n" for s, t, d in PAIRS)


def archive(names=("about.po", "library/math.po"), extra=()):
    """GitHub의 것처럼 모든 것을 폴더 하나에 담습니다."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for number, name in enumerate(names):
            content = ENTRY.replace("word", f"word {number}").encode()
            member = tarfile.TarInfo(f"docs/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in extra:
            tar.addfile(member)
    return packed.getvalue()


@pytest.fixture
def docs(server, monkeypatch):
    file = File("some", "pairs.tsv.gz", sha256(TABLE.encode()), archive=True)
    dataset = Dataset("문서", "PSF", HOME, server.base, (file,))
    monkeypatch.setitem(DATASETS, "python_docs", dataset)

    def serve(*contents):
        server.plans["/some"] = [give(content) for content in contents]

    return serve


def test_an_archive_becomes_the_table_of_its_pairs(server, docs, tmp_path):
    docs(archive())
    path = download("python_docs", tmp_path, say=str)
    assert list(tmp_path.iterdir()) == [path]
    assert corpora.load_python_docs(path) == PAIRS
    before, asked = path.read_bytes(), list(server.asked)
    assert before[4:8] == bytes(4), "gzip의 머리에 시각이 없습니다"
    download("python_docs", tmp_path, say=str)
    assert server.asked == asked and path.read_bytes() == before
    path.write_bytes(before[:-9])
    download("python_docs", tmp_path, say=str)
    assert path.read_bytes() == before, "같은 보관 파일은 같은 파일이 됩니다"


def test_an_archive_that_does_not_give_the_pairs_is_refused(
    server, docs, tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "LARGEST", 10**6)
    whole = archive()
    for content in (
        archive(["about.po"]),
        archive(["README.md"]),
        b"<html></html>",
        gzip.compress(b"<html></html>"),
        gzip.compress(bytes(10**6 + 1)),
    ):
        server.asked.clear()
        docs(content)
        with pytest.raises(DownloadError):
            download("python_docs", tmp_path, say=str)
        assert list(tmp_path.iterdir()) == [] and len(server.asked) == TRIES
    monkeypatch.setattr(downloads, "RETRIES", 0)
    for end in itertools.chain(range(0, len(whole) - 1, 37), [len(whole) - 1]):
        docs(whole[:end])
        with pytest.raises(DownloadError):
            download("python_docs", tmp_path, say=str)
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_archive_writes_nothing_elsewhere(docs, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    link = tarfile.TarInfo("docs/library/link.po")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
    docs(archive(extra=[link]))
    path = download("python_docs", tmp_path / "data", say=str)
    assert corpora.load_python_docs(path) == PAIRS
    path.unlink()
    for name in ("../../evil.po", "a/../../../evil.po", "/../../../evil.po"):
        docs(archive([name]))
        with pytest.raises(DownloadError):
            download("python_docs", tmp_path / "data", say=str)
    left = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert left == [] and not Path("/evil.po").exists()


# --- 명령 ---------------------------------------------------------------------------


def test_the_command_prints_the_place_and_tells_the_rest_aside(server, tmp_path):
    server.plans["/far.csv"] = [give(WHOLE)]
    result = run("data", "chatbot", "--folder", tmp_path / "here")
    assert result.stdout == f"{tmp_path / 'here' / 'near.csv'}\n"
    assert "허가서 하나" in result.stderr and HOME in result.stderr
    again = run("data", "chatbot", "--folder", tmp_path / "here")
    assert again.stdout == result.stdout and server.asked == ["/far.csv"]


def test_the_command_fails_with_a_sentence_and_a_code(server, tmp_path):
    server.plans["/far.csv"] = [status(404)]
    result = run("data", "chatbot", "--folder", tmp_path, code=1)
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("오류: ") and "404" in last
    assert "nothing" in refuse("data", "nothing")
    for mirror in ("", "far", "ftp://a", "http://", "file:///tmp"):
        assert "--mirror" in refuse("data", "chatbot", "--mirror", mirror)
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "below"
    assert str(below) in refuse("data", "chatbot", "--folder", below, code=1)


def test_the_help_of_the_command_names_every_dataset():
    text = run("data", "--help").stdout
    assert all(f"\n    {name} " in text for name in DATASETS)
