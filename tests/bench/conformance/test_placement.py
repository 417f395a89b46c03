"""Tensors that a method creates on the CPU are found without a GPU, in every step of a fit."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.conformance.placement import first_double, first_misplaced
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.methods.laplace import LastLayerLaplace
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(2, (3,)))
HPARAMS = {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 1.0}


def misplaced_step(method):
    x = np.random.default_rng(0).standard_normal((12, 2))
    schedule = Schedule(12, 4, epochs=2, batches_per_update=1)
    return first_misplaced(method, TASK, Data.of(x, x.sum(axis=1)), HPARAMS, schedule, n_samples=5)


@pytest.mark.parametrize("method", [MAP(), LastLayerLaplace()])
def test_methods_create_tensors_on_the_problems_device(method):
    assert misplaced_step(method) is None


class LateOnTheCPU(MAP):
    def phase(self, update, plan):
        return "late" if update == plan.n_updates else "early"

    def update(self, problem, state, batch, noise, step):
        state, _ = super().update(problem, state, batch, noise, step)
        return state._replace(weights=torch.zeros(problem.dim)) if step.phase == "late" else state


class SweepsToTheCPU(LastLayerLaplace):
    def sweep(self, problem, state, rows):
        return state._replace(precision=torch.eye(len(state.precision)))


class DiagnosesOnTheCPU(MAP):
    def diagnostics(self, problem, posterior):
        return {"elbo": torch.zeros(())}


@pytest.mark.parametrize(
    ("method", "step"), [(LateOnTheCPU(), "update"), (SweepsToTheCPU(), "sweep"), (DiagnosesOnTheCPU(), "diagnostics")]
)
def test_check_names_the_step_with_a_misplaced_tensor(method, step):
    assert misplaced_step(method) == step


class CountsInDouble(MAP):
    def init(self, problem, noise):
        return {"fit": super().init(problem, noise), "count": torch.zeros((), dtype=torch.float64)}

    def update(self, problem, state, batch, noise, step):
        fit, _ = super().update(problem, state["fit"], batch, noise, step)
        return {"fit": fit, "count": state["count"] + 1}

    def finish(self, problem, state):
        return state["fit"].weights


@pytest.mark.parametrize(("method", "place"), [(CountsInDouble(), "`init`: state['count']"), (MAP(), None)])
def test_check_names_the_step_that_uses_float64(method, place):
    x = np.random.default_rng(0).standard_normal((12, 2))
    schedule = Schedule(12, 4, epochs=2, batches_per_update=1)
    assert first_double(method, TASK, Data.of(x, x.sum(axis=1)), HPARAMS, schedule) == place


def test_operation_across_devices_raises():
    class Mixes(MAP):
        def sample(self, problem, posterior, noise, n_samples):
            return super().sample(problem, posterior, noise, n_samples) + torch.zeros(problem.dim)

    with pytest.raises(RuntimeError, match="cpu is not on the expected device"):
        misplaced_step(Mixes())
