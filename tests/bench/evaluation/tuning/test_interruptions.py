"""A study ends the same way, however often it was interrupted."""

import math

import optuna
import pytest
from optuna.distributions import FloatDistribution
from tuning_runs import ROUNDS, SAMPLERS, SPACE, Crash, Objective, run, trials_of

from lockstep_bench.bench.results import storage
from lockstep_bench.shared.rows.studies import read_study

GP_TRIALS = 8  # five at random, and three that each depend on all before


@pytest.fixture(scope="module")
def optimised(tmp_path_factory):
    """The outcome and trials of a short Bayesian optimisation, run in one go."""
    journal = tmp_path_factory.mktemp("optimised") / "cell.json"
    return run(journal, "gp", trials=GP_TRIALS), trials_of(journal)


@pytest.mark.parametrize("crash_in_round", [0, 1, 3])
def test_resumed_bayesian_optimisation_equals_uninterrupted(optimised, journal, crash_in_round):
    with pytest.raises(Crash):
        run(journal, "gp", Objective(crash_in_round), trials=GP_TRIALS)
    assert (run(journal, "gp", trials=GP_TRIALS), trials_of(journal)) == optimised


@pytest.mark.parametrize(("sampler", "crash_in_round"), [("random", 0), ("tpe", 0), ("tpe", 1), ("tpe", 2)])
def test_resumed_study_equals_uninterrupted_study(undisturbed, journal, sampler, crash_in_round):
    with pytest.raises(Crash):
        run(journal, sampler, Objective(crash_in_round))
    objective = Objective()
    assert (run(journal, sampler, objective), trials_of(journal)) == undisturbed[sampler]
    assert [len(numbers) for numbers in objective.rounds] == ROUNDS[sampler][crash_in_round:]


def test_study_interrupted_repeatedly_equals_uninterrupted_study(undisturbed, journal):
    for _ in range(2):
        for crash_in_round in (0, 1):
            with pytest.raises(Crash):
                run(journal, "tpe", Objective(crash_in_round))
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]


@pytest.fixture
def crash_after(journal, monkeypatch):
    """Run a study that crashes at the call of a method of `optuna.Study` after the first `calls`."""

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


@pytest.mark.parametrize(
    ("sampler", "step", "done"),
    [
        *(("random", "tell", 0), ("random", "tell", 9), ("tpe", "tell", 3), ("tpe", "tell", 12)),
        *((sampler, "ask", done) for sampler in ("random", "tpe") for done in (0, 4, 11)),
    ],
)
def test_partly_proposed_or_scored_round_of_trials_is_repeated(undisturbed, journal, crash_after, sampler, step, done):
    crash_after(sampler, step, done)
    assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler]


@pytest.mark.parametrize("fraction", [0, 0.3, 0.97])
def test_truncated_study_file_starts_a_new_study(undisturbed, journal, fraction):
    run(journal, "tpe")
    written = journal.read_bytes()
    journal.write_bytes(written[: int(fraction * len(written))])
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]


def test_crash_during_a_write_keeps_earlier_rounds(undisturbed, journal, monkeypatch):
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=1))
    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "replace", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            run(journal, "tpe")
    objective = Objective()
    assert (run(journal, "tpe", objective), trials_of(journal)) == undisturbed["tpe"]
    assert objective.rounds[0][0] == 10


def test_each_round_of_trials_is_stored_immediately(journal):
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=1))
    assert [number for number, *_ in trials_of(journal)] == list(range(10))


@SAMPLERS
def test_a_finished_study_is_not_run_again(undisturbed, journal, sampler):
    run(journal, sampler)
    objective = Objective()
    assert run(journal, sampler, objective) == undisturbed[sampler][0]
    assert objective.rounds == []


def test_resumed_study_keeps_failed_trials(journal):
    scores = {4: math.nan, 12: math.inf}
    run(journal.with_name("whole"), "tpe", Objective(scores=scores))
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=2, scores=scores))
    assert run(journal, "tpe", Objective(scores=scores)).n_failed == 2
    assert trials_of(journal) == trials_of(journal.with_name("whole"))


@pytest.mark.parametrize("damage", [(b'"value": ', b'"value": -9'), (b'"lr": ', b'"x": '), (b":", b"")])
@pytest.mark.parametrize("fraction", [0.1, 0.4, 0.9])
def test_damaged_study_is_run_again(undisturbed, journal, damage, fraction):
    run(journal, "tpe")
    written = journal.read_bytes()
    place = written.index(damage[0], int(fraction * len(written)))
    journal.write_bytes(written[:place] + written[place:].replace(*damage, 1))
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]
    objective = Objective()
    run(journal, "tpe", objective)
    assert objective.rounds == []  # the damage is mended


def test_trials_of_another_search_space_are_not_used(undisturbed, journal):
    run(journal, "random", space=SPACE | {"lr": FloatDistribution(1e-5, 1e-1, log=True)})
    assert (run(journal, "random"), trials_of(journal)) == undisturbed["random"]


def test_stored_trials_can_be_added_to_other_optuna_studies(journal):
    """A database as optuna-dashboard opens it holds the trials of a study."""
    run(journal, "tpe")
    study = optuna.create_study(storage=f"sqlite:///{journal.with_suffix('.db')}")
    study.add_trials(read_study(journal).trials)
    assert study.best_params == read_study(journal).best_params


@pytest.mark.parametrize(
    "content", [b"5\n[]\n", b"{}\n", b'{"study": 4}\n', b'{"study": {}, "sha256": 4}\n', b"\xff\xfe\n"]
)
def test_invalid_study_files_start_a_new_study(undisturbed, journal, content):
    journal.parent.mkdir()
    journal.write_bytes(content)
    assert (run(journal, "random"), trials_of(journal)) == undisturbed["random"]


@SAMPLERS
def test_resumed_study_keeps_its_elapsed_time(journal, sampler):
    first = run(journal, sampler).seconds
    assert 0 < first == run(journal, sampler).seconds
