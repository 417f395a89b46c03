"""Five pooled members of any method."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.reference.conjugate import strong_prior
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.ensemble import ensemble_of
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task
from lockstep_bench.methods.vifa import VIFA, LinearVIFA
from lockstep_bench.shared.seeds import seed_of

TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, (4,)))
OWN = ("name", "title", "paper", "members", "deterministic")


def public(owner) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


class Everything(MAP):
    """Overrides every public attribute of `Method`; each hook returns itself and what it was called with."""

    name = "everything"
    title = "Everything"


def _recorder(name: str):
    return lambda self, *arguments, **options: (name, arguments, options)


for _name in public(Method):
    if callable(getattr(Method, _name)):
        setattr(Everything, _name, _recorder(_name))
    elif _name not in OWN:
        setattr(Everything, _name, SimpleNamespace(of=_name))


@pytest.mark.parametrize("name", [name for name in public(Method) if name not in OWN])
def test_ensemble_has_the_inner_methods_attributes(name):
    ensemble = ensemble_of(Everything())
    found = getattr(ensemble, name)
    if inspect.ismethod(found):
        assert found(1, two=2) == (name, (1,), {"two": 2})
    else:
        assert found is getattr(Everything, name)


def test_ensemble_keeps_options_of_the_inner_method():
    ensemble = ensemble_of(VIFA(latent_dim=3, mc_samples=2))
    assert (ensemble.latent_dim, ensemble.batches_per_update) == (3, 2)
    assert VIFA().members == 1


def test_ensemble_is_named_after_its_inner_method():
    ensemble = methods.get("ensemble:vifa-lr")
    assert isinstance(ensemble, LinearVIFA)
    assert (ensemble.name, ensemble.title) == ("ensemble:vifa-lr", "Ensemble of 5 x VIFA, linear model")
    assert ensemble.paper.authors == "Lakshminarayanan et al. 2017"
    assert ensemble.members == 5
    assert methods.describe("ensemble:map") == f"Ensemble of: {methods.describe('map')}"


def stack_of(method: Method, seed: int) -> StackedFits:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((20, 3))
    hparams = {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 1.0}
    fits = [Fit(np.arange(15), hparams, seed)]
    return train_stacked(method, TASK, Data.of(x, x.sum(1)), fits, Schedule(15, 5, 4, 1))


NAMED = {"deep-ensemble": "map", "multiswag": "swag", "laplace-mixture": "laplace"}


@pytest.mark.parametrize("name", NAMED)
def test_named_ensemble_methods_equal_generic_ensembles(name):
    ours, theirs = (stack_of(methods.get(each), 3) for each in (f"ensemble:{NAMED[name]}", name))
    torch.testing.assert_close(ours.posterior, theirs.posterior, rtol=0, atol=0)


def test_ensemble_of_laplace_pools_exact_linear_posteriors():
    problem = strong_prior(0)
    stack = problem.fit(methods.get("laplace-mixture"), lr=0.02, updates=1500, batch_size=len(problem.x))
    samples, exact = problem.weight_samples(stack, 20_000)[0], problem.posterior()
    np.testing.assert_allclose(samples.mean(0), exact.mean, atol=0.03 * np.diag(exact.covariance).max() ** 0.5)
    np.testing.assert_allclose(np.cov(samples.T), exact.covariance, atol=0.03 * exact.covariance.max())


def test_members_of_a_deep_ensemble_have_different_weights():
    ours = stack_of(methods.get("deep-ensemble"), 3)
    (pooled,) = ours.predict([np.arange(15, 20)], n_samples=5)
    assert pooled.mean.shape == (5, 5)
    assert seed_of(3, 0, "init") != seed_of(3, 1, "init")
    assert pooled.mean.std(0).min() > 0


@pytest.mark.parametrize("larger", ["deep-ensemble(members=7)", "ensemble:map(members=7)"])
def test_larger_ensemble_has_the_members_of_the_smaller(larger):
    five, seven = (stack_of(methods.get(name), 3).posterior for name in ("deep-ensemble", larger))
    assert len(seven) == 7
    torch.testing.assert_close(seven[:5], five, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["ensemble:deep-ensemble", "ensemble:ensemble:map"])
def test_an_ensemble_of_ensembles_is_refused(name):
    with pytest.raises(methods.BrokenMethod, match="is an ensemble of 5 itself; name a method with one member"):
        methods.get(name)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("ensemble:mapp", "ensemble:map"), ("ensembl:vifa", "ensemble:vifa")],
)
def test_misspelt_inner_method_gets_a_suggestion(name, suggestion):
    with pytest.raises(methods.UnknownMethod, match=f"{name!r} is unknown; did you mean {suggestion!r}"):
        methods.get(name)
