"""Addresses and certificates that are refused before a connection, and an encrypted connection."""

import shutil
import socketserver
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from lockstep_bench.bench.execution.cluster.connection import Tls, check, connected
from lockstep_bench.bench.experiment.request import InvalidRequest

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8786",
        "tcp://127.0.0.1",
        "ucx://host:1",
        "tcp://:8786",
        "tcp://h:x",
        "tcp://h:99999",
        "tcp://h:0",
        "tcp://h:²",
    ],
)
def test_cluster_address_needs_protocol_host_and_port(address):
    with pytest.raises(InvalidRequest, match=r"write tcp://HOST:PORT or tls://HOST:PORT"):
        check(address, Tls())


def test_ipv6_cluster_address_is_accepted():
    check("tcp://[::1]:8786", Tls())


def test_missing_or_unused_tls_files_are_refused(tmp_path):
    ca, cert = tmp_path / "ca.pem", tmp_path / "cert.pem"
    with pytest.raises(InvalidRequest, match=r"--tls-cert .*cert.pem cannot be read: No such file"):
        check("tls://host:1", Tls(cert=cert))
    with pytest.raises(InvalidRequest, match=r"--tls-key xxx.* \.\.\. .*xxx cannot be read: it is too long"):
        check("tls://host:1", Tls(key=Path("x" * 5000)))
    ca.touch()
    cert.touch()
    with pytest.raises(
        InvalidRequest, match=r"--tls-ca-file with --cluster tcp://host:1 would encrypt nothing; write tls://"
    ):
        check("tcp://host:1", Tls(ca_file=ca))
    with pytest.raises(InvalidRequest, match="only --tls-ca-file of"):
        check("tls://host:1", Tls(ca_file=ca))
    check("tls://host:1", Tls(ca, cert))


def test_without_certificates_nothing_is_sent_to_a_tls_address():
    with (
        pytest.raises(InvalidRequest, match=r"needs certificates; give --tls-ca-file"),
        connected("tls://127.0.0.1:9", Tls()),
    ):
        pass


def test_missing_library_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidRequest, match=r"pip install 'lockstep-bench\[cluster\]'"), connected("tcp://h:1", Tls()):
        pass


def test_missing_scheduler_is_reported(monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.execution.cluster.connection.CONNECT_SECONDS", 0.5)
    nobody = "tcp://127.0.0.1:9"
    with pytest.raises(InvalidRequest, match=f"no Dask scheduler answered at {nobody}"), connected(nobody, Tls()):
        pass


def test_scheduler_address_dropping_packets_is_reported(firewall, monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.execution.cluster.connection.CONNECT_SECONDS", 1)
    nobody = f"tcp://127.0.0.1:{firewall}"
    refused = pytest.raises(InvalidRequest, match=f"no Dask scheduler answered at {nobody} within 1 seconds")
    with refused, connected(nobody, Tls()):
        pass


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 64, b""])
def test_server_that_is_no_dask_scheduler_is_refused(greeting, monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.execution.cluster.connection.CONNECT_SECONDS", 2)

    class Other(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(greeting)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Other) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(InvalidRequest, match="no Dask scheduler answered"), connected(address, Tls()):
            pass
        server.shutdown()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
def test_tls_accepts_only_certificates_of_the_authority(machines, monkeypatch):
    own, strange = (authority(machines.folder / name) for name in ("own", "strange"))
    monkeypatch.setattr("lockstep_bench.bench.execution.cluster.connection.CONNECT_SECONDS", 5)
    files = ("--tls-ca-file", own.ca_file, "--tls-cert", own.cert, "--tls-key", own.key)
    address = machines.scheduler(*files, host="tls://127.0.0.1")
    assert address.startswith("tls://")
    machines.worker(address, *files, host="tls://127.0.0.1")
    with connected(address, own) as client:
        assert client.submit(sum, [1, 2]).result(30) == 3
    with pytest.raises(InvalidRequest, match="no Dask scheduler answered"), connected(address, strange):
        pass
    with pytest.raises(InvalidRequest), connected(address.replace("tls", "tcp"), Tls()):
        pass


def authority(folder: Path) -> Tls:
    """A certificate that is its own authority."""
    folder.mkdir()
    files = Tls(folder / "cert.pem", folder / "cert.pem", folder / "key.pem")
    kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")
    command = ["openssl", "req", *kind, "-subj", "/CN=lockstep-bench", "-keyout", files.key, "-out", files.cert]
    subprocess.run(command, check=True, capture_output=True)
    return files
