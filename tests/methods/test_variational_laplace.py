"""Variational Laplace against its documented objective in plain autograd, the exact Fisher information, and ridge."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch.distributions import Normal, kl_divergence
from torch.func import grad, hessian, jacrev, vmap

from lockstep_bench.bench.reference.conjugate import correlated, orthogonal
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mixed_precision import Mixed
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD
from lockstep_bench.methods.variational_laplace import (
    TemperedVariationalLaplace,
    VariationalLaplace,
    VariationalLaplacePosterior,
    VariationalLaplaceState,
)

N_TRAIN, Y_SCALE = 12, 3.0  # of the `problem` fixture
ZERO = torch.tensor(0.0, dtype=torch.float64)


def step(phase: bool) -> Step:
    return Step(torch.tensor(1.0), phase)


@pytest.fixture
def smooth(problem):
    return replace(problem, network=MLP(3, (4,), activation="softplus"))


@pytest.fixture
def params(problem):
    generator = torch.Generator().manual_seed(0)
    return 0.5 * torch.randn(2, problem.dim, generator=generator, dtype=torch.float64)


def documented_objective(mean, log_sd, batch, hparams, tempering, unit):
    """The objective of a 3-4-1 softplus network, one example at a time, by torch.distributions and torch.autograd."""
    first, first_bias, last, last_bias = mean.split([12, 4, 4, 1])

    def outputs(x):
        hidden = torch.nn.functional.softplus(x @ first.reshape(3, 4) + first_bias)
        return hidden @ last + last_bias[0]

    noise_sd = 1 / (hparams.noise_precision**0.5 * Y_SCALE)
    log_likelihood, slope = 0.0, 0.0
    for x, y, eps in zip(batch.x[0], batch.y[0], unit, strict=True):
        model = Normal(outputs(x), noise_sd)
        log_likelihood = log_likelihood + model.log_prob(y)
        label = (model.mean + eps * noise_sd).detach()
        slope = slope + torch.autograd.grad(model.log_prob(label), mean, create_graph=True)[0]
    size = len(unit)
    prior = Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5)
    kl = kl_divergence(Normal(mean, log_sd.exp()), prior).sum()
    penalty = 0.5 * size * (log_sd.exp() ** 2 * (slope / size) ** 2).sum()
    return -log_likelihood / size + penalty + tempering / N_TRAIN * kl


@pytest.mark.parametrize("tempering", [1.0, 0.1])
def test_update_follows_the_gradient_of_the_documented_objective(smooth, params, hparams, batches, tempering):
    batch = batches(1)
    unit = torch.randn(5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    method = VariationalLaplace(tempering, sd_lr_ratio=7.0)
    state = VariationalLaplaceState(params, SGD(), ZERO, ZERO)
    after = method.update(smooth, state, batch, Noise(unit), step(False))[0].params
    mean, log_sd = (one.clone().requires_grad_() for one in params)
    objective = documented_objective(mean, log_sd, batch, hparams, tempering, unit)
    by_mean, by_log_sd = torch.autograd.grad(objective, (mean, log_sd))
    expected = torch.stack([mean - hparams.lr * by_mean, log_sd - 7 * hparams.lr * by_log_sd])
    torch.testing.assert_close(after, expected.detach())


class Residual:
    """A problem of a residual network with one minibatch, and what its update needs, in some precision."""

    def __init__(self, dtype: torch.dtype):
        generator = torch.Generator().manual_seed(0)
        network = PreActResNet((1, 4, 4), 3, widths=(3, 4), blocks=1, activation="softplus")
        one = torch.tensor(1.0, dtype=dtype)
        self.problem = Problem(network, Categorical(3), HParams(), N_TRAIN * one, 0 * one, one)
        numbers = partial(torch.randn, generator=generator, dtype=torch.float64)
        x, self.unit = (numbers(*shape).to(dtype) for shape in ((1, 5, 16), (5,)))
        self.params = 0.3 * numbers(2, network.dim).to(dtype)
        self.batch = Batch(x, torch.tensor([[0, 1, 2, 0, 1]], dtype=dtype))

    def gradient(self, method: VariationalLaplace, hparams, network=None) -> torch.Tensor:
        """Return the gradient (2, D) that an update by SGD follows."""
        values = {name: value.to(self.params) for name, value in vars(hparams).items()}
        values["lr"] = torch.ones_like(self.params[0, 0])
        problem = replace(self.problem, network=network or self.problem.network, hparams=HParams(**values))
        state = VariationalLaplaceState(self.params, SGD(), ZERO, ZERO)
        after, _ = method.update(problem, state, self.batch, Noise(self.unit), step(False))
        return self.params - after.params

    def gradient_of_the_documented_objective(self, hparams) -> torch.Tensor:
        problem, x, y = self.problem, self.batch.x[0], self.batch.y.T.long()
        mean, log_sd = (part.clone().requires_grad_() for part in self.params)
        outputs = problem.network(mean, x)
        log_probs = outputs.log_softmax(-1)
        labels = problem.likelihood.draw(outputs.detach(), hparams, problem.y_scale, Noise(self.unit)).long()
        drawn = log_probs.gather(1, labels[:, None]).mean()
        (slope,) = torch.autograd.grad(drawn, mean, create_graph=True)
        prior = Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5)
        kl = kl_divergence(Normal(mean, log_sd.exp()), prior).sum()
        penalty = 5 / 2 * (torch.exp(2 * log_sd) * slope**2).sum()
        objective = -log_probs.gather(1, y).mean() + penalty + kl / N_TRAIN
        return torch.stack(torch.autograd.grad(objective, (mean, log_sd)))


@pytest.mark.parametrize(("difference", "rtol"), [(False, 1e-7), (True, 1e-5)])
def test_residual_network_update_follows_the_documented_objective(hparams, difference, rtol):
    residual = Residual(torch.float64)
    found = residual.gradient(VariationalLaplace(sd_lr_ratio=1.0, difference=difference), hparams)
    expected = residual.gradient_of_the_documented_objective(hparams)
    assert (found - expected).norm() < rtol * expected[0].norm()


def test_finite_gradient_difference_is_accurate_in_float32(hparams):
    methods = (VariationalLaplace(sd_lr_ratio=1.0, difference=True), VariationalLaplace(sd_lr_ratio=1.0))
    found, exact = (Residual(torch.float32).gradient(method, hparams) for method in methods)
    assert 0 < (found[0] - exact[0]).norm() < 1e-3 * exact[0].norm()
    torch.testing.assert_close(found[1], exact[1])


def test_bfloat16_training_uses_exact_not_finite_differences(hparams):
    residual = Residual(torch.float32)
    mixed = Mixed(residual.problem.network, torch.bfloat16)
    methods = (VariationalLaplace(difference=True), VariationalLaplace())
    found, exact = (residual.gradient(method, hparams, mixed) for method in methods)
    assert torch.equal(found, exact)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_predictions_make_expected_labels_observed_labels(hparams, dtype):
    residual = Residual(dtype)
    residual.params[0, -3] = 1e4  # the bias of the first class
    found, exact = (residual.gradient(VariationalLaplace(difference=flag), hparams) for flag in (True, False))
    torch.testing.assert_close(found, exact)


def test_elbo_averages_the_objective_over_last_epoch(smooth, params, hparams, batches):
    method, plan = VariationalLaplace(), Plan(n_updates=5, updates_per_epoch=2.5)
    generator = torch.Generator().manual_seed(1)
    state, objectives = VariationalLaplaceState(params, SGD(), ZERO, ZERO), []
    for update in range(1, 6):
        batch, unit = batches(1), torch.randn(5, generator=generator, dtype=torch.float64)
        mean, log_sd = (one.clone().requires_grad_() for one in state.params)
        objectives.append(documented_objective(mean, log_sd, batch, hparams, 1.0, unit).item())
        state, _ = method.update(smooth, state, batch, Noise(unit), step(method.phase(update, plan)))
    found = method.diagnostics(smooth, method.finish(smooth, state))
    # Targets are 3 times as far apart as the standardised ones that they stand for.
    assert found["elbo_laplace"].item() == pytest.approx(-np.mean(objectives[2:]) - np.log(3.0))


def hessian_problem(hparams) -> tuple[Problem, Batch, torch.Tensor]:
    """Return a network of six weights with two classes, a minibatch of five, and params (2, D)."""
    generator = torch.Generator().manual_seed(5)
    network = MLP(1, (1,), n_outputs=2, activation="softplus")
    one = torch.tensor(1.0, dtype=torch.float64)
    problem = Problem(network, Categorical(2), hparams, N_TRAIN * one, 0 * one, one)
    x = torch.randn(1, 5, 1, generator=generator, dtype=torch.float64)
    params = 0.7 * torch.randn(2, network.dim, generator=generator, dtype=torch.float64)
    return problem, Batch(x, torch.tensor([[0.0, 1, 1, 0, 1]]).double()), params


def test_hessian_variant_averages_to_gradient_of_equation_20(hparams):
    problem, batch, params = hessian_problem(hparams)
    every_sign = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * problem.dim)
    method = VariationalLaplace(sd_lr_ratio=1.0, hessian=True, tempering=0.3)

    def gradient(signs):
        state = VariationalLaplaceState(params, SGD(), ZERO, ZERO)
        after, _ = method.update(problem, state, batch, Noise(signs), step(False))
        return (params - after.params) / hparams.lr

    def nll(weights):
        return problem.nll(weights, batch)

    def written(params):
        mean, log_sd = params
        kl = kl_divergence(Normal(mean, log_sd.exp()), Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5))
        diagonal = hessian(nll)(mean).diagonal()
        return nll(mean) + 0.5 * (torch.exp(2 * log_sd) * diagonal).sum() + 0.3 / N_TRAIN * kl.sum()

    torch.testing.assert_close(vmap(gradient)(every_sign).mean(0), grad(written)(params))


def test_hessian_variant_is_exact_for_orthogonal_inputs():
    problem = orthogonal(0)
    exact = problem.posterior()
    stack = problem.fit(VariationalLaplace(hessian=True), lr=0.003, updates=2500, batch_size=len(problem.x))
    mean, log_sd = stack.posterior.params[0].numpy()
    np.testing.assert_allclose(mean, exact.mean, atol=0.01 * np.exp(log_sd).min())
    np.testing.assert_allclose(np.exp(log_sd), np.diag(exact.covariance) ** 0.5, rtol=0.01)


def test_squared_gradients_average_to_fisher_information(params, hparams, batches):
    batch, network = batches(1), MLP(3, (4,), n_outputs=3, activation="softplus")
    one = torch.tensor(1.0, dtype=torch.float64)
    problem = Problem(network, Categorical(3), hparams, N_TRAIN * one, 0 * one, one)
    params = params[:, :1] * torch.ones(1, network.dim) + 0.3 * torch.randn(
        2, network.dim, generator=torch.Generator().manual_seed(4), dtype=torch.float64
    )
    mean, log_sd = params
    method = VariationalLaplace(tempering=0.0, sd_lr_ratio=1.0)
    tapes = torch.randn(40000, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def slopes_in_log_sd(labels):
        def of(tape):
            state = VariationalLaplaceState(params, SGD(), ZERO, ZERO)
            after, _ = method.update(problem, state, batch._replace(y=labels), Noise(tape), step(False))
            return (log_sd - after.params[1]) / hparams.lr

        return vmap(of)(tapes)

    labels = torch.tensor([[0.0, 1, 2, 0, 1]]).double()
    found = slopes_in_log_sd(labels)
    assert torch.equal(found, slopes_in_log_sd(2 - labels))

    jacobian = jacrev(network)(mean, batch.x[0])  # (M, O, D)
    fisher = problem.fisher(network(mean, batch.x[0]))
    diagonal = torch.einsum("mod,mop,mpd->d", jacobian, fisher, jacobian)
    # d/d log sigma of S/2 sigma^2 g^2 is S sigma^2 g^2, and S^2 E[g^2] the minibatch's Fisher information.
    expected = torch.exp(2 * log_sd) * diagonal / 5
    stderr = found.std(0) / len(tapes) ** 0.5
    assert ((found.mean(0) - expected) / stderr).abs().max() < 4.5


def test_linear_model_gets_ridge_mean_and_fisher_precision():
    problem = correlated(seed=1, n_rows=200, alpha=1.0, beta=1.0)
    stack = problem.fit(VariationalLaplace(), lr=0.002, updates=2500, batch_size=200, seeds=range(6))
    mean, log_sd = stack.posterior.params.mean(0).numpy()
    ridge = Ridge(alpha=problem.alpha / problem.beta, fit_intercept=False).fit(problem.x, problem.y)
    sd = (problem.alpha + problem.beta * (problem.x**2).sum(0)) ** -0.5
    # The curvature of a linear model does not depend on the weights: its gradient in them is noise round zero.
    np.testing.assert_allclose(mean, ridge.coef_, atol=0.1 * sd.min())
    np.testing.assert_allclose(np.exp(log_sd), sd, rtol=0.03)


def test_tempered_variant_tunes_the_kl_weight(smooth, params, hparams, batches):
    method, fixed = TemperedVariationalLaplace(), VariationalLaplace(tempering=0.2)
    hparams.tempering = torch.tensor(0.2, dtype=torch.float64)
    unit = torch.randn(5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    state = VariationalLaplaceState(params, SGD(), ZERO, ZERO)
    arguments = smooth, state, batches(1)
    after, expected = (one.update(*arguments, Noise(unit), step(False))[0] for one in (method, fixed))
    torch.testing.assert_close(after.params, expected.params)
    assert "tempering" in method.search_space(Task("any", Gaussian((0.01, 1.0)), MLP(5)))


def test_log_sd_starts_three_below_the_priors(problem, hparams):
    tape = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    state = VariationalLaplace().init(problem, Noise(tape))
    expected = hparams.prior_precision.rsqrt().log() - 3
    torch.testing.assert_close(state.params[1], expected.expand(problem.dim))


def test_variational_laplace_uses_softplus_and_may_predict_with_mean():
    task = Task("any", Gaussian((0.01, 1.0)), MLP(5))
    assert VariationalLaplace().network(task).activation == "softplus"
    posterior = VariationalLaplacePosterior(torch.stack([torch.arange(3.0), torch.zeros(3)]), torch.tensor(0.0))
    images = Task("any", Categorical(3), PreActResNet(n_outputs=3))
    for method in (VariationalLaplace(mean_network=True), VariationalLaplace().suited_to(images)):
        assert torch.equal(method.sample(None, posterior, Noise(torch.zeros(0)), 100), posterior.params[:1])
    plain = VariationalLaplace()
    assert plain.suited_to(task) is plain
