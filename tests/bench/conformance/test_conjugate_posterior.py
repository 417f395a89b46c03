"""The check of conjugate posteriors passes exact methods and fails those with a slip in prior, likelihood or noise."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.conformance import check
from lockstep_bench.bench.reference.conjugate import orthogonal, strong_prior
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.laplace import FullLaplace
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.predictive import Normals, StudentT
from lockstep_bench.methods.maths.search_spaces import LogUniform
from lockstep_bench.methods.mfvi import MeanFieldVI
from lockstep_bench.methods.problem import HParams

POSTERIOR = [name for name in methods.names() if name != "hmc" and methods.get(name).weight_posterior]


def finding_of(method: Method):
    (finding,) = check(method, ["conjugate posterior"])
    return finding


@pytest.mark.parametrize("name", ["map", "mfvi", "vifa-k1", "laplace", "swag", "slang-released"])
def test_selected_methods_pass_the_conjugate_posterior_check(name):
    finding = finding_of(methods.get(name))
    assert finding.passed, finding.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", POSTERIOR)
def test_every_method_passes_the_conjugate_posterior_check(name):
    finding = finding_of(methods.get(name))
    assert finding.passed, finding.detail


def with_slip(kind: type[Method], **changes) -> Method:
    """Return a method that is trained on a problem with other values.

    Args:
        kind: class of the method.
        changes: "n_train" or the name of a hyper-parameter -> function of its value.
    """

    def changed(problem):
        values = {name: changes.get(name, lambda value: value)(value) for name, value in vars(problem.hparams).items()}
        n_train = changes.get("n_train", lambda value: value)(problem.n_train)
        return replace(problem, hparams=HParams(**values), n_train=n_train)

    class Slip(kind):
        def update(self, problem, state, batch, noise, step):
            return super().update(changed(problem), state, batch, noise, step)

        def sweep(self, problem, state, rows):
            return super().sweep(changed(problem), state, rows)

        def finish(self, problem, state):
            return super().finish(changed(problem), state)

    return Slip()


@pytest.mark.parametrize("kind", [MAP, MeanFieldVI, FullLaplace])
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"prior_precision": lambda value: 1e-6 * value}, "strong prior .* that of a model without a prior"),
        ({"prior_precision": lambda value: 2 * value}, "strong prior .* that of a model of twice the prior precision"),
        ({"prior_precision": lambda value: value / 2}, "strong prior .* that of a model of half the prior precision"),
        ({"n_train": torch.ones_like}, "whose likelihood lacks the factor n_train"),
        ({"noise_precision": torch.ones_like}, "strong prior .* of noise precision 1"),
        ({"noise_precision": torch.reciprocal}, "strong prior .* with the reciprocal noise precision"),
    ],
    ids=["no prior", "twice the prior", "half the prior", "no n_train", "no noise precision", "reciprocal noise"],
)
@pytest.mark.slow
def test_failure_names_likely_causes_of_a_wrong_mean(kind, changes, complaint):
    finding = finding_of(with_slip(kind, **changes))
    assert not finding.passed
    assert re.search(complaint, finding.detail), finding.detail


@pytest.mark.parametrize(
    ("times", "said"),
    [(2.0, "All are about 0.71 x as large, as if the likelihood counted 2 times"), (0.5, "likelihood counted 0.5")],
)
def test_failure_names_a_likelihood_that_is_counted_wrongly(times, said):
    finding = finding_of(with_slip(MeanFieldVI, n_train=lambda value: times * value))
    assert not finding.passed
    assert said in finding.detail, finding.detail
    assert "n_train x the mean `problem.nll`" in finding.detail


class HalfTheNoise(MeanFieldVI):
    def sample(self, problem, posterior, noise, n_samples):
        mean, log_sd = posterior
        return mean + 0.5 * log_sd.exp() * noise.normal(n_samples, problem.dim)


class WrongNoiseOfTargets(MeanFieldVI):
    def predict(self, problem, posterior, x, noise, n_samples):
        predictive = super().predict(problem, posterior, x, noise, n_samples)
        return predictive._replace(variance=predictive.variance.sqrt())


class ClaimsFullCovariance(MeanFieldVI):
    covariance = "full"


class PointWithoutCaveat(MAP):
    spread_caveat = ""


@pytest.mark.parametrize("kind", [HalfTheNoise, WrongNoiseOfTargets, ClaimsFullCovariance, PointWithoutCaveat])
def test_wrong_posterior_spread_fails_the_check(kind):
    finding = finding_of(kind())
    assert not finding.passed
    assert "a posterior standard deviation is" in finding.detail
    assert ("as if the likelihood counted" in finding.detail) == (kind is HalfTheNoise)
    assert "or a `spread_caveat`" in finding.detail


class Moments(FullLaplace):
    """Predicts with one component, whose variance has the spread of the weights in it."""

    def predict(self, problem, posterior, x, noise, n_samples):
        predictive = super().predict(problem, posterior, x, noise, 4000)
        total = predictive.variance.mean(0) + predictive.mean.var(0)
        return Normals(predictive.mean.mean(0, keepdim=True), total[None])


def test_method_with_closed_form_predictive_passes():
    finding = finding_of(Moments())
    assert finding.passed, finding.detail


class Students(MAP):
    def predict(self, problem, posterior, x, noise, n_samples):
        mean, variance = super().predict(problem, posterior, x, noise, n_samples)
        return StudentT(torch.full_like(mean[:1], 5.0), mean[:1], variance[:1].sqrt())


def test_non_gaussian_predictions_fail_the_conjugate_check():
    assert "declare `weight_posterior = False`" in finding_of(Students()).detail


class KeepsSixteen(FullLaplace):
    def predict(self, problem, posterior, x, noise, n_samples):
        return super().predict(problem, posterior, x, noise, 16)


def test_method_that_stores_sixteen_samples_passes():
    finding = finding_of(KeepsSixteen())
    assert finding.passed, finding.detail


class TunesItsMomentum(MAP):
    def search_space(self, task):
        return super().search_space(task) | {"momentum": LogUniform(0.5, 0.98)}

    def update(self, problem, state, batch, noise, step):
        after, reported = super().update(problem, state, batch, noise, step)
        return after._replace(weights=torch.lerp(after.weights, state.weights, problem.hparams.momentum)), reported


def test_conjugate_check_supplies_every_declared_hyper_parameter():
    finding = finding_of(TunesItsMomentum())
    assert finding.passed, finding.detail


@pytest.mark.parametrize("problem_of", [orthogonal, strong_prior])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_best_gaussian_minimises_the_kl_divergence(problem_of, covariance):
    problem = problem_of(0)
    exact, best = problem.posterior(), problem.best_normal(covariance).covariance

    def divergence(of: np.ndarray) -> float:
        ratio = np.linalg.solve(exact.covariance, of)
        return 0.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(of))

    direction = {"full": np.ones_like(best), "diagonal": np.diag([1.0, 2, 3]), "spherical": np.eye(3)}[covariance]
    step = 0.01 * np.linalg.norm(best) * direction / np.linalg.norm(direction)
    assert divergence(best) < min(divergence(best + step), divergence(best - step))


def test_linear_problems_prior_is_as_strong_as_data():
    problem = strong_prior(0)
    of_data = np.linalg.eigvalsh(problem.beta * problem.x.T @ problem.x)
    assert of_data[0] < problem.alpha < of_data[-1]
    assert (np.abs(np.corrcoef(problem.x.T)[np.triu_indices(3, 1)]) > 0.3).all()
