"""DirectUQ against autograd of the documented objective and what can be said exactly of its predictive."""

import math

import pytest
import torch
from torch.distributions import Bernoulli as BernoulliDistribution
from torch.distributions import Categorical as CategoricalDistribution
from torch.distributions import Normal
from torch.nn.functional import softplus

from lockstep_bench import methods
from lockstep_bench.methods.directuq import DirectUQL2, DirectUQState, DirectUQWithPrior
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.priors import PENALTY_WEIGHTS, Fixed, LearnedMean
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD

N_TRAIN, SIZE, MC_SAMPLES, ETA, LR = 12, 5, 3, 0.7, 0.05
LIKELIHOODS = {
    "gaussian": (Gaussian((0.01, 1.0)), 2, lambda z: Normal(z[0], (z[1] / 2).exp())),
    "bernoulli": (Bernoulli(), 1, lambda z: BernoulliDistribution(logits=z[0])),
    "categorical": (Categorical(3), 3, lambda z: CategoricalDistribution(logits=z)),
}
VARIANTS = [name for name in methods.names() if name.startswith("directuq")]


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def problem_of(method, likelihood, **hparams: float) -> Problem:
    task = Task("any", likelihood, MLP(3, (4,), n_outputs=likelihood.n_outputs))
    one = torch.tensor(1.0, dtype=torch.float64)
    scales = (2 * one, 3 * one) if likelihood.standardises else (0 * one, one)
    values = HParams(**{name: value * one for name, value in hparams.items()})
    return Problem(method.network(task), method.likelihood(task), values, N_TRAIN * one, *scales)


def penalty_by_hand(method, weights, mean, sd):
    """Averaged over the minibatch, from the formulas of the paper and torch.distributions."""
    if isinstance(method, DirectUQL2):
        return (weights**2).sum() / N_TRAIN
    prior = method.prior
    if isinstance(prior, Fixed):
        return torch.distributions.kl_divergence(Normal(mean, sd), Normal(0.0, 0.1**0.5)).sum(-1).mean()
    if isinstance(prior, LearnedMean):  # eq. 12 and 23, gamma = 0.3, alpha + gamma = 6
        reduced = mean.mean(0) if method.one_prior_for_all_data else mean
        explained = (1 / 0.3 - 1 / 6) * (reduced**2).sum(-1)
        own = ((sd**2 + mean**2) / 0.3 - 2 * sd.log() + math.log(6) - 1).sum(-1)
        return 0.5 * (own - explained).mean()
    # Of the others the gradient is eq. 21 and 16; `test_priors` has their constants.
    pool = (lambda one: one.mean(0, keepdim=True)) if method.one_prior_for_all_data else (lambda one: one)
    if method.name.startswith("directuq-mv"):
        return ((0.01 + pool(0.05 * mean**2) + pool(0.5 * sd**2)).log() - sd.log()).sum(-1).mean()
    square, k = (mean**2 + sd**2).sum(-1), mean.shape[-1]
    s = (pool(square) + 20) / (k + 2 * 4.4798 + 2)
    return 0.5 * (k * s.log() - 2 * sd.log().sum(-1) + square / s).mean()


@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("name", VARIANTS)
def test_update_follows_the_gradient_of_the_documented_objective(name, kind):
    likelihood, k, model = LIKELIHOODS[kind]
    method = type(methods.get(name))(mc_samples=MC_SAMPLES)
    problem = problem_of(method, likelihood, lr=LR, penalty_weight=ETA)
    assert problem.network.n_outputs == 2 * k
    x, unit = numbers(1, SIZE, 3, seed=1), numbers(MC_SAMPLES, SIZE, k, seed=2)
    y = numbers(1, SIZE) if likelihood.standardises else torch.tensor([[0.0, 1, k - 1, 0, 1]]).double()
    weights = numbers(problem.dim, seed=3).mul(0.5).requires_grad_()

    outputs = problem.network(weights, x[0])
    mean, sd = outputs[:, :k], softplus(outputs[:, k:])
    loss = 0.0
    for sample in range(MC_SAMPLES):
        for row in range(SIZE):
            z = mean[row] + sd[row] * unit[sample, row]
            loss = loss - model(z).log_prob(y[0, row]) / (MC_SAMPLES * SIZE)
    objective = loss + ETA * penalty_by_hand(method, weights, mean, sd)
    (gradient,) = torch.autograd.grad(objective, weights)

    step = Step(torch.tensor(1.0), None)
    state = DirectUQState(weights.detach(), SGD())
    after, reported = method.update(problem, state, Batch(x, y), Noise(unit.flatten()), step)
    torch.testing.assert_close(after.weights, (weights - LR * gradient).detach())
    if not name.startswith(("directuq-mv", "directuq-eb")):  # whose constants are not written here
        torch.testing.assert_close(reported["objective"], (problem.n_train * objective).detach())


def test_all_points_share_one_noise_draw_per_sample():
    method = DirectUQWithPrior()
    problem = problem_of(method, Gaussian((0.01, 1.0)))
    weights, x, n_samples = numbers(problem.dim, seed=3), numbers(6, 3, seed=1), 10
    outputs = problem.network(weights, x)
    predictive = method.predict(problem, weights, x, Noise(numbers(n_samples)), n_samples)
    torch.testing.assert_close(predictive.mean.mean(0), 2 + 3 * outputs[:, 0])
    units = (predictive.mean - 2 - 3 * outputs[:, 0]) / (3 * softplus(outputs[:, 2]))
    torch.testing.assert_close(units, units[:, :1].expand_as(units))
    log_variances = (predictive.variance / 9).log()
    torch.testing.assert_close(log_variances.mean(0), outputs[:, 1])
    alone = method.predict(problem, weights, x[4:5], Noise(numbers(n_samples)), n_samples)
    torch.testing.assert_close(alone.mean, predictive.mean[:, 4:5])


def test_output_samples_follow_the_variational_predictive_distribution():
    method, n_samples = DirectUQWithPrior(), 40001  # an odd number leaves one sample without its opposite
    problem = problem_of(method, Gaussian((0.01, 1.0)))
    weights, x = 0.5 * numbers(problem.dim, seed=3), numbers(4, 3, seed=1)
    outputs = problem.network(weights, x)
    predictive = method.predict(problem, weights, x, Noise(numbers(n_samples + 1)), n_samples)
    assert predictive.mean.shape == (n_samples, 4)
    torch.testing.assert_close(predictive.mean.std(0), 3 * softplus(outputs[:, 2]), rtol=0.02, atol=0)
    log_variances = predictive.variance.log()
    torch.testing.assert_close(log_variances.std(0), softplus(outputs[:, 3]), rtol=0.02, atol=0)
    correlation = torch.corrcoef(torch.stack([predictive.mean[:, 0], log_variances[:, 0]]))[0, 1]
    assert correlation.abs() < 0.02


def test_mean_and_variance_share_all_but_the_last_layer():
    method = DirectUQWithPrior("fixed")
    for likelihood in (Gaussian((0.01, 1.0)), HeteroscedasticGaussian()):
        task = Task("any", likelihood, MLP(6, (50,), n_outputs=likelihood.n_outputs))
        assert method.likelihood(task) == HeteroscedasticGaussian()
        assert method.network(task).dim == 6 * 50 + 50 + 50 * 4 + 4
        assert method.excludes(task) is None
    assert method.network(Task("any", Categorical(3), MLP(6, n_outputs=3))).n_outputs == 6


def test_search_spaces_have_the_papers_and_wide_ranges():
    task = Task("any", Gaussian((0.01, 1.0)), MLP(6))
    paper, wide = DirectUQWithPrior().search_space(task), DirectUQWithPrior().wide_space(task)
    assert paper["penalty_weight"].choices == PENALTY_WEIGHTS
    assert (paper["lr"].low, paper["lr"].high) == (5e-4, 1e-3)
    assert wide["lr"].high == 0.1
    assert wide["penalty_weight"].low < 0.1
    assert set(paper) == {"lr", "penalty_weight"}


def test_image_tasks_use_the_papers_fixed_prior_and_eta():
    # Appendix D: variance 0.1 on UCI, 1 on images. Section 6.1: eta 0.1 on images, but 5 with weight decay.
    images = Task("any", Categorical(10), preresnet_20())
    tabular = Task("any", Categorical(3), MLP(3, (4,), n_outputs=3))
    assert DirectUQWithPrior("fixed").suited_to(images).prior == Fixed(1.0)
    assert DirectUQWithPrior("fixed").suited_to(tabular).prior == Fixed(0.1)
    for name in VARIANTS:
        choices = methods.get(name).image_space(images)["penalty_weight"].choices
        assert choices[0] == (5.0 if name == "directuq-l2" else 0.1)
        assert sorted(choices) == sorted(PENALTY_WEIGHTS)
