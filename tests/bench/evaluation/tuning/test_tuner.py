"""Trials that samplers draw, and the results of studies."""

import math
from itertools import chain

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState
from tuning_runs import GP_TRIALS, ROUNDS, SAMPLERS, SPACE, TRIALS, Crash, Objective, run, trials_of

from lockstep_bench.bench.evaluation.tuning.tuner import (
    ABSURD_NMLL,
    FLAW,
    Centred,
    Diverged,
    Score,
    Search,
    mean_score,
    n_combinations,
    rounds,
)
from lockstep_bench.shared.protocol import Protocol


@SAMPLERS
def test_search_returns_the_best_trial(undisturbed, sampler):
    tuned, trials = undisturbed[sampler]
    assert [number for number, *_ in trials] == list(range(TRIALS))
    assert tuned.score == min(Objective.of(hparams) for _, hparams, *_ in trials)
    assert Objective.of(tuned.hparams) == tuned.score
    assert (tuned.n_trials, tuned.n_failed) == (TRIALS, 0)


@SAMPLERS
def test_trials_lie_in_the_search_space_with_their_scores(undisturbed, sampler):
    _, trials = undisturbed[sampler]
    for _, hparams, value, state in trials:
        assert 1e-4 <= hparams["lr"] <= 1e-1
        assert 0.01 <= hparams["precision"] <= 10
        assert value == Objective.of(hparams)
        assert state == TrialState.COMPLETE
    assert len({hparams["lr"] for _, hparams, *_ in trials}) == TRIALS


@SAMPLERS
def test_same_seed_gives_the_same_trials(undisturbed, journal, sampler):
    assert (run(journal, sampler), trials_of(journal)) == undisturbed[sampler]


@SAMPLERS
def test_different_seeds_give_different_trials(undisturbed, journal, sampler):
    run(journal, sampler, seed=1)
    of_zero = {hparams["lr"] for _, hparams, *_ in undisturbed[sampler][1]}
    of_one = {hparams["lr"] for _, hparams, *_ in trials_of(journal)}
    assert of_zero.isdisjoint(of_one)


def test_seeds_beyond_32_bits_give_different_trials(journal):
    run(journal, "random", seed=2**62, trials=2)
    run(journal.with_name("other"), "random", seed=2**62 + 2**32, trials=2)
    assert trials_of(journal)[0][1] != trials_of(journal.with_name("other"))[0][1]


def test_grid_search_tries_every_combination_of_choices(journal):
    space = {"eta": CategoricalDistribution((0.1, 1.0, 10.0)), "width": CategoricalDistribution((5, 50))} | SPACE
    protocol = Protocol(trials=8, sampler="grid")
    search = Search(journal, space, protocol, 0)
    for due in rounds([search], protocol):
        due.tell([Score(0.0) for _ in due.trials])
    tried = [hparams for _, hparams, *_ in trials_of(journal)]
    combinations = [(eta, width) for eta in (0.1, 1.0, 10.0) for width in (5, 50)]
    assert [(hparams["eta"], hparams["width"]) for hparams in tried] == combinations + combinations[:2]
    assert len({hparams["lr"] for hparams in tried}) == 8  # ranges of numbers are drawn


def test_grid_size_is_unknown_if_a_range_is_searched():
    eta, point = CategoricalDistribution((0.1, 1.0, 10.0)), FloatDistribution(0.5, 0.5)
    assert n_combinations({"eta": eta, "width": CategoricalDistribution((5, 50)), "lr": point}) == 6
    assert n_combinations({"lr": point}) == 1
    assert n_combinations({"eta": eta, "lr": SPACE["lr"]}) is None


@SAMPLERS
def test_trials_of_a_round_are_trained_together(journal, sampler):
    objective = Objective()
    run(journal, sampler, objective)
    assert [len(numbers) for numbers in objective.rounds] == ROUNDS[sampler]
    assert list(chain(*objective.rounds)) == list(range(TRIALS))


@pytest.mark.parametrize("trials", [1, 10, 11, 15, 16])
def test_last_tpe_round_has_the_remaining_trials(journal, trials):
    objective = Objective()
    assert run(journal, "tpe", objective, trials=trials).n_trials == trials
    assert list(chain(*objective.rounds)) == list(range(trials))


def test_random_search_ignores_scores_and_tpe_uses_them(undisturbed, journal):
    mirrored = {number: -score for number, _, score, _ in undisturbed["tpe"][1]}
    for sampler, looks in (("random", False), ("tpe", True)):
        path = journal.with_name(sampler)
        run(path, sampler, Objective(scores=mirrored))
        one, other = ([hparams for _, hparams, *_ in trials] for trials in (undisturbed[sampler][1], trials_of(path)))
        assert one[:10] == other[:10]
        assert (one[10:] != other[10:]) == looks


def test_longer_random_search_begins_with_the_shorter_ones_trials(undisturbed, journal):
    run(journal, "random", trials=5)
    assert trials_of(journal) == undisturbed["random"][1][:5]


def test_tpe_learns_from_earlier_rounds(journal):
    """After 10 random trials, 20 of TPE's are better on average on a quadratic bowl."""
    run(journal, "tpe", trials=30)
    scores = [score for *_, score, _ in trials_of(journal)]
    assert np.mean(scores[10:]) < np.mean(scores[:10])


def test_bayesian_optimisation_trains_one_trial_at_a_time(optimised, journal):
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
def test_diverged_trial_does_not_mislead_bayesian_optimisation(journal, bad):
    tuned = run(journal, "gp", Objective(scores={1: bad}), trials=GP_TRIALS)
    assert tuned.score < 0.1


def test_bayesian_optimisation_is_random_until_a_trial_succeeds(journal):
    with pytest.raises(Diverged):
        run(journal, "gp", Objective(scores=dict.fromkeys(range(7), math.nan)), trials=7)
    assert len({hparams["lr"] for _, hparams, *_ in trials_of(journal)}) == 7


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, ABSURD_NMLL, 1e300])
@SAMPLERS
def test_diverged_trial_is_failed_and_never_best(undisturbed, journal, sampler, bad):
    best = min(undisturbed[sampler][1], key=lambda trial: trial[2])[0]
    tuned = run(journal, sampler, Objective(scores={2: bad, best: bad}))
    trials = trials_of(journal)
    failed = {number for number, _, _, state in trials if state == TrialState.FAIL}
    assert failed == {2, best}
    assert (tuned.n_trials, tuned.n_failed) == (TRIALS, len(failed))
    assert tuned.score == min(score for number, _, score, _ in trials if number not in failed)


def test_large_score_below_the_divergence_limit_is_kept(journal):
    scores = dict.fromkeys(range(3), 0.999 * ABSURD_NMLL)
    assert run(journal, "random", Objective(scores=scores), trials=3).n_failed == 0


@SAMPLERS
def test_study_without_successful_trials_raises_on_every_run(journal, sampler):
    objective = Objective(scores=dict.fromkeys(range(TRIALS), math.nan))
    for _ in range(2):
        with pytest.raises(Diverged, match=f"all {TRIALS} trials"):
            run(journal, sampler, objective)
    assert [len(numbers) for numbers in objective.rounds] == ROUNDS[sampler]


def test_tpe_with_only_failed_trials_never_repeats_one(journal):
    with pytest.raises(Diverged):
        run(journal, "tpe", Objective(scores=dict.fromkeys(range(TRIALS), math.nan)))
    assert len({hparams["lr"] for _, hparams, *_ in trials_of(journal)}) == TRIALS


def test_diverged_exception_is_an_arithmetic_error():
    """Which is how a worker tells a diverged cell from a broken one."""
    assert issubclass(Diverged, ArithmeticError)


def test_centre_sampler_takes_the_middle_of_each_range():
    space = SPACE | {"rate": FloatDistribution(0.1, 0.5), "kind": CategoricalDistribution([3, 1])}
    found = Centred(space).best()
    assert found.hparams == pytest.approx({"lr": 10**-2.5, "precision": 10**-0.5, "rate": 0.3, "kind": 3})
    assert (found.score, found.n_trials, found.seconds) == (None, 0, None)
    assert list(Protocol(sampler="centre").rounds()) == []


def test_trials_score_is_the_mean_over_its_folds():
    assert mean_score([Score(1.0), Score(2.0), Score(6.0)]) == (3, "")


def test_failed_trial_stores_the_first_flaw_of_its_folds(journal):
    """Two trials of two folds; the second fold of the first trial and both of the second have no score."""
    protocol = Protocol(trials=2)
    search = Search(journal, SPACE, protocol, 0)
    for due in rounds([search], protocol):
        due.tell([Score(1.0), Score(3.0), Score(math.nan, "first flaw"), Score(math.nan, "second flaw")])
    assert (search.best().score, search.best().n_failed) == (2, 1)
    assert [trial.user_attrs for trial in search._study.trials] == [{}, {FLAW: "first flaw"}]


def test_diverged_fold_fails_only_its_own_trial(journal):
    protocol = Protocol(trials=3)
    search = Search(journal, SPACE, protocol, 0)
    for due in rounds([search], protocol):
        due.tell([Score(value) for value in (1.0, math.nan, 3.0, 5.0, 6.0, 8.0)])
    assert [trial.value for trial in search._study.trials] == [None, 4, 7]


@SAMPLERS
def test_study_without_a_file_gives_the_same_result(undisturbed, sampler):
    assert run(None, sampler) == undisturbed[sampler][0]


@SAMPLERS
def test_studies_run_together_equal_studies_run_alone(undisturbed, journal, sampler):
    protocol = Protocol(trials=TRIALS, sampler=sampler)
    searches = [Search(journal.with_name(str(seed)), SPACE, protocol, seed) for seed in (0, 1, 2)]
    together = []

    for due in rounds(searches, protocol):
        together.append(len({study for study, *_ in due.trials}))
        due.tell([Score(Objective.of(hparams)) for *_, hparams in due.trials])
    assert together == [3] * len(ROUNDS[sampler])
    assert searches[0].best() == undisturbed[sampler][0]
    assert len({search.best().score for search in searches}) == 3


def test_resumed_studies_of_a_job_train_in_common_rounds(undisturbed, journal):
    with pytest.raises(Crash):
        run(journal, "tpe", Objective(crash_in_round=2))
    protocol = Protocol(trials=TRIALS, sampler="tpe")
    searches = [Search(path, SPACE, protocol, seed=0) for path in (journal, journal.with_name("behind"))]
    seen = []

    for due in rounds(searches, protocol):
        first = {study: number for study, number, _ in reversed(due.trials)}
        seen.append(dict(sorted(first.items())))
        due.tell([Score(Objective.of(hparams)) for *_, hparams in due.trials])
    assert seen == [{1: 0}, {1: 10}, {0: 15, 1: 15}]
    assert [search.best() for search in searches] == [undisturbed["tpe"][0]] * 2
