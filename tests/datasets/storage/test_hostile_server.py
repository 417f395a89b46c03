"""A server that means harm: every download ends in words, in bounded time and space, and leaves nothing behind."""

import gzip
import hashlib
import tarfile
import threading
from itertools import count

import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.storage import download, unpack

DATA = "UCI_Datasets/tiny/data/data.txt"


def leftovers(folder):
    """Every file below the data folder, temporary ones included."""
    return [path.relative_to(folder).as_posix() for path in (folder / "tiny sets").rglob("*") if path.is_file()]


@pytest.mark.parametrize("chunked", [False, True])
def test_endless_download_is_cut_off_at_published_size(tmp_path, tiny, web, chunked):
    sent = []

    def endless(handler):
        handler.send_response(200)
        if chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        try:
            while True:
                piece = b"7" * 8192
                handler.wfile.write(b"2000\r\n" + piece + b"\r\n" if chunked else piece)
                sent.append(len(piece))
        except OSError:
            pass

    web.misbehaviour[DATA] = endless
    with pytest.raises(datasets.Unavailable, match=r"is refused: it is longer than \d+ bytes"):
        datasets.fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


def test_very_slow_download_ends_at_a_deadline(tmp_path, tiny, web, monkeypatch):
    monkeypatch.setattr(download, "SLOWEST_BYTES_PER_SECOND", 1_000_000)
    monkeypatch.setattr(download, "PATIENCE_SECONDS", 0.2)
    ended = threading.Event()

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(tiny[DATA])))
        handler.end_headers()
        handler.close_connection = True
        try:
            for byte in tiny[DATA]:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                if ended.wait(0.05):
                    return
        except OSError:
            pass

    web.misbehaviour[DATA] = drip
    with pytest.raises(datasets.Unreachable, match=r"127\.0\.0\.1 sent less than 1000000 bytes per second"):
        datasets.fetch("tiny", tmp_path)
    ended.set()
    assert leftovers(tmp_path) == []


def test_connection_dropping_packets_is_reported(tmp_path, tiny, firewall, monkeypatch):
    monkeypatch.setattr(download, "CONNECT_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(datasets.Unreachable, match=r"no connection to 127\.0\.0\.1: it timed out"):
        datasets.fetch("tiny", tmp_path, base_url=f"http://127.0.0.1:{firewall}/")
    assert leftovers(tmp_path) == []


def test_content_length_below_the_body_size_is_refused(tmp_path, tiny, web, respond):
    web.misbehaviour[DATA] = respond(200, tiny[DATA], Content_Length="40")
    with pytest.raises(datasets.Unavailable, match="does not match the known hash"):
        datasets.fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("length", ["-5", "99999999999999999999999", "many", "1e3"])
def test_invalid_content_length_is_refused(tmp_path, tiny, web, respond, length):
    web.misbehaviour[DATA] = respond(200, tiny[DATA][:40], Content_Length=length)
    with pytest.raises(datasets.Unavailable):
        datasets.fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


def test_redirect_loop_ends_with_an_error(tmp_path, tiny, web, respond):
    web.misbehaviour[DATA] = respond(302, Location=f"/{DATA}")
    with pytest.raises(datasets.Unavailable, match="Exceeded 30 redirects"):
        datasets.fetch("tiny", tmp_path)
    assert len(web.requests) <= 32
    web.requests.clear()
    numbers = count()

    def farther(handler):
        respond(302, Location=f"/{DATA}{next(numbers)}")(handler)

    web.misbehaviour.update({DATA: farther} | {f"{DATA}{number}": farther for number in range(99)})
    with pytest.raises(datasets.Unavailable, match="Exceeded 30 redirects"):
        datasets.fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/hostname",
        "ftp://127.0.0.1/data.txt",
        "gopher://127.0.0.1/",
        "data:text/plain,7",
        "javascript:7",
        "http://127.0.0.1.example.invalid/",
        "http://127.0.0.1@example.invalid/",
        "//example.invalid/data.txt",
        "http://[",
        "https://[",
    ],
)
def test_redirect_to_another_host_or_file_is_refused(tmp_path, tiny, web, respond, location):
    web.misbehaviour[DATA] = respond(302, Location=location)
    with pytest.raises(datasets.Unavailable, match=r"data\.txt (is refused|was not delivered)"):
        datasets.fetch("tiny", tmp_path)
    assert web.requests == [DATA]
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("status", [204, 206, 304, 401, 403, 404, 429, 500, 503])
def test_unexpected_http_statuses_are_refused(tmp_path, tiny, web, respond, status):
    web.misbehaviour[DATA] = respond(status)
    with pytest.raises(datasets.Unavailable, match=rf"({status}|does not match the known hash)"):
        datasets.fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\0" * 100,
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300,
        b"SSH-2.0\r\n",
        b"H" * 70_000,
    ],
    ids=["nothing", "zeros", "version", "headers", "ssh", "long"],
)
def test_non_http_reply_is_refused(tmp_path, tiny, web, reply):
    def answer(handler):
        handler.wfile.write(reply)
        handler.close_connection = True

    web.misbehaviour[DATA] = answer
    with pytest.raises(datasets.Unavailable):
        datasets.fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


# Archives that are far larger than they look.

MANY = 1 << 26  # bytes, of which gzip makes a thousandth


def bomb(path, head=b""):
    """Write a gzip file of `MANY` zeros after a head."""
    with gzip.open(path, "wb") as stream:
        stream.write(head)
        for _ in range(MANY >> 20):
            stream.write(bytes(1 << 20))
    assert path.stat().st_size < MANY / 500
    return path


def pinned(path, n_bytes):
    return datasets.File(path, n_bytes, sha256=hashlib.sha256(b"7").hexdigest())


def test_gzip_bomb_is_cut_off_at_published_size(tmp_path):
    packed = bomb(tmp_path / "a.gz")
    with pytest.raises(unpack.UnexpectedContent, match="its a is longer than 1000 bytes"):
        unpack.unpack(packed, [pinned("a", 1000)], tmp_path / "into")
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*")) <= 1000


@pytest.mark.parametrize(
    ("name", "kind", "complaint"),
    [
        ("a", tarfile.REGTYPE, "its a is longer than 1000 bytes"),
        ("unwanted", tarfile.REGTYPE, "unpacks to more than 100 times its size"),
        ("header", tarfile.XHDTYPE, "unpacks to more than 100 times its size"),
        ("long name", tarfile.GNUTYPE_LONGNAME, "unpacks to more than 100 times its size"),
    ],
)
def test_tar_bomb_is_refused(tmp_path, name, kind, complaint):
    member = tarfile.TarInfo(name)
    member.size, member.type = MANY, kind
    packed = bomb(tmp_path / "a.tar.gz", member.tobuf())
    with pytest.raises(unpack.UnexpectedContent, match=complaint):
        unpack.unpack(packed, [pinned("a", 1000)], tmp_path / "into")
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*") if path.is_file()) <= 1000


def test_tar_with_too_many_members_is_refused(tmp_path):
    packed = tmp_path / "a.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        for number in range(3000):
            archive.addfile(tarfile.TarInfo(f"empty-{number}"))
    with pytest.raises(unpack.UnexpectedContent, match=r"unpacks to more than 100 times its size|does not hold 'a'"):
        unpack.unpack(packed, [pinned("a", 1000)], tmp_path / "into")
