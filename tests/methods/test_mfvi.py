"""Mean-field VI and its variants against autograd of the documented objectives and mean-field theory."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.func import grad, vmap

from lockstep_bench import methods
from lockstep_bench.bench.reference.conjugate import correlated, orthogonal
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.maths.priors import PENALTY_WEIGHTS, EmpiricalBayes, Fixed
from lockstep_bench.methods.mfvi import (
    CollapsedMeanFieldVI,
    LocalMeanFieldVI,
    MeanFieldVI,
    MeanFieldVIEmpiricalBayes,
    MeanFieldVIState,
)
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet, preresnet_20
from lockstep_bench.methods.problem import Batch, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD

FIRST = Step(torch.tensor(1.0), None)


def start(dim: int) -> torch.Tensor:
    params = 0.3 * torch.randn(2, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return params - torch.tensor([[0.0], [1.0]], dtype=torch.float64)


def gradients(method, problem, params, batch, tapes):
    """Return the gradients (S, 2, D) that one SGD step follows, for each tape (S, T)."""

    def one(tape):
        after = method.update(problem, MeanFieldVIState(params, SGD()), batch, Noise(tape), FIRST)[0].params
        return (params - after) / problem.hparams.lr

    return vmap(one)(tapes)


@pytest.mark.parametrize("tempering", [1.0, 0.2])
def test_update_follows_the_gradient_of_negative_elbo(problem, hparams, batches, tempering):
    params, batch = start(problem.dim), batches(1)
    unit = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def negative_elbo(params):
        mean, sd = params[0], params[1].exp()
        prior = Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5)
        kl = kl_divergence(Normal(mean, sd), prior).sum()
        return problem.n_train * problem.nll(mean + sd * unit, batch) + tempering * kl

    (found,) = gradients(MeanFieldVI(tempering=tempering), problem, params, batch, unit[None])
    torch.testing.assert_close(found, grad(negative_elbo)(params))


@pytest.mark.parametrize("name", ["mfvi", "mfvi-local", "vifa", "variational-laplace"])
def test_mean_variant_predicts_with_the_posterior_mean(problem, name):
    given, plain = methods.get(f"{name}(mean_network=true)"), methods.get(name)
    gauge = NoiseGauge(torch.float64)
    posterior = plain.finish(problem, plain.init(problem, gauge))
    (sample,) = given.sample(problem, posterior, gauge, 7)
    assert torch.equal(sample, plain.moments(problem, posterior)[0])
    assert len(plain.sample(problem, posterior, gauge, 7)) == 7


# Of an image each makes one position: only then is the local estimator's law exact.
IMAGE_NETWORKS = {
    "convolutional": ConvNet((2, 2, 2), (3,), n_outputs=3),
    "residual": PreActResNet((8, 1, 1), 3, widths=(4,), blocks=1, norm="group"),
}


def image_problem(network, hparams) -> tuple[Problem, Batch]:
    """Five images."""
    one = torch.tensor(1.0, dtype=torch.float64)
    problem = Problem(network, Categorical(3), hparams, 12 * one, 0 * one, one)
    x = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return problem, Batch(x, torch.tensor([[0.0, 1, 2, 1, 1]]).double())


@pytest.mark.parametrize("kind", ["dense", *IMAGE_NETWORKS])
def test_local_reparameterisation_is_unbiased_with_less_variance(problem, hparams, batches, kind):
    problem, batch = (problem, batches(1)) if kind == "dense" else image_problem(IMAGE_NETWORKS[kind], hparams)
    n_samples = 4000 if kind == "residual" else 20000
    generator = torch.Generator().manual_seed(3)
    tapes = torch.randn(n_samples, max(100, problem.dim), generator=generator, dtype=torch.float64)
    arguments = problem, start(problem.dim), batch
    plain = gradients(MeanFieldVI(), *arguments, tapes)
    local = gradients(LocalMeanFieldVI(), *arguments, tapes)
    stderr = ((plain.var(0) + local.var(0)) / n_samples).sqrt()
    used = stderr > 1e-9  # not so a kernel's entries that only ever meet padding
    deviations = ((plain.mean(0) - local.mean(0)) / stderr)[used]
    assert deviations.abs().max() < 5
    assert 0.4 < deviations.square().mean() < 2.5
    assert local.var(0).sum() < 0.8 * plain.var(0).sum()


def test_local_reparameterisation_survives_zero_output_variance(hparams):
    one = torch.tensor(1.0, dtype=torch.float64)
    problem = Problem(MLP(2, hidden=(), bias=False), Gaussian((0.01, 1.0)), hparams, 4 * one, 0 * one, one)
    batch = Batch(torch.zeros(1, 3, 2).double(), torch.ones(1, 3).double())
    found = gradients(LocalMeanFieldVI(), problem, start(2), batch, torch.ones(1, 3).double())
    assert found.isfinite().all()


@pytest.mark.parametrize("method", [MeanFieldVI(), LocalMeanFieldVI()], ids=lambda method: method.name)
def test_variances_are_the_reciprocal_diagonal_of_the_exact_precision(method):
    # For a correlated posterior mean-field VI keeps the mean and underestimates variances: Bishop 2006, section 10.1.2.
    problem = correlated(seed=1, n_rows=200, alpha=1.0, beta=1.0)
    exact = problem.posterior()
    stack = problem.fit(method, lr=0.005, updates=6000, batch_size=100, seeds=range(12))
    mean, log_sd = stack.posterior.mean(0).numpy()
    mean_field_sd = np.diag(np.linalg.inv(exact.covariance)) ** -0.5
    assert np.abs(np.exp(log_sd) / mean_field_sd - 1).max() < 0.1
    assert (mean_field_sd / np.sqrt(np.diag(exact.covariance))).max() < 0.9  # so that the bound above can tell
    assert (np.abs(mean - exact.mean) / mean_field_sd).max() < 0.25


@pytest.mark.parametrize("eta", [0.1, 1.0, 5.0])
def test_fixed_prior_with_eta_is_tempered_vi(problem, hparams, batches, eta):
    # N times the NLL plus eta KL(q || N(0, 0.1 I)): the update of `mfvi` with that prior and that temperature.
    hparams.penalty_weight = torch.tensor(eta, dtype=torch.float64)
    hparams.prior_precision = torch.tensor(1 / 0.1, dtype=torch.float64)
    unit = torch.randn(1, problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    arguments = problem, start(problem.dim), batches(1), unit
    found = gradients(CollapsedMeanFieldVI("fixed"), *arguments)
    torch.testing.assert_close(found, gradients(MeanFieldVI(tempering=eta), *arguments))


def test_several_weight_samples_average_their_gradients(problem, batches):
    unit = torch.randn(3, problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    arguments = problem, start(problem.dim), batches(1)
    (found,) = gradients(MeanFieldVI(mc_samples=3), *arguments, unit.reshape(1, -1))
    torch.testing.assert_close(found, gradients(MeanFieldVI(), *arguments, unit).mean(0))


@pytest.mark.parametrize("eta", [0.1, 1.0, 10.0])
def test_inferred_prior_mean_gives_known_linear_posterior(eta):
    # N times the NLL plus eta times eq. 12: the mean is ridge's with precision eta shrinkage / gamma, the variances are
    # eta over the curvature eta / gamma + beta sum x^2.
    method = CollapsedMeanFieldVI()
    problem = orthogonal(0)
    gamma, shrinkage = method.prior.gamma, method.prior.shrinkage
    n_rows = len(problem.x)
    stack = problem.fit(method, lr=0.003, updates=6000, batch_size=n_rows, seeds=range(8), penalty_weight=eta)
    mean, log_sd = stack.posterior.mean(0).numpy()
    ridge = problem.beta * problem.x.T @ problem.y / (eta * shrinkage / gamma + problem.beta * n_rows)
    sd = (eta / (eta / gamma + problem.beta * n_rows)) ** 0.5
    np.testing.assert_allclose(mean, ridge, atol=0.1 * sd)
    np.testing.assert_allclose(np.exp(log_sd), sd, rtol=0.05)


@pytest.mark.parametrize("method", [methods.get("mfvi-mv"), methods.get("mfvi-eb")], ids=lambda one: one.name)
def test_each_prior_variant_descends_its_own_penalty(method, problem, hparams, batches):
    params, batch = start(problem.dim), batches(1)
    unit = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    hparams.penalty_weight = torch.tensor(3.0, dtype=torch.float64)

    def objective(params):
        mean, sd = params[0], params[1].exp()
        if isinstance(method, MeanFieldVIEmpiricalBayes):
            penalty = 0
            for first, last in [(0, 12), (12, 16), (16, 20), (20, 21)]:  # weights and biases of 3 -> 4 -> 1 units
                here = mean[first:last], sd[first:last]
                prior_sd = ((here[0] ** 2 + here[1] ** 2).sum() + 20.0) / (last - first + 2 * 4.4798 + 2)
                penalty += kl_divergence(Normal(*here), Normal(0.0, prior_sd.sqrt())).sum()
        else:
            penalty = ((0.01 + 0.05 * mean**2 + 0.5 * sd**2).log() - sd.log()).sum()  # eq. 21 at its constants
        return problem.n_train * problem.nll(mean + sd * unit, batch) + 3 * penalty

    (found,) = gradients(method, problem, params, batch, unit[None])
    torch.testing.assert_close(found, grad(objective)(params))


def test_empirical_bayes_has_one_variance_per_weight_tensor(problem, hparams):
    hparams.penalty_weight = torch.tensor(1.0, dtype=torch.float64)
    mean, log_sd = start(problem.dim)
    found = methods.get("mfvi-eb").divergence(problem, mean, log_sd)
    pieces = zip(mean.split([12, 4, 4, 1]), log_sd.exp().split([12, 4, 4, 1]), strict=True)
    torch.testing.assert_close(found, sum(EmpiricalBayes().penalty(*pair) for pair in pieces))


def test_annealing_weights_the_kl_and_caps_variances(problem, hparams, batches):
    cap, lr = 0.3, hparams.lr
    params, batch = start(problem.dim), batches(1)
    unit = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    phase = MeanFieldVI(annealed=True).phase(7, Plan(40, 2.0))
    assert phase == (20, 10)
    step = Step(torch.tensor(24.0, dtype=torch.float64), phase)  # four tenths of the way up

    def objective(params):
        mean, sd = params[0], params[1].exp()
        kl = kl_divergence(Normal(mean, sd), Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5)).sum()
        return problem.n_train * problem.nll(mean + sd * unit, batch) + weight * kl

    method, weight = MeanFieldVI(max_sd=cap, annealed=True), 0.4
    state, reported = method.update(problem, MeanFieldVIState(params, SGD()), batch, Noise(unit), step)
    after = state.params
    expected = params - lr * grad(objective)(params)
    torch.testing.assert_close(after[0], expected[0])
    torch.testing.assert_close(after[1].exp(), expected[1].exp().clamp(max=cap))
    assert 0 < (expected[1].exp() > cap).sum() < problem.dim
    weight = 1.0  # the ELBO is recorded with the full divergence
    torch.testing.assert_close(reported["elbo"], problem.elbo(objective(params)))


@pytest.mark.parametrize(
    ("name", "prior_sd"),
    [("mfvi", 0.7**-0.5), ("mfvi-local", 0.7**-0.5), ("mfvi-mv", 0.05**0.5), ("mfvi-eb", 0.05**0.5)],
)
def test_image_log_sd_starts_three_below_the_priors(name, prior_sd, problem):
    method = methods.get(name)
    suited = method.suited_to(Task("any", Categorical(10), preresnet_20()))
    assert (type(suited), suited.max_sd, suited.annealed) == (type(method), None, False)
    log_sd = suited.init(problem, NoiseGauge(torch.float64)).params[1]
    torch.testing.assert_close(log_sd, torch.full_like(log_sd, np.log(prior_sd) - 3))
    assert method.suited_to(Task("any", Gaussian((0.01, 1.0)), MLP(5))) is method


def test_image_log_sd_learns_ten_times_faster(problem, batches):
    plain = MeanFieldVI()
    suited = plain.suited_to(Task("any", Categorical(10), preresnet_20()))
    params, batch = start(problem.dim), batches(1)
    tape = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    moved, expected = (gradients(method, problem, params, batch, tape[None])[0] for method in (suited, plain))
    torch.testing.assert_close(moved, expected * torch.tensor([[1.0], [10.0]], dtype=torch.float64))


def test_fixed_prior_uses_the_papers_variances():
    # Wei and Khardon, appendix D: 0.1 on UCI, 0.05 on images.
    images, tabular = Task("any", Categorical(10), preresnet_20()), Task("any", Categorical(3), MLP(3, n_outputs=3))
    assert CollapsedMeanFieldVI("fixed").suited_to(images).prior == Fixed(0.05)
    assert CollapsedMeanFieldVI("fixed").suited_to(tabular).prior == Fixed(0.1)


def test_penalty_weight_has_the_papers_search_range():
    task = Task("any", Gaussian((0.01, 1.0)), MLP(5))
    method = CollapsedMeanFieldVI()
    assert method.search_space(task)["penalty_weight"].choices == PENALTY_WEIGHTS
    assert method.wide_space(task)["penalty_weight"].high == 10
    assert method.wide_space(task)["lr"].high > method.search_space(task)["lr"].high
    assert "prior_precision" not in method.search_space(task)


def test_diagnostics_report_the_kl_per_example(problem, hparams):
    params = start(problem.dim)
    mean, sd = params[0], params[1].exp()
    kl = kl_divergence(Normal(mean, sd), Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5)).sum() / 12
    found = MeanFieldVI(tempering=0.2).diagnostics(problem, params)
    torch.testing.assert_close(found["kl"], kl)
    torch.testing.assert_close(found["tempered_kl"], 0.2 * kl)
    torch.testing.assert_close(found["median_sd"], sd.median())
    hparams.penalty_weight = torch.tensor(3.0, dtype=torch.float64)
    method = CollapsedMeanFieldVI()
    found = method.diagnostics(problem, params)
    torch.testing.assert_close(found["kl"], method.prior.penalty(mean, sd) / 12)
    torch.testing.assert_close(found["tempered_kl"], 3 * found["kl"])
