"""The gain of an objective over the last tenth of training, on curves whose gain is known."""

import numpy as np
import pytest

from lockstep_bench.bench.engine.convergence import LEAST_GAIN, convergence, gain_of
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.training_record import MOST_PAIRS, Trace, TrainingRecord, pairs
from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.map import MAP

N_UPDATES, N_ROWS = 1000, 50


def trace(values: np.ndarray) -> dict[str, Trace]:
    """Return the objective at every update."""
    return {"objective": Trace(np.arange(1, len(values) + 1), N_ROWS * values)}


def noise(seed: int, sd: float) -> np.ndarray:
    return sd * np.random.default_rng(seed).standard_normal(N_UPDATES)


def test_compared_updates_are_a_tenth_of_training_apart():
    assert pairs(9) == {}
    assert pairs(40) == {40: 36, 39: 35, 38: 34, 37: 33}
    many = pairs(12_345)
    assert len(many) == MOST_PAIRS
    assert {later - earlier for later, earlier in many.items()} == {1234}
    assert (max(many), min(many)) == (12_345, 12_345 - 1234 + 1)
    record = TrainingRecord(40, 2, in_pairs=True)
    assert [update for update in range(1, 41) if record.wants(update)] == [1, *range(33, 41)]


def test_gain_of_a_linear_decrease_is_exact():
    gain = gain_of(trace(np.linspace(3.0, 1.0, N_UPDATES)), N_UPDATES, N_ROWS)
    assert gain.mean == pytest.approx(2.0 * 100 / 999)
    assert gain.stderr == pytest.approx(0, abs=1e-12)
    assert gain.still_improving


def test_gain_of_an_exponential_decay_is_exact():
    updates = np.arange(1, N_UPDATES + 1)
    gain = gain_of(trace(np.exp(-updates / 200)), N_UPDATES, N_ROWS)
    later = np.array(list(pairs(N_UPDATES)))
    assert gain.mean == pytest.approx((np.exp(-(later - 100) / 200) - np.exp(-later / 200)).mean())
    assert not gain_of(trace(np.exp(-updates / 20)), N_UPDATES, N_ROWS).still_improving


def test_rising_or_flat_objective_counts_as_converged():
    rising = np.linspace(1.0, 3.0, N_UPDATES)
    assert gain_of(trace(rising), N_UPDATES, N_ROWS).mean < 0
    for values in (rising, np.linspace(9.9 * LEAST_GAIN, 0, N_UPDATES), np.zeros(N_UPDATES)):
        assert not gain_of(trace(values), N_UPDATES, N_ROWS).still_improving


def test_rising_elbo_equals_falling_objective():
    (points,) = trace(np.linspace(3.0, 1.0, N_UPDATES)).values()
    elbo = {"elbo": points._replace(values=-points.values)}
    assert gain_of(elbo, N_UPDATES, N_ROWS) == gain_of({"objective": points}, N_UPDATES, N_ROWS)


def test_pure_noise_is_rarely_called_improving():
    improving = [gain_of(trace(noise(seed, 5.0)), N_UPDATES, N_ROWS).still_improving for seed in range(2000)]
    assert 0.01 < np.mean(improving) < 0.04  # 2.5 % are expected


def test_standard_error_of_the_gain_matches_simulation():
    gains = [gain_of(trace(noise(seed, 5.0)), N_UPDATES, N_ROWS) for seed in range(2000)]
    expected = 5.0 * (2 / MOST_PAIRS) ** 0.5
    assert np.std([gain.mean for gain in gains]) == pytest.approx(expected, rel=0.05)
    assert np.mean([gain.stderr**2 for gain in gains]) ** 0.5 == pytest.approx(expected, rel=0.05)


def test_short_or_unrecorded_fits_have_no_convergence_diagnostics():
    assert convergence({}, N_UPDATES, N_ROWS) == {}
    assert convergence(trace(np.zeros(19)), 19, N_ROWS) == {}  # one pair has no standard error
    assert convergence({"norm": Trace(np.arange(1, 101), np.zeros(100))}, 100, N_ROWS) == {}
    assert convergence(trace(np.zeros(20)), 20, N_ROWS) == {
        "objective_gain": 0.0,
        "objective_gain_stderr": 0.0,
        "still_improving": 0.0,
    }


@pytest.mark.parametrize("execution", ["native", "captured", "eager"])
@pytest.mark.parametrize("moves", [False, True])
def test_paired_objective_values_use_the_same_minibatch(execution, moves):
    """Without a move of the weights the two values of a pair are equal, whatever their own minibatches are."""
    problem = correlated(seed=2, n_rows=100)
    hparams = {"lr": 0.001 * moves, "prior_precision": 1.0, "noise_precision": 1.0}
    fits = [Fit(np.arange(100), hparams, seed) for seed in (0, 1)]
    schedule = Schedule(100, 10, 20, 1)
    options = {"execution": execution, "n_recorded": 50, "in_pairs": True}
    trained = train_stacked(MAP(), problem.task, Data.of(problem.x, problem.y), fits, schedule, **options)
    for traces in trained.training_diagnostics():
        gain = gain_of(traces, schedule.plan.n_updates, 100)
        assert (gain.mean != 0, gain.stderr != 0) == (moves, moves)
        assert traces["objective"].values.std() > 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_objective_gives_no_convergence_remark(value):
    values = noise(0, 1.0)
    values[-1] = value
    assert convergence(trace(values), N_UPDATES, N_ROWS) == {}
