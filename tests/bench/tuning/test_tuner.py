"""A study ends the same way, however often it was interrupted."""

import math
import time
from itertools import chain

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from bench.experiment.protocol import Protocol
from bench.tuning import tuner
from bench.tuning.tuner import ABSURD_NMLL, Centred, Diverged, Search, Tuned, mean_over_folds, n_combinations, tune

SPACE = {"lr": FloatDistribution(1e-4, 1e-1, log=True), "precision": FloatDistribution(0.01, 10, log=True)}
TRIALS = 17  # for TPE rounds of 10, 5 and 2
ROUNDS = {"random": [17], "grid": [17], "tpe": [10, 5, 2]}
GP_TRIALS = 12


class Crash(BaseException):
    """As sudden as a kill."""


class Objective:
    """(log10 lr + 2)^2 + log10(precision)^2, except `scores[number]`; crashes in the given round of this run."""

    def __init__(self, crash_in_round: int | None = None, scores: dict[int, float] | None = None):
        self.rounds, self.crash_in_round, self.scores = [], crash_in_round, scores or {}

    def __call__(self, trials):
        if len(self.rounds) == self.crash_in_round:
            raise Crash
        self.rounds.append([number for number, _ in trials])
        return [self.scores.get(number, self.of(hparams)) for number, hparams in trials]

    @staticmethod
    def of(hparams):
        return (math.log10(hparams["lr"]) + 2) ** 2 + math.log10(hparams["precision"]) ** 2


def run(journal, sampler="tpe", objective=None, seed=0, trials=TRIALS) -> Tuned:
    objective, protocol = objective or Objective(), Protocol(trials=trials, sampler=sampler)
    search = Search(journal, SPACE, protocol, seed)
    tune([search], protocol, lambda due: [objective(trials) for _, trials in due])
    return search.best()


def trials_of(journal) -> list[tuple]:
    """Number, hyper-parameters, score and state of every trial, as any reader of the journal sees them."""
    study = optuna.load_study(study_name="cell", storage=JournalStorage(JournalFileBackend(str(journal))))
    return [(trial.number, trial.params, trial.value, trial.state) for trial in study.trials]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The outcome and trials of each sampler's study, run in one go."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return {name: (run(folder / name, name), trials_of(folder / name)) for name in ROUNDS}


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "study" / "cell.jsonl"


samplers = pytest.mark.parametrize("sampler", ROUNDS)


@samplers
def test_the_outcome_is_the_best_trial(undisturbed, sampler):
    tuned, trials = undisturbed[sampler]
    assert [number for number, *_ in trials] == list(range(TRIALS))
    assert tuned.score == min(Objective.of(hparams) for _, hparams, *_ in trials)
    assert Objective.of(tuned.hparams) == tuned.score
    assert (tuned.n_trials, tuned.n_failed) == (TRIALS, 0)


@samplers
def test_every_trial_lies_in_the_space_and_is_told_its_own_score(undisturbed, sampler):
    _, trials = undisturbed[sampler]
    for _, hparams, value, state in trials:
        assert 1e-4 <= hparams["lr"] <= 1e-1
        assert 0.01 <= hparams["precision"] <= 10
        assert value == Objective.of(hparams)
        assert state == TrialState.COMPLETE
    assert len({hparams["lr"] for _, hparams, *_ in trials}) == TRIALS


@samplers
def test_a_seed_gives_the_same_trials_every_time(undisturbed, journal, sampler):
    assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler]


@samplers
def test_another_seed_gives_other_trials(undisturbed, journal, sampler):
    run(journal, sampler, seed=1)
    of_zero = {hparams["lr"] for _, hparams, *_ in undisturbed[sampler][1]}
    of_one = {hparams["lr"] for _, hparams, *_ in trials_of(journal)}
    assert of_zero.isdisjoint(of_one)


def test_seeds_beyond_32_bits_are_told_apart(journal):
    run(journal, "random", seed=2**62, trials=2)
    run(journal.with_name("other"), "random", seed=2**62 + 2**32, trials=2)
    assert trials_of(journal)[0][1] != trials_of(journal.with_name("other"))[0][1]


def test_grid_search_tries_every_combination_of_choices(journal):
    space = {"eta": CategoricalDistribution((0.1, 1.0, 10.0)), "width": CategoricalDistribution((5, 50))} | SPACE
    protocol = Protocol(trials=8, sampler="grid")
    search = Search(journal, space, protocol, 0)
    tune([search], protocol, lambda due: [[0.0] * len(trials) for _, trials in due])
    tried = [hparams for _, hparams, *_ in trials_of(journal)]
    combinations = [(eta, width) for eta in (0.1, 1.0, 10.0) for width in (5, 50)]
    assert [(hparams["eta"], hparams["width"]) for hparams in tried] == combinations + combinations[:2]
    assert len({hparams["lr"] for hparams in tried}) == 8  # ranges of numbers are drawn


def test_combinations_are_counted_unless_a_range_is_searched():
    eta, point = CategoricalDistribution((0.1, 1.0, 10.0)), FloatDistribution(0.5, 0.5)
    assert n_combinations({"eta": eta, "width": CategoricalDistribution((5, 50)), "lr": point}) == 6
    assert n_combinations({"lr": point}) == 1
    assert n_combinations({"eta": eta, "lr": SPACE["lr"]}) is None


@samplers
def test_a_round_is_trained_together(journal, sampler):
    objective = Objective()
    run(journal, sampler, objective)
    assert [len(numbers) for numbers in objective.rounds] == ROUNDS[sampler]
    assert list(chain(*objective.rounds)) == list(range(TRIALS))


@pytest.mark.parametrize("trials", [1, 10, 11, 15, 16])
def test_the_last_round_of_tpe_is_as_long_as_what_is_left(journal, trials):
    objective = Objective()
    assert run(journal, "tpe", objective, trials=trials).n_trials == trials
    assert list(chain(*objective.rounds)) == list(range(trials))


def test_random_search_never_looks_at_scores_but_tpe_does(undisturbed, journal):
    mirrored = {number: -score for number, _, score, _ in undisturbed["tpe"][1]}
    for sampler, looks in (("random", False), ("tpe", True)):
        path = journal.with_name(sampler)
        run(path, sampler, Objective(scores=mirrored))
        one, other = ([hparams for _, hparams, *_ in trials] for trials in (undisturbed[sampler][1], trials_of(path)))
        assert one[:10] == other[:10]
        assert (one[10:] != other[10:]) == looks


def test_a_longer_random_search_begins_as_the_shorter(undisturbed, journal):
    run(journal, "random", trials=5)
    assert trials_of(journal) == undisturbed["random"][1][:5]


def test_tpe_learns_from_the_rounds_before(journal):
    """After 10 random trials, 20 of TPE's are better on average on a quadratic bowl."""
    run(journal, "tpe", trials=30)
    scores = [score for *_, score, _ in trials_of(journal)]
    assert np.mean(scores[10:]) < np.mean(scores[:10])


@pytest.fixture(scope="module")
def optimised(tmp_path_factory):
    """The outcome and trials of Bayesian optimisation, run in one go."""
    journal = tmp_path_factory.mktemp("optimised") / "cell.jsonl"
    return run(journal, "gp", trials=GP_TRIALS), trials_of(journal)


def test_bayesian_optimisation_trains_a_trial_at_a_time(optimised, journal):
    objective = Objective()
    run(journal, "gp", objective, trials=GP_TRIALS)
    assert [len(numbers) for numbers in objective.rounds] == [5, *[1] * (GP_TRIALS - 5)]
    assert trials_of(journal) == optimised[1]


def test_bayesian_optimisation_finds_the_minimum(optimised):
    """A quadratic in the logarithms, whose minimum 0 lies inside the ranges."""
    tuned, trials = optimised
    assert tuned.score < 0.1 * min(score for *_, score, _ in trials[:5])
    assert tuned.score < 0.02


@pytest.mark.parametrize("bad", [math.nan, 1e5])
def test_a_diverged_trial_does_not_mislead_bayesian_optimisation(journal, bad):
    tuned = run(journal, "gp", Objective(scores={1: bad}), trials=GP_TRIALS)
    assert tuned.score < 0.1


def test_bayesian_optimisation_without_a_usable_trial_is_random(journal):
    with pytest.raises(Diverged):
        run(journal, "gp", Objective(scores=dict.fromkeys(range(7), math.nan)), trials=7)
    assert len({hparams["lr"] for _, hparams, *_ in trials_of(journal)}) == 7


@pytest.mark.parametrize("crash_in_round", [0, 1, 4])
def test_interrupted_bayesian_optimisation_ends_as_if_undisturbed(optimised, journal, crash_in_round):
    with pytest.raises(Crash):
        run(journal, "gp", Objective(crash_in_round), trials=GP_TRIALS)
    assert (run(journal, "gp", trials=GP_TRIALS), trials_of(journal)) == optimised


# Interruptions


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


@pytest.mark.parametrize(("sampler", "told"), [("random", 0), ("random", 9), ("tpe", 3), ("tpe", 12)])
def test_a_round_of_which_only_some_trials_were_told_is_run_again(undisturbed, journal, monkeypatch, sampler, told):
    tell, count = optuna.Study.tell, 0

    def fragile(*arguments, **options):
        nonlocal count
        count += 1
        if count > told:
            raise Crash
        return tell(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "tell", fragile)
        with pytest.raises(Crash):
            run(journal, sampler)
    assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
@pytest.mark.parametrize("asked", [0, 4, 11])
def test_a_round_of_which_only_some_trials_were_asked_for_is_run_again(
    undisturbed, journal, monkeypatch, sampler, asked
):
    ask, count = optuna.Study.ask, 0

    def fragile(*arguments, **options):
        nonlocal count
        count += 1
        if count > asked:
            raise Crash
        return ask(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "ask", fragile)
        with pytest.raises(Crash):
            run(journal, sampler)
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


@samplers
def test_a_finished_study_is_not_run_again(undisturbed, journal, sampler):
    run(journal, sampler)
    objective = Objective()
    assert run(journal, sampler, objective) == undisturbed[sampler][0]
    assert objective.rounds == []


# Failures


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, ABSURD_NMLL, 1e300])
@samplers
def test_a_trial_that_diverged_is_failed_and_never_best(undisturbed, journal, sampler, bad):
    best = min(undisturbed[sampler][1], key=lambda trial: trial[2])[0]
    tuned = run(journal, sampler, Objective(scores={2: bad, best: bad}))
    trials = trials_of(journal)
    failed = {number for number, _, _, state in trials if state == TrialState.FAIL}
    assert failed == {2, best}
    assert (tuned.n_trials, tuned.n_failed) == (TRIALS, len(failed))
    assert tuned.score == min(score for number, _, score, _ in trials if number not in failed)


def test_a_bad_score_short_of_absurd_counts(journal):
    scores = dict.fromkeys(range(3), 0.999 * ABSURD_NMLL)
    assert run(journal, "random", Objective(scores=scores), trials=3).n_failed == 0


@samplers
def test_a_study_without_a_usable_trial_says_so_every_time(journal, sampler):
    objective = Objective(scores=dict.fromkeys(range(TRIALS), math.nan))
    for _ in range(2):
        with pytest.raises(Diverged, match=f"all {TRIALS} trials"):
            run(journal, sampler, objective)
    assert [len(numbers) for numbers in objective.rounds] == ROUNDS[sampler]


def test_tpe_with_nothing_to_learn_from_still_never_repeats_a_trial(journal):
    with pytest.raises(Diverged):
        run(journal, "tpe", Objective(scores=dict.fromkeys(range(TRIALS), math.nan)))
    assert len({hparams["lr"] for _, hparams, *_ in trials_of(journal)}) == TRIALS


def test_all_trials_failing_is_arithmetic():
    """Which is how a worker tells a diverged cell from a broken one."""
    assert issubclass(Diverged, ArithmeticError)


def test_an_interrupted_study_keeps_its_failures(journal):
    scores = {4: math.nan, 12: math.inf}
    run(journal.with_name("whole"), "tpe", Objective(scores=scores))
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=2, scores=scores))
    assert run(journal, "tpe", Objective(scores=scores)).n_failed == 2
    assert trials_of(journal) == trials_of(journal.with_name("whole"))


def test_without_a_search_every_value_is_the_middle_of_its_range():
    space = SPACE | {"rate": FloatDistribution(0.1, 0.5), "kind": CategoricalDistribution([3, 1])}
    found = Centred(space).best()
    assert found.hparams == pytest.approx({"lr": 10**-2.5, "precision": 10**-0.5, "rate": 0.3, "kind": 3})
    assert (found.score, found.n_trials, found.seconds) == (None, 0, None)
    assert list(Protocol(sampler="centre").rounds()) == []


def test_a_trials_objective_is_the_mean_of_its_own_folds():
    scores = np.array([1.0, 2, 3, 10, 20, 30])
    assert mean_over_folds(scores, 3) == [2, 20]
    assert mean_over_folds(scores, 2) == [1.5, 6.5, 25]


def test_one_diverged_fold_spoils_its_own_trial_alone():
    first, second = mean_over_folds(np.array([1.0, math.nan, 3.0, 5.0]), 2)
    assert math.isnan(first)
    assert second == 4


@pytest.mark.parametrize("lines", [0, 42])  # the study's own line; the first of TPE's second round
def test_half_a_line_recovers(undisturbed, journal, lines):
    run(journal, "tpe")
    written = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(written[:lines]) + written[lines][: len(written[lines]) // 2])
    assert (run(journal, "tpe"), trials_of(journal)) == undisturbed["tpe"]


def test_the_lock_of_a_killed_process_does_not_hold_up_the_next(undisturbed, journal):
    lock = journal.with_name(f"{journal.name}.lock")
    journal.parent.mkdir(parents=True, exist_ok=True)
    lock.symlink_to(journal)
    started = time.monotonic()
    assert (run(journal, "random"), trials_of(journal)) == undisturbed["random"]
    assert time.monotonic() - started < 20  # Optuna would wait 30 s for the dead owner


@pytest.mark.slow
@samplers
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


@samplers
def test_the_time_of_a_study_outlives_an_interruption(journal, sampler):
    first = run(journal, sampler).seconds
    assert 0 < first == run(journal, sampler).seconds


@samplers
def test_studies_side_by_side_end_as_each_does_alone(undisturbed, journal, sampler):
    protocol = Protocol(trials=TRIALS, sampler=sampler)
    searches = [Search(journal.with_name(str(seed)), SPACE, protocol, seed) for seed in (0, 1, 2)]
    together = []

    def objective(due):
        together.append(len(due))
        return [[Objective.of(hparams) for _, hparams in trials] for _, trials in due]

    tune(searches, protocol, objective)
    assert together == [3] * len(ROUNDS[sampler])
    assert searches[0].best() == undisturbed[sampler][0]
    assert len({search.best().score for search in searches}) == 3


def test_a_study_that_is_ahead_waits_for_the_others(undisturbed, journal):
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=2))
    protocol = Protocol(trials=TRIALS, sampler="tpe")
    searches = [Search(path, SPACE, protocol, seed=0) for path in (journal, journal.with_name("behind"))]
    seen = []

    def objective(due):
        seen.append([(search is searches[0], trials[0][0]) for search, trials in due])
        return [[Objective.of(hparams) for _, hparams in trials] for _, trials in due]

    tune(searches, protocol, objective)
    assert seen == [[(False, 0)], [(False, 10)], [(True, 15), (False, 15)]]
    assert [search.best() for search in searches] == [undisturbed["tpe"][0]] * 2
