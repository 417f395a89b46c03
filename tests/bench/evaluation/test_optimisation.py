"""Bayesian optimisation: regret of known searches against closed forms, and properties of evaluations."""

import json
from itertools import combinations

import numpy as np
import pytest
from decisions import outcomes

from lockstep_bench.bench.evaluation import optimisation
from lockstep_bench.bench.evaluation.optimisation import Search, batch_sizes, expected_maximum


def search_of(n_rows=60, seed=0):
    y = np.random.default_rng(seed).normal(size=n_rows)
    y[-1] = 9.0  # in the pool
    return Search(y, np.arange(5), np.arange(5, n_rows), seed)


def test_expected_maximum_is_that_of_all_subsets():
    values = np.array([3.0, -1.0, 0.5, 2.0, 2.0, 7.0])
    for count in range(1, 7):
        every = [max(subset) for subset in combinations(values, count)]
        assert expected_maximum(values, count) == pytest.approx(np.mean(every), rel=1e-12)


def test_oracle_search_has_no_regret():
    search = search_of()
    for _ in range(3):
        search.take_best(search._y[search.pool][None], 4)
        assert search.regret() == pytest.approx(0, abs=1e-12)
        assert search.simple_regret() == 0
    assert search.regret_uniform() > 0


def test_random_search_has_closed_form_regrets():
    """Equal values leave the choice to chance. The expectations are compared with the means of 2,000 searches."""
    regrets, simple = [], []
    for seed in range(2000):
        search = search_of()
        search._seed = seed
        search.take_best(np.zeros((1, 55)), 6)
        search.take_best(np.zeros((1, 49)), 6)
        regrets.append(search.regret())
        simple.append(search.simple_regret())
    for drawn, expected in ((regrets, search.regret_uniform()), (simple, search.simple_regret_uniform())):
        assert expected == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(2000))


def test_no_row_is_chosen_twice():
    search = search_of()
    for _ in range(5):
        search.take_best(np.random.default_rng(0).normal(size=(3, len(search.pool))), 11)
    assert sorted(search.known) == list(range(60))
    assert len(search.pool) == 0
    assert search.regret() == pytest.approx(0, abs=1e-12)


def test_each_row_of_a_batch_follows_a_random_sample():
    first = 0
    for seed in range(400):
        search = search_of()
        search._seed = seed
        values = np.zeros((2, 55))
        values[0, 7] = values[1, 11] = 1.0
        search.take_best(values, 1)
        assert search.known[-1] in (12, 16)
        first += search.known[-1] == 12
    assert first == pytest.approx(200, abs=40)  # 4 standard deviations


def test_exact_thompson_sampling_beats_random_search():
    """Targets are x^T w + noise; the posterior of w under the prior N(0, I) is known in closed form."""
    generator = np.random.default_rng(0)
    x, noise_sd = generator.standard_normal((300, 5)), 0.3
    y = x @ generator.standard_normal(5) + noise_sd * generator.standard_normal(300)
    search = Search(y, np.arange(5), np.arange(5, 300), 0)
    for _ in range(10):
        known = x[search.known]
        precision = np.eye(5) + known.T @ known / noise_sd**2
        mean = np.linalg.solve(precision, known.T @ y[search.known] / noise_sd**2)
        weights = generator.multivariate_normal(mean, np.linalg.inv(precision), size=50)
        search.take_best(weights @ x[search.pool].T, 3)
    assert search.regret() < 0.2 * search.regret_uniform()
    assert search.simple_regret() < search.simple_regret_uniform()


def test_batches_are_about_equal_and_use_the_budget():
    assert batch_sizes(50, 10) == [5] * 10
    assert batch_sizes(3, 10) == [1, 1, 1]
    assert sum(batch_sizes(47, 10)) == 47


def test_outcome_has_regrets_their_curves_and_scores(monkeypatch):
    monkeypatch.setattr(optimisation, "BATCHES", 3)
    (outcome,) = outcomes("mfvi", "optimise-diabetes")
    assert outcome.status == "ok"
    curve = outcome.tables["regrets"].to_pandas()
    assert curve["round"].tolist() == [4, 8, 12]
    assert outcome.metrics["regret"] == curve["regret"].iloc[-1]
    assert outcome.metrics["regret_uniform_ratio"] == (curve["regret"] / curve["regret_uniform"]).iloc[-1]
    simple = outcome.tables["simple_regrets"].to_pandas()
    assert simple["regret"].is_monotonic_decreasing
    assert outcome.metrics["simple_regret"] == simple["regret"].iloc[-1]
    assert json.loads(outcome.fit.diagnostics)["simple_regret_uniform"] == simple["regret_uniform"].iloc[-1]
    assert {"nmll", "nmll_joint_10", "nmll_dyadic", "rmse"} <= set(outcome.metrics)
