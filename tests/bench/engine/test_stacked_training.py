"""The property everything rests on: a fit in a stack equals the same fit alone."""

import numpy as np
import optuna
import pytest
import torch
from each_once import KINDS
from optuna.samplers import RandomSampler

from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task
from lockstep_bench.methods.vifa import VIFA

TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, hidden=(6,)))
TEST = np.arange(50, 60)
STACKABLE = [name for name in methods.names() if methods.get(name).stackable]


@pytest.fixture(scope="module")
def data() -> Data:
    generator = np.random.default_rng(0)
    x = generator.normal(5, 100, size=(60, 3))
    return Data.of(x, 1e3 + 50 * np.sin(x.sum(axis=1) / 100))


def fits(method: Method | None = None) -> list[Fit]:
    """Four fits that differ in everything: rows (40 or 39 of them), hyper-parameters, seed."""
    rows = [np.arange(40), np.arange(39), np.arange(5, 45), np.arange(8, 47)]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study, space = optuna.create_study(sampler=RandomSampler(seed=0)), (method or MAP()).search_space(TASK)
    return [Fit(own, study.ask(space).params, number) for number, own in enumerate(rows)]


def train(data: Data, which: list[Fit], method: Method, updates: int = 12, **options) -> StackedFits:
    schedule = Schedule.exactly(method, 40, 7, updates)
    return train_stacked(method, TASK, data, which, schedule, **{"dtype": torch.float64} | options)


def predictives(stack: StackedFits) -> list[torch.Tensor]:
    """Means of each fit's predictive, or locations, or quantiles."""
    each = stack.predict([TEST] * len(stack.fits), 6)
    return [one.mean if isinstance(one, Normals) else one[1] for one in each]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            name,
            marks=(pytest.mark.xdist_group(f"stack of {name}"), *(() if name in KINDS else (pytest.mark.slow,))),
        )
        for name in STACKABLE  # `check` says the same of every method
    ],
)
def stacked(request, data) -> tuple[Method, list[torch.Tensor]]:
    """A method, and what its four fits predict after training together."""
    method = methods.get(request.param)
    return method, predictives(train(data, fits(method), method))


def test_stacked_fit_equals_single_fit(data, stacked):
    """The first fit and the last, which differ in the number of rows; the next test has those between."""
    method, together = stacked
    for number in (0, 3):
        (alone,) = predictives(train(data, [fits(method)[number]], method, stacked=False))
        torch.testing.assert_close(together[number], alone, rtol=1e-9, atol=1e-9)


def test_fits_do_not_depend_on_order_or_neighbours(data, stacked):
    method, together = stacked
    reordered = predictives(train(data, fits(method)[::-1][:3], method))
    for ours, theirs in zip(together[::-1][:3], reordered, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def test_captured_graph_and_eager_updates_agree(data, stacked):
    method, recorded = stacked
    eager = predictives(train(data, fits(method), method, execution="eager"))
    for ours, theirs in zip(recorded, eager, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", STACKABLE)
def test_compiled_and_eager_updates_agree(data, name):
    method = methods.get(name)
    compiled, eager = (
        predictives(train(data, fits(method), method, execution=execution)) for execution in ("compiled", "eager")
    )
    for ours, theirs in zip(compiled, eager, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def test_float32_stack_equals_single_fit_to_rounding(data):
    method = methods.get("vifa")
    together = predictives(train(data, fits(), method, dtype=torch.float32))
    for number, fit in enumerate(fits()):
        (alone,) = predictives(train(data, [fit], method, stacked=False, dtype=torch.float32))
        torch.testing.assert_close(together[number], alone, rtol=1e-3, atol=0.5)  # targets have a spread of 35


class Recorder(Method):
    """Keeps the last batch and counts updates by phase, so that a test can look at what the engine deals."""

    name, title = "recorder", "Recorder"
    batches_per_update = 2

    def search_space(self, task):
        return {}

    def phase(self, update, plan):
        return "late" if update > plan.n_updates // 2 else "early"

    def init(self, problem, noise):
        x = torch.zeros(2, 7, 3, dtype=torch.float64)
        return {"x": x, "y": x[..., 0], "late": problem.n_train * 0, "scale": problem.y_scale}

    def update(self, problem, state, batch, noise, step):
        return state | {"x": batch.x, "y": batch.y, "late": state["late"] + (1 if step.phase == "late" else 0)}


def test_each_fit_sees_its_own_standardised_rows(data):
    stack = train(data, fits(), Recorder(), updates=5)
    for number, fit in enumerate(fits()):
        x, y = data.x[fit.rows], data.y[fit.rows]
        wanted_x = (x - x.mean(0)) / x.std(0, correction=0)
        wanted_y = (y - y.mean()) / y.std(correction=0)
        seen = stack.posterior["x"][number].flatten(0, 1), stack.posterior["y"][number].flatten()
        for seen_x, seen_y in zip(*seen, strict=True):
            row = (wanted_x - seen_x).abs().sum(1).argmin()
            torch.testing.assert_close(seen_x, wanted_x[row])
            torch.testing.assert_close(seen_y, wanted_y[row])
        torch.testing.assert_close(stack.posterior["scale"][number], y.std(correction=0))


def test_updates_may_branch_on_training_phases(data):
    stack = train(data, fits(), Recorder(), updates=5)
    assert stack.posterior["late"].tolist() == [3, 3, 3, 3]


def test_data_can_stay_in_original_units(data):
    stack = train(data, fits()[:1], Recorder(), updates=1, standardise=False)
    assert all((data.x == seen).all(1).any() for seen in stack.posterior["x"][0].flatten(0, 1))


class KeepsItsNoise(Method):
    """A method whose state stays the first random numbers that it received."""

    name, title = "keeper", "Keeper"

    def search_space(self, task):
        return {}

    def phase(self, update, plan):
        return "first" if update == 1 else "later"

    def init(self, problem, noise):
        return noise.normal(3)

    def update(self, problem, state, batch, noise, step):
        new = noise.normal(3)
        return new if step.phase == "first" else state


@pytest.mark.parametrize("execution", ["captured", "eager"])
def test_noise_kept_in_a_state_is_not_overwritten(data, execution):
    short, long = (
        train(data, fits(), KeepsItsNoise(), updates=updates, execution=execution).posterior for updates in (1, 50)
    )
    assert torch.equal(short, long)


class ChangesItsState(MAP):
    def update(self, problem, state, batch, noise, step):
        return {"weights": state.weights}


def test_updates_that_change_the_state_structure_are_refused(data):
    with pytest.raises(TypeError, match=r"map.update must return a state of the structure, shapes and types"):
        train(data, fits(), ChangesItsState())


def test_diverging_fit_does_not_affect_its_stack(data):
    method = methods.get("mfvi")
    wild = Fit(np.arange(40), {"lr": 1e30, "prior_precision": 1.0, "noise_precision": 1.0}, 9)
    together = predictives(train(data, [fits()[0], wild, fits()[1]], method))
    calm = predictives(train(data, fits()[:2], method))
    assert not together[1].isfinite().all()
    torch.testing.assert_close(together[0], calm[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(together[2], calm[1], rtol=1e-9, atol=1e-9)


def test_models_of_another_library_run_one_by_one(data, foreign_library):
    together = predictives(train(data, fits(), foreign_library, stacked=False))
    assert len({tuple(one.flatten().tolist()) for one in together}) == 4
    for number, fit in enumerate(fits()):
        (alone,) = predictives(train(data, [fit], foreign_library, stacked=False))
        assert torch.equal(together[number], alone)


def test_predictions_do_not_depend_on_prediction_batch_size(data, monkeypatch):
    stack = train(data, fits(), methods.get("vifa"))
    whole = predictives(stack)
    monkeypatch.setattr("lockstep_bench.bench.engine.stacked_fits.PREDICTIVE_NUMBERS", 12)
    for ours, theirs in zip(predictives(stack), whole, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-9)


class TwoVIFAs(VIFA):
    members = 2


def test_ensemble_members_share_the_requested_number_of_samples(data):
    stack = train(data, fits(), TwoVIFAs())
    assert [len(one.mean) for one in stack.predict([TEST] * 4, 6)] == [6] * 4
    assert [len(one.mean) for one in stack.predict([TEST] * 4, 5)] == [6] * 4  # rounded up to whole members
    rows = [TEST[number:] for number in range(4)]
    for number, together in enumerate(stack.predict(rows, 6)):
        (alone,) = train(data, fits()[number : number + 1], TwoVIFAs()).predict([rows[number]], 6)
        torch.testing.assert_close(together.mean, alone.mean, rtol=1e-9, atol=1e-9)


def test_folds_of_unequal_size_predict_their_own_rows(data):
    stack = train(data, fits(), methods.get("map"))
    rows = [np.arange(50, 50 + count) for count in (3, 10, 1, 7)]
    found = [one.mean.shape[1] for one in stack.predict(rows, 4)]
    assert found == [3, 10, 1, 7]
    full = predictives(stack)
    for own, part in zip(stack.predict(rows, 4), full, strict=True):
        torch.testing.assert_close(own.mean, part[:, : own.mean.shape[1]])
