"""Shared by all tests: one thread each, since the runner already uses every core; and methods that go wrong."""

import ast
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch
from results_of_cells import result_of  # noqa: F401 (a fixture)
from this_process import jobs_run_here  # noqa: F401 (a fixture)

from lockstep_bench.methods.catalogue import registry

torch.set_num_threads(1)

TESTS = Path(__file__).resolve().parent
collect_ignore = ["assets"]  # packages of others with tests of their own
FAULTY = TESTS / "faulty.py"

# Folders and files, by the start of their path, whose tests train, sample, start processes or build a site.
# All other tests are unit tests; `make unit` runs them in under three minutes.
INTEGRATION = (
    "bench/arrays",
    "bench/conformance",
    "bench/console",
    "bench/costs",
    "bench/engine/test_explanations.py",
    "bench/engine/test_graph_capture.py",
    "bench/engine/test_native_training.py",
    "bench/engine/test_stacked_training.py",
    "bench/evaluation",
    "bench/execution",
    "bench/reference",
    "bench/streams",
    "lockstep_bench/shared/test_door.py",
    "bench/evaluation/tuning",
    "benchmarks",
    "datasets/own/test_package.py",
    "documents/test_fences.py",
    "documents/test_site.py",
    "faults",
    "fuzz",
    "leaderboards/browser",
    "leaderboards/publishing",
    "leaderboards/rechecks/test_again.py",
    "leaderboards/site",
    "leaderboards/test_main.py",
    "methods/catalogue/test_foreign_packages.py",
    "methods/catalogue/test_outside_packages.py",
    "methods/catalogue/test_scaffold.py",
    "methods/maths/test_factor_analysis.py",
    "methods/mcmc",
    "methods/test_inducing.py",
    "lockstep_bench/commands",
    "methods/test_mfvi.py",
    "methods/test_online_fa.py",
    "methods/test_slang.py",
    "methods/test_student_t_noise.py",
    "methods/test_vifa.py",
    "methods/test_variational_laplace.py",
    "paper/test_kept_rows.py",
    "test_docs.py",
    "test_docs_numbers.py",
    "test_python_docs.py",
    "test_own_data.py",
    "test_run_all.py",
)
# Tests in a browser or across processes can fail by the load of the machine, so they are retried once.
RETRIED = ("bench/execution", "faults", "leaderboards/browser", "test_own_data.py", "test_run_all.py")

# Folders and files, by the start of their path, whose tests share what takes seconds to make: compiled functions, kept
# rows, a site, a browser. One process of pytest-xdist runs all tests of a line, and makes it once.
TOGETHER = (
    ("bench/native/test_elementary.py", "bench/native/test_random.py"),
    ("bench/native/test_linalg.py",),
    ("bench/native/test_operators.py",),
    ("leaderboards/browser",),
    ("leaderboards/site/pages",),
    ("lockstep_bench/test_one_name.py",),
    ("test_docs_numbers.py", "leaderboards/replications/test_kept_entries.py", "paper/test_kept_rows.py"),
)

# Unit tests of what only one system has: counters of memory below /proc, and limits that only Linux enforces.
LINUX = ("bench/environment/test_memory.py", "lockstep_bench/shared/test_limits.py")
# Unit tests of what Windows lacks: links and pipes between files, permissions, compilers called as on Unix.
POSIX = (
    "bench/experiment/test_code.py",
    "bench/experiment/test_parsing.py",
    "bench/native",
    "bench/results",
    "datasets/images/test_aptos.py",
    "datasets/images/test_idx.py",
    "datasets/own/test_files.py",
    "datasets/storage/test_download.py",
    "datasets/test_loading.py",
    "leaderboards/data",
    "leaderboards/publishing",
    "lockstep_bench/test_one_name.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled training loops from session to session, where all processes of the tests find them.

    Processes that start from here, those of pytest-xdist among them, get one thread each for NumPy's linear algebra,
    too. With more of them than cores, its threads would take most of their time to wait for each other.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("BENCH_NATIVE_CACHE", str(config.rootpath / ".pytest_cache" / "native"))
    os.environ.setdefault("BENCH_ROWS_CACHE", str(config.rootpath / ".pytest_cache" / "rows"))
    os.environ.setdefault("BENCH_CODE_CACHE", str(config.rootpath / ".pytest_cache" / "code"))


def pytest_xdist_auto_num_workers() -> int:
    """Return the processes of `-n auto`: one more than there are cores, as tests across processes often wait."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder, and put the long ones first, so that no process is left alone with one at the end."""
    for item in items:
        path = item.path.relative_to(TESTS).as_posix()
        for starts in filter(path.startswith, TOGETHER):
            item.add_marker(pytest.mark.xdist_group(starts[0]))
        if path.startswith(INTEGRATION):
            item.add_marker(pytest.mark.integration)
        if path.startswith(RETRIED):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if sys.platform != "linux" and path.startswith(LINUX):
            item.add_marker(pytest.mark.skip(reason="for Linux alone"))
        if sys.platform == "win32" and path.startswith(POSIX):
            item.add_marker(pytest.mark.skip(reason="for Linux and macOS alone"))
    items.sort(key=lambda item: not item.path.relative_to(TESTS).as_posix().startswith(RETRIED))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Every test draws the same numbers from torch's global generator, whichever tests ran in its process before."""
    torch.manual_seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of this test alone: one of its module would give numbers that depend on the tests before it."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def skip_unless_required() -> Callable[[str, str], None]:
    """`skip_unless_required(variable, reason)`: skip the test, or fail it where that environment variable is 1."""

    def skip_unless_required(variable: str, reason: str) -> None:
        if os.environ.get(variable) == "1":
            pytest.fail(f"{reason}, and {variable}=1 asks for it")
        pytest.skip(reason)

    return skip_unless_required


@pytest.fixture
def firewall() -> Iterator[int]:
    """A port of this machine whose packets are dropped, as by a firewall: nothing answers, and nothing refuses."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # a full queue, of which nobody accepts
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        try:
            socket.create_connection(listener.getsockname(), timeout=0.5).close()
        except TimeoutError:
            yield listener.getsockname()[1]
        else:
            pytest.skip("this system answers although the queue is full")


@pytest.fixture(scope="session")
def install_faulty() -> Callable[..., Path]:
    """Installs the methods of `faulty.py` into a folder, as pip would; `others` are further entry points."""

    def install(site: Path, **others: str) -> Path:
        info = site / "faulty-1.0.dist-info"
        info.mkdir(parents=True)
        shutil.copy(FAULTY, site)
        classes = [node for node in ast.parse(FAULTY.read_text()).body if isinstance(node, ast.ClassDef)]
        names = {ast.literal_eval(node.body[0].value): node.name for node in classes}
        points = {name: f"faulty:{kind}" for name, kind in names.items()} | others
        lines = [f"[{registry.GROUP}]", *(f"{name} = {target}" for name, target in points.items())]
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(lines))
        return site

    return install


@pytest.fixture
def faulty(install_faulty, tmp_path, monkeypatch):
    """The methods of `faulty.py` are installed, here and in processes that are started from here."""
    monkeypatch.syspath_prepend(install_faulty(tmp_path / "site"))
    registry._targets.cache_clear()
    yield
    registry._targets.cache_clear()
