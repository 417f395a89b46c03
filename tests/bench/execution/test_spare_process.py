"""A process that was started ahead serves one worker of its environment."""

import os
import sys

import pytest

from lockstep_bench.bench.execution import spare_process as module


def variable(name, *, on_progress):
    return os.environ.get(name)


def imported(name, *, on_progress):
    return name in sys.modules


@pytest.fixture
def spare(monkeypatch):
    monkeypatch.setattr(module, "IMPORTED", ("colorsys", "no_such_module"))
    with module.Spare() as made:
        yield made


def test_spare_process_serves_only_one_worker(spare):
    spare.start({"SPARE": "1"})
    _, started = spare._waiting
    first, second = spare.process_of({"SPARE": "1"}), spare.process_of({"SPARE": "1"})
    assert first is started
    assert second is not started
    assert [process.call(variable, "SPARE") for process in (first, second)] == ["1", "1"]
    first.end()
    second.end()


def test_spare_process_serves_only_its_environment(spare):
    spare.start({"SPARE": "1"})
    process = spare.process_of({"SPARE": "2"})
    assert process.call(variable, "SPARE") == "2"
    process.end()


def test_ended_spare_process_is_not_used(spare):
    spare.start({"SPARE": "1"})
    _, started = spare._waiting
    spare.end()
    process = spare.process_of({"SPARE": "1"})
    assert process is not started
    process.end()


@pytest.mark.parametrize("ahead", [True, False])
def test_every_process_imports_before_its_first_call(spare, ahead):
    if ahead:
        spare.start({})
    process = spare.process_of({})
    assert process.call(imported, "colorsys")
    process.end()
