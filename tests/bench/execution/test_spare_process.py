"""A process that was started ahead serves one worker of its environment."""

import gc
import os
import subprocess
import sys

import pytest

from lockstep_bench.bench.execution import spare_process as module


def variable(name, *, on_progress):
    return os.environ.get(name)


def imported(name, *, on_progress):
    return name in sys.modules


def garbage_collection(*, on_progress):
    return gc.isenabled(), gc.get_freeze_count()


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


def test_imported_modules_are_never_searched_for_cycles(spare):
    spare.start({})
    process = spare.process_of({})
    enabled, frozen = process.call(garbage_collection)
    assert enabled
    assert frozen > 1000  # a class or a function of a module is an object
    process.end()


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


def test_waiting_process_answers_and_then_serves_a_worker(spare):
    spare.start({})
    _, started = spare._waiting
    assert spare.answer(os.getpid) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        spare.answer(divmod, 1, 0)
    process = spare.process_of({})
    assert process is started
    assert process.call(imported, "colorsys")
    process.end()


def test_questions_without_waiting_process_are_answered_here(spare):
    assert spare.answer(os.getpid) == os.getpid()
    spare.start({})
    spare._waiting[1].end()
    spare.end()
    assert spare.answer(os.getpid) == os.getpid()


def test_question_that_kills_the_process_is_answered_here(spare):
    spare.start({})
    _, started = spare._waiting
    assert spare.answer(end_child, os.getpid()) == os.getpid()
    assert not started.alive


def end_child(parent):
    if os.getpid() != parent:
        os._exit(3)
    return parent


def test_planning_with_a_waiting_process_imports_no_torch():
    program = (
        "import sys\n"
        "from lockstep_bench.run import Spare, answered_by, resolve, workers_on\n"
        "from lockstep_bench.bench.console import passes\n"
        "from lockstep_bench.bench.costs.batching import rows_of\n"
        "from lockstep_bench.bench.experiment.request import Request\n"
        "if __name__ == '__main__':\n"
        "    with Spare() as spare, answered_by(spare.answer):\n"
        "        spare.start(workers_on(['cpu'], 1)[0].environment)\n"
        "        request = Request('uci', 'paper', ['mfvi', 'ensemble:map'], ['yacht'], [0], {}, 0)\n"
        "        cells = resolve([request], None, fetch=False).cells\n"
        "        assert [rows_of(cell) for cell in cells] in ([], [150, 750])\n"
        "        assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
