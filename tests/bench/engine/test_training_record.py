"""Diagnostics along training: recorded where wanted, equal however fits are trained, and without effect on them."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.engine import diagnostics, updates
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.methods.base import Method, Paper
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, hidden=(6,)))
HPARAMS = {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 1.0}
N_UPDATES = 40


class Silent(MAP):
    """MAP without diagnostics."""

    def update(self, *arguments):
        return super().update(*arguments)[0]


class Reporting(Silent):
    """MAP that reports the norm of its weights before each update, and its phase in every second half."""

    def phase(self, update, plan):
        return update > plan.n_updates // 2

    def update(self, problem, state, *others):
        found = {"norm": state.weights.norm()}
        if others[-1].phase:
            found["late"] = state.weights.sum() * 0 + 1
        return super().update(problem, state, *others), found


class ReportingEnsemble(Reporting):
    members = 2


@pytest.fixture(scope="module")
def data() -> Data:
    x = np.random.default_rng(0).standard_normal((30, 3))
    return Data.of(x, x.sum(axis=1))


def fits(count: int = 3) -> list[Fit]:
    return [Fit(np.arange(number, 24 + number), HPARAMS, number) for number in range(count)]


def train(data: Data, method: Method, which: list[Fit], n_recorded: int = 10, **options):
    schedule = Schedule(24, 6, N_UPDATES, 1, N_UPDATES)
    return train_stacked(method, TASK, data, which, schedule, n_recorded=n_recorded, **options)


def test_recorded_updates_are_evenly_spaced_until_the_last():
    def recorded(*arguments: int) -> list[int]:
        record = TrainingRecord(*arguments)
        return [update for update in range(1, arguments[0] + 1) if record.wants(update)]

    assert recorded(40, 4) == [1, 14, 27, 40]
    assert recorded(3, 100) == [1, 2, 3]
    assert recorded(40, 1) == [40]
    assert recorded(40, 0) == []
    assert len(recorded(12_345, 100)) == 100


@pytest.mark.parametrize("execution", ["captured", "eager"])
def test_recorded_norms_equal_those_of_shorter_trainings(data, execution):
    norms = train(data, Reporting(), fits(), n_recorded=4, execution=execution).training_diagnostics()
    for number, traces in enumerate(norms):
        assert traces["norm"].updates.tolist() == [1, 14, 27, 40]
        assert traces["late"].updates.tolist() == [27, 40]
        for update, norm in zip(*traces["norm"], strict=True):
            if update > 1:
                schedule = Schedule(24, 6, N_UPDATES, 1, update - 1)
                posterior = train_stacked(MAP(), TASK, data, fits(), schedule).posterior
                assert norm == pytest.approx(posterior[number].norm().item(), rel=1e-5)


def test_recording_diagnostics_does_not_change_training(data):
    silent, recorded = (train(data, Reporting(), fits(), n_recorded=n) for n in (0, 10))
    assert silent.training_diagnostics() == [{}, {}, {}]
    for leaves in zip(tree_leaves(silent.posterior), tree_leaves(recorded.posterior), strict=True):
        assert torch.equal(*leaves)


@pytest.mark.parametrize("at_once", [1, 300])
def test_norms_are_equal_where_few_updates_fit_into_memory(data, monkeypatch, at_once):
    together = train(data, Reporting(), fits()).training_diagnostics()
    monkeypatch.setattr(diagnostics, "NUMBERS_AT_ONCE", at_once)
    in_parts = train(data, Reporting(), fits()).training_diagnostics()
    for ours, theirs in zip(together, in_parts, strict=True):
        for name, trace in ours.items():
            np.testing.assert_array_equal(trace.updates, theirs[name].updates)
            np.testing.assert_allclose(trace.values, theirs[name].values, rtol=1e-6)


def test_recording_diagnostics_captures_no_further_graph(data, monkeypatch):
    captures, capture = [], updates.capture
    monkeypatch.setattr(updates, "capture", lambda *given: captures.append(given) or capture(*given))
    for n_recorded in (0, 10):
        train(data, Reporting(), fits(), n_recorded=n_recorded)
    assert len(captures) == 2 * 2  # one for each of two phases


def test_recording_time_is_separate_from_training_time(data):
    assert train(data, Reporting(), fits(), n_recorded=0).record.seconds == 0
    assert train(data, Silent(), fits(), n_recorded=10).record.seconds == 0
    assert train(data, Reporting(), fits(), n_recorded=10).record.seconds > 0


def test_diagnostics_of_single_and_stacked_fits_agree(data):
    stacked = train(data, Reporting(), fits(), dtype=torch.float64).training_diagnostics()
    for fit, traces in zip(fits(), stacked, strict=True):
        for options in ({}, {"stacked": False}):
            (alone,) = train(data, Reporting(), [fit], dtype=torch.float64, **options).training_diagnostics()
            assert alone.keys() == traces.keys() == {"norm", "late"}
            for name, trace in traces.items():
                np.testing.assert_array_equal(alone[name].updates, trace.updates)
                np.testing.assert_allclose(alone[name].values, trace.values, rtol=1e-9)


def test_recorded_ensemble_diagnostics_are_means_over_members(data):
    trained = train(data, ReportingEnsemble(), fits(2), n_recorded=N_UPDATES, execution="eager")
    (first, second) = (fit_traces["norm"].values for fit_traces in trained.training_diagnostics())
    members = [trained.record._values["norm"][N_UPDATES][0][2 * fit : 2 * fit + 2] for fit in (0, 1)]
    assert first[-1] == pytest.approx(members[0].mean().item())
    assert second[-1] == pytest.approx(members[1].mean().item())
    assert members[0][0] != members[0][1]


def test_sequential_training_records_diagnostics():
    generator = np.random.default_rng(0)
    images = Data.of(generator.integers(0, 256, size=(30, 8), dtype=np.uint8), np.arange(30.0) % 3)
    task = Task("tiny", Categorical(3), MLP(8, hidden=(), n_outputs=3))

    def norms(count: int) -> np.ndarray:
        schedule = Schedule(24, 6, N_UPDATES, 1, N_UPDATES)
        trained = train_sequentially(ReportingEnsemble(), task, images, fits(count), schedule, channels=2, n_recorded=5)
        return np.array([traces["norm"].values for traces in trained.training_diagnostics()])

    assert norms(2).shape == (2, 5)
    np.testing.assert_array_equal(norms(2)[:1], norms(1))


class Vector(Silent):
    def update(self, problem, state, *others):
        return super().update(problem, state, *others), {"weights": state.weights}


def test_diagnostics_that_are_not_scalars_are_refused(data):
    with pytest.raises(TypeError, match=r"map.update must return .* 'weights' is a tensor of shape \(31,\)"):
        train(data, Vector(), fits(), n_recorded=0)


class Foreign(Method):
    """Counts the calls of its model, which a second call for diagnostics would show."""

    name, title, paper = "foreign", "Foreign", Paper("Somebody 2000", "A library")
    stackable = False

    def search_space(self, task):
        return {}

    def init(self, problem, *others):
        return [[0]]

    def update(self, problem, state, *others):
        state[0][0] += 1
        return state, {"calls": torch.tensor(float(state[0][0]))}


def test_recording_does_not_repeat_another_librarys_updates(data):
    (traces,) = train(data, Foreign(), fits(1), n_recorded=4, stacked=False).training_diagnostics()
    assert traces["calls"].values.tolist() == traces["calls"].updates.tolist() == [1, 14, 27, 40]
