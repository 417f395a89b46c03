"""Downloads arrive whole and verified, or not at all; the only server is on this machine."""

import gzip
import hashlib
import io
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests

from lockstep_bench import datasets
from lockstep_bench.datasets.storage import download

DATA = "UCI_Datasets/tiny/data/data.txt"


def stored(folder):
    """Every file below the data folder, temporary ones included, by path."""
    root = folder / "tiny sets"
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_download_fills_an_empty_folder(tmp_path, tiny):
    folder = tmp_path / "new folder"
    arrived = datasets.fetch("tiny", folder)
    assert stored(folder) == tiny
    assert {path.relative_to(folder / "tiny sets").as_posix() for path in arrived} == set(tiny)
    assert datasets.availability("tiny", folder, deep=True).state == "ready"
    assert len(datasets.load("tiny", folder).y) == 10


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_downloaded_files_are_readable_by_all_users(tmp_path, tiny):
    for path in datasets.fetch("tiny", tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_only_missing_and_damaged_files_are_downloaded(tmp_path, tiny, web, place):
    paths = list(tiny)
    tampered = tiny[DATA].replace(b"7.5", b"7.6", 1)
    place(tmp_path, {path: tiny[path] for path in paths[2:]} | {DATA: tampered})
    assert len(datasets.fetch("tiny", tmp_path)) == 2
    assert sorted(web.requests) == sorted([DATA, paths[1]])
    assert stored(tmp_path) == tiny


def test_error_names_a_named_pipe_in_the_way(tmp_path, tiny, place):
    place(tmp_path, tiny)
    pipe = tmp_path / "tiny sets" / DATA
    pipe.unlink()
    os.mkfifo(pipe)
    with pytest.raises(datasets.Unavailable, match=r"cannot write to .*data\.txt: it is a folder, pipe or device"):
        datasets.fetch("tiny", tmp_path)
    assert pipe.is_fifo()


def test_complete_folder_needs_no_server(tmp_path, tiny, web, place):
    place(tmp_path, tiny)
    assert datasets.fetch("tiny", tmp_path, base_url="http://127.0.0.1:1/") == ()
    assert datasets.fetch("diabetes", tmp_path) == ()
    assert web.requests == []


def test_mirror_url_can_be_chosen(tmp_path, tiny, web):
    web.files.update({f"mirror/{path}": body for path, body in tiny.items()})
    datasets.fetch("tiny", tmp_path, base_url=f"{web.url}mirror")
    assert all(path.startswith("mirror/") for path in web.requests)


@pytest.mark.parametrize("length", ["same", "longer"])
def test_download_with_a_wrong_checksum_is_refused(tmp_path, tiny, web, length):
    web.files[DATA] = tiny[DATA].replace(b"7.5", b"7.6", 1) + (b"more" if length == "longer" else b"")
    with pytest.raises(datasets.Unavailable, match=r"data\.txt is refused") as caught:
        datasets.fetch("tiny", tmp_path)
    assert ("longer than" if length == "longer" else "does not match the known hash") in caught.value.reason
    assert DATA not in stored(tmp_path)


def test_partial_downloads_are_kept_and_resumed(tmp_path, tiny, web, respond):
    last = list(tiny)[-1]
    web.misbehaviour[last] = respond(500)
    with pytest.raises(datasets.Unavailable, match="500"):
        datasets.fetch("tiny", tmp_path)
    assert stored(tmp_path) == {path: body for path, body in tiny.items() if path != last}
    web.misbehaviour.clear()
    web.requests.clear()
    assert len(datasets.fetch("tiny", tmp_path)) == 1
    assert web.requests == [last]


def test_truncated_download_is_refused(tmp_path, tiny, web, respond):
    web.misbehaviour[DATA] = respond(200, tiny[DATA][:40], Content_Length=str(len(tiny[DATA])))
    with pytest.raises(datasets.Unavailable, match=r"data\.txt was not delivered .*IncompleteRead"):
        datasets.fetch("tiny", tmp_path)
    assert stored(tmp_path) == {}


def test_truncated_download_without_content_length_is_refused(tmp_path, tiny, web, respond):
    web.misbehaviour[DATA] = respond(200, tiny[DATA][:40])
    with pytest.raises(datasets.Unavailable, match="does not match the known hash"):
        datasets.fetch("tiny", tmp_path)
    assert stored(tmp_path) == {}


def test_missing_file_on_the_server_is_reported(tmp_path, tiny, web):
    del web.files[DATA]
    with pytest.raises(datasets.Unavailable, match=r"data\.txt was not delivered \(404 Client Error"):
        datasets.fetch("tiny", tmp_path)


def test_unreachable_server_fails_immediately_without_retry(tmp_path, tiny, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(datasets.Unreachable, match=r"no connection to 127\.0\.0\.1: it refused") as caught:
            datasets.fetch("tiny", tmp_path, base_url=url)
    assert not slept
    assert "fetch tiny" in caught.value.remedy


def test_server_that_drops_packets_costs_one_timeout(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(download, "CONNECT_TIMEOUT_SECONDS", 0.2)
    tried = []

    def drop(address, timeout, *_, **__):
        tried.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr("urllib3.util.connection.create_connection", drop)
    with pytest.raises(datasets.Unreachable, match=r"no connection to example\.invalid"):
        datasets.fetch("tiny", tmp_path, base_url="https://example.invalid/")
    assert tried == [0.2]


def test_silent_server_costs_one_timeout(tmp_path, tiny, web, monkeypatch):
    monkeypatch.setattr(download, "READ_TIMEOUT_SECONDS", 0.2)
    web.misbehaviour[DATA] = lambda _: time.sleep(0.6)
    with pytest.raises(datasets.Unreachable, match="timed out"):
        datasets.fetch("tiny", tmp_path)
    assert web.requests == [DATA]


def test_plain_http_to_another_machine_is_refused(tmp_path, tiny):
    with pytest.raises(datasets.Unavailable, match=r"'http://example\.invalid/' is not https"):
        datasets.fetch("tiny", tmp_path, base_url="http://example.invalid/")


class Redirecting(requests.adapters.BaseAdapter):
    """Answers every request with a redirect, and remembers what was asked."""

    def __init__(self, location):
        super().__init__()
        self.location, self.asked = location, []

    def send(self, request, **_):
        self.asked.append(request.url)
        response = requests.Response()
        response.status_code, response.url, response.request = 302, request.url, request
        response.headers["location"] = self.location
        response.raw = None
        response._content = b""
        return response

    def close(self):
        pass


@pytest.mark.parametrize(
    ("base_url", "location"),
    [
        ("https://example.invalid/", "http://example.invalid/data.txt"),
        ("https://example.invalid/", "http://127.0.0.1/data.txt"),
        ("http://127.0.0.1/", "http://example.invalid/data.txt"),
    ],
)
def test_redirect_away_from_https_is_not_followed(base_url, location):
    adapter = Redirecting(location)
    with download.session(base_url) as connection:
        for scheme in ("https://", "http://"):
            connection.mount(scheme, adapter)
        with pytest.raises(download.UnexpectedContent, match="which is not https"):
            connection.get(base_url)
    assert adapter.asked == [base_url]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_fetch_refuses_redirects_from_https_to_http(tmp_path, tiny, web, monkeypatch):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")
    command = ["openssl", "req", "-x509", *curve, "-keyout", key, "-out", certificate, *names]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", web.url + self.path.lstrip("/"))
            self.end_headers()

        def log_message(self, *_):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(datasets.Unavailable, match=r"redirects to http://127\.0\.0\.1"):
            datasets.fetch("tiny", tmp_path, base_url=f"https://127.0.0.1:{server.server_port}/")
        server.shutdown()
    assert web.requests == []


def test_error_names_an_unwritable_folder(tmp_path, tiny):
    (tmp_path / "tiny sets").write_text("not a folder")
    with pytest.raises(datasets.Unavailable, match=r"cannot write to .*tiny sets") as caught:
        datasets.fetch("tiny", tmp_path)
    assert "choose a folder you can write to" in caught.value.remedy


def test_read_only_data_folder_is_read_without_downloads(tmp_path, tiny, place):
    folder = tmp_path / "read only"
    place(folder, tiny)
    data = (folder / "tiny sets" / DATA).parent
    data.chmod(0o555)
    try:
        if os.access(data, os.W_OK):
            pytest.skip("this user may write anywhere")
        assert datasets.fetch("tiny", folder) == ()
        assert len(datasets.load("tiny", folder).y) == 10
        data.chmod(0o755)
        (folder / "tiny sets" / DATA).unlink()
        data.chmod(0o555)
        with pytest.raises(datasets.Unavailable, match=r"cannot write to .*Permission denied"):
            datasets.fetch("tiny", folder)
    finally:
        data.chmod(0o755)


def test_concurrent_downloads_of_one_set_succeed(tmp_path, tiny):
    command = [
        sys.executable,
        "-c",
        "import sys; from lockstep_bench import datasets; datasets.fetch('tiny', sys.argv[1])",
        tmp_path,
    ]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [process.communicate(timeout=30)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    assert stored(tmp_path) == tiny


def test_download_progress_goes_to_stderr(tmp_path, tiny, capfd):
    datasets.fetch("tiny", tmp_path, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "tiny" in err


# Sets that are published as archives.

MEMBERS = {"set/a.bin": b"one", "set/deeper/b.bin": b"two"}
ALONE = b"three" * 100


def tar_of(members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, body in members.items():
            member = tarfile.TarInfo(path)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return packed.getvalue()


@pytest.fixture
def publish(web, install):
    """`publish(members)`: put a .tar.gz of these members and a .gz on the web, and register the set `packed`."""

    def publish(members):
        tar = tar_of(members)
        web.files.update({"set.tar.gz": tar, "alone.gz": gzip.compress(ALONE)})
        pinned = [(path, len(body), hashlib.sha256(body).hexdigest()) for path, body in MEMBERS.items()]
        code = f"""
from lockstep_bench.datasets import File, Source
tar = File("set.tar.gz", {len(tar)}, md5="{hashlib.md5(tar, usedforsecurity=False).hexdigest()}")
files = [File(*row, within=tar) for row in {pinned}]
alone = File("raw/alone", None, md5="{hashlib.md5(ALONE, usedforsecurity=False).hexdigest()}")
SOURCE = Source(
    name="packed", title="", n_rows=1, n_features=1, n_splits=1, origin="", licence="", read=dict,
    files=(*files, alone._replace(within=File("alone.gz", None))), folder="tiny sets", base_url="{web.url}",
)
"""
        install("packed_set", code, packed="packed_set:SOURCE")
        return tar

    return publish


def test_archive_is_downloaded_once_keeping_only_pinned_files(tmp_path, web, publish):
    publish(MEMBERS | {"set/more.bin": b"unwanted"})
    arrived = datasets.fetch("packed", tmp_path)
    assert web.requests == ["set.tar.gz", "alone.gz"]
    assert stored(tmp_path) == MEMBERS | {"raw/alone": ALONE}
    assert {path.relative_to(tmp_path / "tiny sets").as_posix() for path in arrived} == set(stored(tmp_path))
    assert datasets.availability("packed", tmp_path, deep=True).state == "ready"
    assert datasets.fetch("packed", tmp_path) == ()


def test_only_the_archive_of_a_missing_file_is_downloaded(tmp_path, web, publish):
    publish(MEMBERS)
    datasets.fetch("packed", tmp_path)
    (tmp_path / "tiny sets/set/deeper/b.bin").write_bytes(b"owt")
    web.requests.clear()
    assert [path.name for path in datasets.fetch("packed", tmp_path)] == ["b.bin"]
    assert web.requests == ["set.tar.gz"]
    assert stored(tmp_path) == MEMBERS | {"raw/alone": ALONE}


def assert_refused(tmp_path, complaint):
    with pytest.raises(datasets.Unavailable, match=complaint):
        datasets.fetch("packed", tmp_path)
    assert stored(tmp_path) == {}
    assert not [path for path in (tmp_path / "tiny sets").rglob("*") if path.name.startswith(".")]


def test_an_archive_with_a_wrong_checksum_is_refused(tmp_path, web, publish):
    tar = publish(MEMBERS)
    web.files["set.tar.gz"] = tar[:20] + b"!" + tar[21:]
    assert_refused(tmp_path, r"set\.tar\.gz is refused: .*does not match the known hash")


def test_archive_longer_than_published_is_refused(tmp_path, web, publish):
    tar = publish(MEMBERS)
    web.files["set.tar.gz"] += b"more"
    assert_refused(tmp_path, rf"set\.tar\.gz is refused: it is longer than {len(tar)} bytes")


def test_a_truncated_archive_is_refused(tmp_path, web, publish, respond):
    tar = publish(MEMBERS)
    web.misbehaviour["set.tar.gz"] = respond(200, tar[:40], Content_Length=str(len(tar)))
    assert_refused(tmp_path, r"set\.tar\.gz was not delivered .*IncompleteRead")


def test_an_archive_behind_plain_http_is_refused(tmp_path, web, publish, respond):
    publish(MEMBERS)
    web.misbehaviour["set.tar.gz"] = respond(302, Location="http://example.invalid/set.tar.gz")
    assert_refused(tmp_path, r"redirects to http://example\.invalid/set\.tar\.gz, which is not https")


def test_an_archive_with_an_escaping_path_is_refused(tmp_path, publish):
    publish(MEMBERS | {"../../escaped": b"out"})
    assert_refused(tmp_path, r"cannot be unpacked .*escaped', which is outside the destination")
    assert not (tmp_path / "escaped").exists()


def test_archive_with_a_changed_member_is_refused_entirely(tmp_path, publish):
    publish(MEMBERS | {"set/deeper/b.bin": b"owt"})
    assert_refused(tmp_path, r"its set/deeper/b\.bin has the sha256")


def test_gzip_file_is_not_decompressed_in_transit(tmp_path, web, publish):
    publish(MEMBERS)
    asked = []
    packed = web.files["alone.gz"]

    def label(handler):
        asked.append(handler.headers["Accept-Encoding"])
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(packed)))
        handler.end_headers()
        handler.wfile.write(packed)

    web.misbehaviour["alone.gz"] = label
    datasets.fetch("packed", tmp_path)
    assert asked == ["identity"]
