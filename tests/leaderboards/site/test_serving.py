"""The local preview: what it serves, what it does not, and how it ends."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from urllib.request import urlopen

import pytest

from lockstep_bench.leaderboards.site import serving as serving_module
from lockstep_bench.leaderboards.site.serving import server

PAGE = """<!DOCTYPE html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; img-src data:"></head>"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    (folder / "results" / "cells").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "bare.html").write_text("<p>hello")
    (folder / "results" / "cells" / "uci.parquet").write_bytes(b"PAR1")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@contextmanager
def running(folder):
    with server(folder, 0) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield serving
        finally:
            serving.shutdown()
            thread.join()


def get(serving, path):
    connection = http.client.HTTPConnection("127.0.0.1", serving.server_port, timeout=10)
    connection.request("GET", path)
    reply = connection.getresponse()
    return reply.status, dict(reply.getheaders()), reply.read()


def test_page_is_served_with_content_security_policy(site):
    with running(site) as serving:
        for path in ("/", "/index.html", "/index.html?sort=nmll"):
            status, headers, body = get(serving, path)
            assert (status, body.decode()) == (200, PAGE)
            assert headers["Content-Security-Policy"] == "default-src 'none'; img-src data:"
        for path in ("/bare.html", "/results/cells/uci.parquet"):
            status, headers, _ = get(serving, path)
            assert status == 200
            assert headers["Content-Security-Policy"] == "default-src 'none'"
            assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/results/", "/results/cells/", "/../secret.txt", "/%2e%2e/secret.txt", "/none.html"])
def test_only_files_of_the_site_are_served(site, path):
    with running(site) as serving:
        status, _, body = get(serving, path)
    assert status == 404
    assert b"secret" not in body
    assert b"uci" not in body


def test_server_listens_only_on_loopback(site):
    with running(site) as serving:
        assert serving.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "hosts",
    [
        ("127.0.0.1:{port}", "evil.example"),
        ("evil.example", "127.0.0.1:{port}"),
        ("127.0.0.1:{port}", "127.0.0.1:{port}"),
        ("localhost:{port}", "127.0.0.1:{port}", ""),
    ],
)
def test_request_with_two_host_headers_is_refused(site, hosts):
    with running(site) as serving, socket.create_connection(serving.server_address, timeout=10) as client:
        lines = "".join(f"Host: {host}\r\n".format(port=serving.server_port) for host in hosts)
        client.sendall(f"GET / HTTP/1.1\r\n{lines}\r\n".encode())
        assert client.makefile("rb").readline().split()[1] == b"400"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("place", ["pipe", "pipe.html", "results/index.html", "results/index.htm", "results/x.parquet"])
def test_named_pipe_counts_as_missing(site, place):
    os.mkfifo(site / place)
    with running(site) as serving:
        for path in (f"/{place}", "/results/"):
            assert get(serving, path)[0] == 404


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"\x16\x03", b"GET /"])
def test_request_has_a_time_limit(site, sent, monkeypatch):
    monkeypatch.setattr(serving_module, "REQUEST_SECONDS", 0.05)
    with running(site) as serving, socket.create_connection(serving.server_address, timeout=60) as client:
        client.sendall(sent)
        assert client.makefile("rb").read() == b""  # the connection is closed


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", None])
def test_request_with_a_foreign_host_header_is_refused(site, host):
    with running(site) as serving:
        port = serving.server_port
        named = f"Host: {host.format(port=port)}\r\n" if host else ""
        reply = raw(serving, f"GET /index.html HTTP/1.1\r\n{named}\r\n".encode())
        assert reply.startswith(b"HTTP/1.0 421 ")
        assert PAGE.encode() not in reply
        assert b"200 OK" in raw(serving, f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())


def test_symbolic_link_out_of_the_site_is_not_followed(site, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.html").write_text(PAGE.replace("data:", "https://secret.example"))
    (site / "secret.txt").symlink_to(tmp_path / "secret.txt")
    (site / "folder").symlink_to(outside)
    for name in ("index.html", "index.htm"):
        (site / name.replace(".", "-")).mkdir()
        (site / name.replace(".", "-") / name).symlink_to(outside / "index.html")
    (site / "loop").symlink_to(site / "loop")
    (site / "inner.html").symlink_to(site / "bare.html")
    with running(site) as serving:
        for path in ("/secret.txt", "/folder/", "/folder/index.html", "/index-html/", "/index-htm/", "/loop"):
            status, headers, body = get(serving, path)
            assert status == 404, path
            assert "secret" not in f"{headers} {body}"
        assert get(serving, "/inner.html")[0] == 200


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /a\0b HTTP/1.1", 404),
        (b"GET /%00 HTTP/1.1", 404),
        (b"GET /%ED%A0%80 HTTP/1.1", 404),
        (b"GET /" + b"a" * 300 + b".html HTTP/1.1", 404),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1", 414),
        (b"GET / HTTP/9.9", 505),
        (b"GET / HTTP/x", 400),
        (b"GET", 400),
        (b"\xff\xfe\0 \0 \0", 400),
        (b"POST / HTTP/1.1", 501),
        (b"GET x://[/../../results HTTP/1.1", 400),
    ],
    ids=lambda value: str(value)[:30],
)
def test_malformed_request_gets_an_error_page(site, request_line, status, capfd):
    with running(site) as serving:
        host = f"127.0.0.1:{serving.server_port}".encode()
        reply = raw(serving, request_line + b"\r\nHost: " + host + b"\r\n\r\n")
        assert b"<p>Error code: %d</p>" % status in reply
        headers = reply.partition(b"<!DOCTYPE")[0]
        assert not headers or b"Content-Security-Policy: default-src 'none'\r\n" in headers
        assert get(serving, "/")[0] == 200
    assert capfd.readouterr().err == ""


def raw(serving, sent):
    """The reply to these bytes."""
    with socket.create_connection(("127.0.0.1", serving.server_port), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as reply:
            return reply.read()


@contextmanager
def serve(*words):
    command = [sys.executable, "-m", "lockstep_bench.leaderboards", "serve", *map(str, words)]
    # A shell that runs the tests in the background has them, and what they start, ignore SIGINT.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    with process:
        try:
            yield process
        finally:
            process.kill()  # a failed assertion must not wait for a server that runs for ever


def test_results_are_served_until_ctrl_c(tmp_path):
    (tmp_path / "results" / "cells").mkdir(parents=True)
    with serve(tmp_path / "results", "--port", "0") as process:
        address = process.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        assert "No cell has finished yet" in urlopen(address, timeout=10).read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""


def test_port_in_use_is_reported(site):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with serve(site, "--port", port) as process:
            said = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert said == f"port {port} is not available: Address already in use; --port 0 takes a free one\n"
