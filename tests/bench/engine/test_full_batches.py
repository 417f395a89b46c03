"""Methods of full batches: every update gets exactly the training rows of its fit, whatever the others have."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.api import MLP, Batch, Gaussian, Method, Noise, Plan, Problem, Step, Task

N_UPDATES = 110  # enough for native loops
TASK = Task("sums", Gaussian((0.1, 10.0)), MLP(2, (3,)))
SIZES = 9, 12, 10


class Seen(NamedTuple):
    """Sums that updates have computed over the rows, of y, y^2 and the mean NLL, and the first rows' y."""

    total: Tensor
    squares: Tensor
    nll: Tensor
    first: Tensor
    moved: Tensor


class Sums(Method):
    """Adds up what it sees."""

    name = "sums"
    full_batch = True

    def __init__(self, length: int = N_UPDATES, members: int = 1):
        self.length, self.members = length, members

    def search_space(self, task: Task):
        return {}

    def updates(self, plan: Plan) -> int:
        return self.length

    def init(self, problem: Problem, noise: Noise) -> Seen:
        zero = torch.zeros_like(problem.n_train)
        return Seen(zero, zero, zero, zero.expand(3), zero)

    def update(self, problem: Problem, state: Seen, batch: Batch, noise: Noise, step: Step):
        assert batch.present is not None
        weights = torch.linspace(-1, 1, problem.dim, dtype=batch.x.dtype)
        moved = state.moved + (batch.y[0, :3] - state.first).abs().sum() * (step.count > 1)
        nll = problem.nll(weights, batch)
        seen = Seen(
            state.total + (batch.present * batch.y).sum(),
            state.squares + (batch.present * batch.y.square()).sum(),
            state.nll + nll,
            batch.y[0, :3],
            moved,
        )
        return seen, {"objective": nll}

    def predict(self, problem, posterior, x, noise, n_samples):
        raise NotImplementedError


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    return generator.standard_normal((20, 2)), generator.standard_normal(20)


def trained(data, method, sizes=SIZES, **options) -> Seen:
    fits = [Fit(np.arange(size), {"noise_precision": 2.0}, seed) for seed, size in enumerate(sizes)]
    schedule = Schedule.of(method, max(sizes), 5, 7)
    return train_stacked(method, TASK, Data.of(*data), fits, schedule, standardise=False, **options).posterior


@pytest.mark.parametrize("execution", ["native", "captured", "eager"])
def test_every_update_sees_exactly_its_fits_rows(data, execution):
    x, y = data
    seen = trained(data, Sums(), execution=execution)
    network = TASK.network
    for number, size in enumerate(SIZES):
        rows, weights = slice(size), torch.linspace(-1, 1, network.dim, dtype=torch.float64)
        outputs = network(weights, torch.tensor(x[rows]))[:, 0].numpy()
        nll = (0.5 * (2.0 * (outputs - y[rows]) ** 2 - np.log(2.0) + np.log(2 * np.pi))).mean()
        exact = y[rows].sum(), (y[rows] ** 2).sum(), nll
        for found, wanted in zip((seen.total, seen.squares, seen.nll), exact, strict=True):
            assert float(found[number]) / N_UPDATES == pytest.approx(wanted, rel=1e-4, abs=1e-5)


def test_members_have_their_own_fixed_row_order(data):
    seen = trained(data, Sums(members=4), sizes=(12,))
    assert (seen.moved == 0).all()
    assert len({tuple(first) for first in seen.first.tolist()}) == 4


def test_recording_does_not_change_native_full_batch_training(data):
    whole, recorded = (trained(data, Sums(), n_recorded=count) for count in (0, 5))
    assert all(map(torch.equal, whole, recorded))


def test_full_batch_method_sets_its_number_of_updates():
    assert Schedule.of(Sums(42), 12, 5, 7).plan == Plan(42, 1.0)
    assert Schedule.of(Sums(42), 12, 5, 7).minibatch == 12


class Twice(Sums):
    full_batch = False
    batches_per_update = 2


def test_minibatch_method_may_set_its_number_of_updates():
    assert Schedule.of(Twice(42), 12, 5, 7).plan.n_updates == 42
    assert Schedule.of(Twice(42), 12, 5, 7).minibatch == 5
