"""Checks of several methods run in parallel, and their findings come in the order of the names."""

import pytest

from lockstep_bench.bench import conformance
from lockstep_bench.bench.conformance import Finding, parallel
from lockstep_bench.bench.conformance.parallel import check_each
from lockstep_bench.methods import UnknownMethod

NAMES = ["map", "swa", "hmc"]


class ImmediateParallel:
    """Stands for `joblib.Parallel`, and gives results in the reverse order of the calls."""

    def __init__(self, n_jobs, **options):
        self.n_jobs = n_jobs

    def __call__(self, calls):
        for function, arguments, options in reversed(list(calls)):
            yield function(*arguments, **options)


@pytest.fixture(autouse=True)
def stub(monkeypatch):
    """Let each check have two findings, and leave this process's settings alone."""
    monkeypatch.setattr(parallel, "settle", lambda: None)

    def check(method, device):
        yield Finding("first", True, f"of {method.name}")
        yield Finding("second", True, "fine")

    monkeypatch.setattr(conformance, "check", check)


def test_parallel_findings_keep_the_order_of_methods(monkeypatch):
    alone = list(check_each(NAMES, 1))
    monkeypatch.setattr(parallel.joblib, "Parallel", ImmediateParallel)
    done = []
    assert list(check_each(NAMES, 2, done.append)) == alone
    assert [name for name, _ in alone] == [name for name in NAMES for _ in range(2)]
    assert done == ["swa", "map", "hmc"]  # `hmc`, which cannot be stacked, is started first


def test_single_process_yields_each_finding_at_once(monkeypatch):
    def check(method, device):
        yield Finding("first", True, "fine")
        raise KeyboardInterrupt

    monkeypatch.setattr(conformance, "check", check)
    assert next(check_each(["map"], 4)) == ("map", Finding("first", True, "fine"))


def test_unknown_method_is_refused_before_any_check():
    with pytest.raises(UnknownMethod):
        next(check_each(["map", "mapp"], 1))


@pytest.mark.slow
@pytest.mark.integration
def test_worker_processes_check_registered_methods(monkeypatch):
    monkeypatch.undo()
    titles = [(name, finding.check) for name, finding in check_each(["map", "constant"], 2) if finding.passed]
    assert titles == [(name, title) for name in ("map", "constant") for title in conformance.RULES]
