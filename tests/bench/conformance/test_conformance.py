"""The conformance suite passes good adapters and fails broken ones, each by the right check."""

import random
import re

import numpy as np
import pytest
import torch
from torch.func import grad

import methods
from bench.conformance import RULES, Finding, check
from bench.conformance.examined import TASKS
from methods.base import Method
from methods.map import MAP, State
from methods.mfvi import MeanFieldVI

QUICK = [title for title in RULES if title not in ("cost", "conjugate posterior")]


def found(method: Method, rules=QUICK, tasks=TASKS) -> dict[str, Finding]:
    """What the checks say of a method: title -> finding."""
    return {finding.check: finding for finding in check(method, rules, tasks)}


def failures(method: Method, rules=QUICK, tasks=TASKS) -> dict[str, str]:
    """What the checks complain of: title -> detail."""
    return {title: one.detail for title, one in found(method, rules, tasks).items() if not one.passed}


def installed(name: str) -> Method:
    """The method called `name`; the test is skipped where the libraries that it wraps are missing."""
    if name == "hmc":
        pytest.importorskip("numpyro")
    return methods.get(name)


@pytest.mark.parametrize(("number", "name"), list(enumerate(methods.names())))
def test_every_method_passes_on_one_of_its_tasks(number, name):
    method = installed(name)
    usable = [task for task in TASKS if not method.excludes(task)]
    rules = [title for title in QUICK if title != "finite over its search spaces"]
    assert failures(method, rules, tasks=(usable[number % len(usable)],)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.names())
def test_every_method_passes_every_check(name):
    assert failures(installed(name), rules=tuple(RULES)) == {}


def test_a_method_for_every_task_is_tried_on_all():
    details = found(MAP())["predictive is a density"].detail
    assert [details.find(task.name) for task in TASKS] == sorted(details.find(task.name) for task in TASKS)
    assert "densities integrate to 1" in details
    assert "probabilities sum to 1" in details


class ForTwoClasses(MAP):
    likelihoods = ("bernoulli",)


def test_a_method_is_tried_on_no_task_that_it_excludes():
    seen = found(ForTwoClasses(), rules=tuple(RULES))
    assert all(one.passed for one in seen.values())
    assert "not applicable: no gaussian likelihood" in seen["conjugate posterior"].detail


def test_a_method_for_no_task_is_told_so():
    class ForNothing(MAP):
        likelihoods = ()

    assert "excludes every task" in failures(ForNothing(), rules=["declares itself"])["declares itself"]


def test_a_method_without_a_weight_posterior_is_not_held_to_the_exact_one():
    class NoWeightPosterior(MAP):
        weight_posterior = False

    (finding,) = found(NoWeightPosterior(), rules=["conjugate posterior"]).values()
    assert finding.detail == "not applicable: no posterior of the weights under N(0, I / prior_precision)"


def test_a_wrapper_round_a_foreign_library_passes(foreign_library):
    assert failures(foreign_library) == {}


class TwiceTheNoise(MeanFieldVI):
    """Samples with twice the standard deviation that it has found."""

    def sample(self, problem, posterior, noise, n_samples):
        mean, log_sd = posterior
        return mean + 2 * log_sd.exp() * noise.normal(n_samples, problem.dim)


class GlobalDraw(MeanFieldVI):
    """Starts from torch's global generator's numbers."""

    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(params=state.params + torch.randn(problem.dim, dtype=state.params.dtype))


class ForeignDraw(MAP):
    """Starts from numbers of a generator that torch knows nothing of."""

    def __init__(self, draw):
        self.draw = draw

    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(weights=state.weights + self.draw())


class OverTheStack(torch.autograd.Function):
    """x less its mean over the stack: vmap tells a function that brings its own rule about all rows."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient

    @staticmethod
    def vmap(info, in_dims, x):
        return x - x.mean(in_dims[0], keepdim=True), in_dims[0]


class NormalisesOverTheStack(MAP):
    """A leak of the batch axis: a gradient is centred by those of its neighbours."""

    def update(self, problem, state, batch, noise, step):
        gradient = grad(lambda weights: problem.nll(weights, batch))(state.weights)
        weights, optim = state.optim.step(state.weights, OverTheStack.apply(gradient), problem.hparams.lr, step)
        return State(weights, optim)


class CountsItsFits(MAP):
    """A leak through Python: what a fit starts from depends on how many were started before it."""

    def __init__(self):
        self.fits = 0

    def init(self, problem, noise):
        self.fits += 1
        state = super().init(problem, noise)
        return state._replace(weights=state.weights / self.fits)


class KeepsTheLastRow(MAP):
    """A leak from row to row of a method that runs one by one: it warm-starts each fit from the one before."""

    stackable = False

    def __init__(self):
        self.last = {}

    def init(self, problem, noise):
        state = super().init(problem, noise)
        return state._replace(weights=self.last.get((problem.dim, state.weights.dtype), state.weights))

    def finish(self, problem, state):
        self.last[problem.dim, state.weights.dtype] = state.weights
        return state.weights


class BranchesOnAValue(MAP):
    """Branches on a tensor's value, which has no meaning for a stack."""

    def update(self, problem, state, batch, noise, step):
        if state.weights.sum() > 0:
            return super().update(problem, state, batch, noise, step)
        return state


class AddsFromTheCPU(MAP):
    def sample(self, problem, posterior, noise, n_samples):
        return super().sample(problem, posterior, noise, n_samples) + torch.zeros(problem.dim)


class StartsOnTheCPU(MAP):
    def finish(self, problem, state):
        return torch.zeros(problem.dim, dtype=torch.float64)


class NegativeVariance(MAP):
    likelihoods = ("gaussian",)

    def predict(self, problem, posterior, x, noise, n_samples):
        found = super().predict(problem, posterior, x, noise, n_samples)
        return found._replace(variance=-found.variance)


class Unnormalised(MAP):
    likelihoods = ("categorical",)

    def predict(self, problem, posterior, x, noise, n_samples):
        found = super().predict(problem, posterior, x, noise, n_samples)
        return found._replace(log_probs=found.log_probs + 0.1)


class Explodes(MAP):
    def update(self, problem, state, batch, noise, step):
        state, _ = super().update(problem, state, batch, noise, step)
        return state._replace(weights=state.weights / (problem.hparams.lr < 0.02))


class ExplodesBeyondItsUsualSpace(MAP):
    def update(self, problem, state, batch, noise, step):
        state, _ = super().update(problem, state, batch, noise, step)
        return state._replace(weights=state.weights / (problem.hparams.lr < 0.05))


@pytest.mark.parametrize(
    ("method", "check_title", "complaint"),
    [
        (GlobalDraw(), "deterministic", "draws from torch's global generator"),
        (ForeignDraw(np.random.standard_normal), "deterministic", "gave two results"),
        (ForeignDraw(random.random), "deterministic", "gave two results"),
        (NormalisesOverTheStack(), "stack equals alone", r"fit \d of 3 in a stack differs .* mix the rows"),
        (CountsItsFits(), "stack equals alone", "keep something in `self`"),
        (KeepsTheLastRow(), "stack equals alone", "keep something in `self`"),
        (BranchesOnAValue(), "state keeps its shape", "vmap"),
        (AddsFromTheCPU(), "keeps to its device", "cpu is not on the expected device"),
        (StartsOnTheCPU(), "keeps to its device", "finish makes a tensor on another device"),
        (NegativeVariance(), "predictive is a density", "not positive"),
        (Unnormalised(), "predictive is a density", "on the task '3 classes': .* sum to 1 only within"),
        (Explodes(), "finite over its search spaces", "not finite after 60 updates"),
        (ExplodesBeyondItsUsualSpace(), "finite over its search spaces", "not finite after 60 updates"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Method) else "",
)
def test_broken_adapters_fail_by_name(method, check_title, complaint):
    seen = failures(method, rules=[check_title])
    assert re.search(complaint, seen[check_title])


@pytest.mark.parametrize("leak", [NormalisesOverTheStack, CountsItsFits])
def test_a_leak_is_no_other_checks_business(leak):
    rules = [title for title in QUICK if title not in ("stack equals alone", "deterministic")]
    assert failures(leak(), rules=rules, tasks=TASKS[:1]) == {}


def test_a_wrong_scale_of_the_noise_is_seen_at_the_conjugate_posterior_alone():
    seen = failures(TwiceTheNoise(), rules=[*QUICK, "conjugate posterior"], tasks=TASKS[:1])
    assert list(seen) == ["conjugate posterior"]
    assert "x the exact one" in seen["conjugate posterior"]
