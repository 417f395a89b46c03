"""A study ends the same way, however often it was interrupted."""

import math
import time

import optuna
import pytest
from tuning_runs import GP_TRIALS, ROUNDS, SAMPLERS, Crash, Objective, run, trials_of

from lockstep_bench.bench.tuning import tuner
from lockstep_bench.bench.tuning.journal import SEAL


@pytest.mark.parametrize("crash_in_round", [0, 1, 4])
def test_interrupted_bayesian_optimisation_ends_as_if_undisturbed(optimised, journal, crash_in_round):
    with pytest.raises(Crash):
        run(journal, "gp", Objective(crash_in_round), trials=GP_TRIALS)
    assert (run(journal, "gp", trials=GP_TRIALS), trials_of(journal)) == optimised


@pytest.mark.parametrize(("sampler", "crash_in_round"), [("random", 0), ("tpe", 0), ("tpe", 1), ("tpe", 2)])
def test_an_interrupted_study_goes_on_and_ends_as_if_undisturbed(undisturbed, journal, sampler, crash_in_round):
    with pytest.raises(Crash):
        run(journal, sampler, Objective(crash_in_round))
    objective = Objective()
    assert (run(journal, sampler, objective), trials_of(journal)) == undisturbed[sampler]
    assert [len(numbers) for numbers in objective.rounds] == ROUNDS[sampler][crash_in_round:]


def test_a_study_may_be_interrupted_again_and_again(undisturbed, journal):
    for _ in range(2):
        for crash_in_round in (0, 1):
            with pytest.raises(Crash):
                run(journal, "tpe", Objective(crash_in_round))
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]


@pytest.fixture
def crash_after(journal, monkeypatch):
    """Run a study that crashes when a method of `optuna.Study` has been called so many times."""

    def crash(sampler: str, name: str, calls: int) -> None:
        call, left = getattr(optuna.Study, name), iter(range(calls))

        def fragile(*arguments, **options):
            if next(left, None) is None:
                raise Crash
            return call(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(optuna.Study, name, fragile)
            with pytest.raises(Crash):
                run(journal, sampler)

    return crash


@pytest.mark.parametrize(("sampler", "told"), [("random", 0), ("random", 9), ("tpe", 3), ("tpe", 12)])
def test_a_round_of_which_only_some_trials_were_told_is_run_again(undisturbed, journal, crash_after, sampler, told):
    crash_after(sampler, "tell", told)
    assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
@pytest.mark.parametrize("asked", [0, 4, 11])
def test_a_round_of_which_only_some_trials_were_asked_for_is_run_again(
    undisturbed, journal, crash_after, sampler, asked
):
    crash_after(sampler, "ask", asked)
    assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler]


@pytest.mark.parametrize("fraction", [0, 0.1, 0.3, 0.45, 0.8, 0.97])
def test_a_journal_cut_short_in_the_middle_of_a_round_recovers(undisturbed, journal, fraction):
    """Whole lines and half of the next."""
    run(journal, "tpe")
    lines = journal.read_bytes().splitlines(keepends=True)
    whole = 1 + int(fraction * (len(lines) - 1))
    journal.write_bytes(b"".join(lines[:whole]) + lines[whole][: len(lines[whole]) // 2])
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]


def test_an_empty_journal_is_a_new_study(undisturbed, journal):
    journal.parent.mkdir()
    journal.touch()
    assert (run(journal, "random"), trials_of(journal)) == undisturbed["random"]


def test_a_crash_while_cutting_back_a_journal_loses_no_complete_round(undisturbed, journal, monkeypatch):
    run(journal, "tpe")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:50]))  # 42 of the first round, and some of the second
    with monkeypatch.context() as patch:
        patch.setattr(tuner.os, "replace", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            run(journal, "tpe")
    objective = Objective()
    assert (run(journal, "tpe", objective), trials_of(journal)) == undisturbed["tpe"]
    assert objective.rounds[0][0] == 10


def test_a_round_is_written_at_once(journal):
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=1))
    assert [number for number, *_ in trials_of(journal)] == list(range(10))


@SAMPLERS
def test_a_finished_study_is_not_run_again(undisturbed, journal, sampler):
    run(journal, sampler)
    objective = Objective()
    assert run(journal, sampler, objective) == undisturbed[sampler][0]
    assert objective.rounds == []


def test_an_interrupted_study_keeps_its_failures(journal):
    scores = {4: math.nan, 12: math.inf}
    run(journal.with_name("whole"), "tpe", Objective(scores=scores))
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=2, scores=scores))
    assert run(journal, "tpe", Objective(scores=scores)).n_failed == 2
    assert trials_of(journal) == trials_of(journal.with_name("whole"))


@pytest.mark.parametrize("lines", [0, 42])  # the study's own line; the first of TPE's second round
def test_half_a_line_recovers(undisturbed, journal, lines):
    run(journal, "tpe")
    written = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(written[:lines]) + written[lines][: len(written[lines]) // 2])
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]


@pytest.mark.parametrize(
    "damage", [(b'"values":[', b'"values":[-9'), (b'"param_value_internal":', b'"x":'), (b":", b"")]
)
@pytest.mark.parametrize("fraction", [0.1, 0.4, 0.9])
def test_damaged_round_and_those_after_it_are_run_again(undisturbed, journal, damage, fraction):
    run(journal, "tpe")
    written = journal.read_bytes()
    place = written.index(damage[0], int(fraction * len(written)))
    journal.write_bytes(written[:place] + written[place:].replace(*damage, 1))
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]
    objective = Objective()
    run(journal, "tpe", objective)
    assert objective.rounds == []  # the damage is mended


def test_journal_of_an_earlier_version_is_read_as_it_is(undisturbed, journal):
    run(journal, "tpe")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if SEAL.encode() not in line))
    objective = Objective()
    assert (run(journal, "tpe", objective), trials_of(journal)) == undisturbed["tpe"]
    assert objective.rounds == []


@pytest.mark.parametrize("content", [b"5\n[]\n", b"{}\n", b'{"op_code": 99}\n', b'{"op_code": 4}\n', b"\xff\xfe\n"])
def test_what_is_no_journal_is_a_new_study(undisturbed, journal, content):
    journal.parent.mkdir()
    journal.write_bytes(content)
    assert (run(journal, "random"), trials_of(journal)) == undisturbed["random"]


def test_the_lock_of_a_killed_process_does_not_hold_up_the_next(undisturbed, journal):
    lock = journal.with_name(f"{journal.name}.lock")
    journal.parent.mkdir(parents=True, exist_ok=True)
    lock.symlink_to(journal)
    started = time.monotonic()
    assert (run(journal, "random"), trials_of(journal)) == undisturbed["random"]
    assert time.monotonic() - started < 20  # Optuna would wait 30 s for the dead owner


@pytest.mark.slow
@SAMPLERS
def test_a_journal_cut_short_anywhere_recovers(undisturbed, tmp_path, sampler):
    """Killed before, in the middle of and after the writing of each line."""
    run(tmp_path / "whole", sampler)
    written = (tmp_path / "whole").read_bytes()
    start = 0
    for line in written.splitlines(keepends=True):
        for length in (start, start + len(line) // 2, start + len(line) - 1):
            journal = tmp_path / f"cut-{length}"
            journal.write_bytes(written[:length])
            assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler], f"cut after {length} bytes"
        start += len(line)


@SAMPLERS
def test_the_time_of_a_study_outlives_an_interruption(journal, sampler):
    first = run(journal, sampler).seconds
    assert 0 < first == run(journal, sampler).seconds
