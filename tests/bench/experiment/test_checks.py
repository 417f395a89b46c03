"""A run knows whether the present code of an outside method has passed its check."""

from importlib.metadata import EntryPoint

import pytest

from lockstep_bench.bench.conformance import Finding, parallel
from lockstep_bench.bench.conformance.parallel import check_each
from lockstep_bench.bench.environment import code_identity
from lockstep_bench.bench.experiment.checks import keep_outcome, outcome_of_check
from lockstep_bench.methods.catalogue import registry

SOURCE = 'from lockstep_bench.methods.map import MAP\nclass Theirs(MAP):\n    name = "theirs"\n    RATE = 1\n'


def forget_sources() -> None:
    for cached in vars(code_identity).values():
        if hasattr(cached, "cache_clear") and cached.__module__ == code_identity.__name__:
            cached.cache_clear()


@pytest.fixture
def module(monkeypatch, tmp_path):
    """The file of an outside method `theirs`, with an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "checked_theirs.py"
    file.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("theirs", "checked_theirs:Theirs", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    registry._targets.cache_clear()
    forget_sources()
    yield file
    registry._targets.cache_clear()
    forget_sources()


@pytest.mark.parametrize(("failed", "outcome"), [((), "passed"), (("deterministic",), "failed")])
def test_outcome_of_a_conformance_check_is_remembered(module, failed, outcome):
    assert outcome_of_check("theirs") == "not checked"
    keep_outcome("theirs", failed)
    assert [outcome_of_check(name) for name in ("theirs", "ensemble:theirs", "theirs(rate=2)")] == [outcome] * 3


def test_outcome_of_changed_code_is_forgotten(module):
    keep_outcome("theirs", ())
    module.write_text(SOURCE.replace("RATE = 1", "RATE = 2"))
    forget_sources()
    assert outcome_of_check("theirs") == "not checked"


def test_built_in_methods_have_no_recorded_check_outcome(module, tmp_path):
    keep_outcome("map", ())
    assert outcome_of_check("map") is None
    assert outcome_of_check("batch-svd") is None
    assert not (tmp_path / "cache").exists()


def test_conformance_check_records_its_outcome(module, monkeypatch):
    findings = [Finding("first", True, "fine"), Finding("second", True, "slow", warned=True)]
    monkeypatch.setattr(parallel.conformance, "check", lambda method, device: iter(findings))
    assert len(list(check_each(["theirs"], 1))) == 2
    assert outcome_of_check("theirs") == "passed"
