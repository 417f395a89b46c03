"""Theorems 3.3, 4.1 and 4.2 of Wei and Khardon, *Direct Uncertainty Quantification*, on linear models, exactly."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, Normal, kl_divergence
from torch.func import vmap
from torch.nn.functional import softplus

from lockstep_bench.methods.maths.likelihoods import Bernoulli, Categorical, Gaussian
from lockstep_bench.methods.networks.mlp import MLP

N, D = 9, 3
NOISE_PRECISION = 2.5
ONE = torch.tensor(1.0, dtype=torch.float64)
MODELS = {"regression": Gaussian((0.1, 10.0)), "classification": Bernoulli()}
HPARAMS = SimpleNamespace(noise_precision=NOISE_PRECISION * ONE)


def numbers(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def positive_definite(size: int, seed: int) -> Tensor:
    root = numbers(size, size, seed=seed)
    return root @ root.T + 0.3 * torch.eye(size, dtype=torch.float64)


def expected_nll(likelihood, mean: Tensor, sd: Tensor, y: Tensor, n_nodes: int = 40) -> Tensor:
    """E[-log p(y | z)] of each point for z ~ N(mean, diag(sd^2)), (n,), by Gauss-Hermite quadrature in K dimensions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    k = mean.shape[-1]
    unit = torch.tensor(list(itertools.product(nodes, repeat=k)))
    share = torch.tensor([np.prod(each) for each in itertools.product(weights / weights.sum(), repeat=k)])
    z = mean[..., None, :] + sd[..., None, :] * unit
    return (likelihood.nll(z, y[..., None].expand(z.shape[:-1]), HPARAMS, ONE) * share).sum(-1)


def targets(x: Tensor, kind: str) -> Tensor:
    y = x @ numbers(x.shape[1], seed=5) + numbers(len(x), seed=6)
    return y if kind == "regression" else (y > 0).to(y)


def directuq_objective(likelihood, x: Tensor, y: Tensor, mean: Tensor, cov: Tensor, m0: Tensor, s0: Tensor) -> Tensor:
    """The negative of eq. 8: q(z | X) = N(X mean, X cov X^T) with the prior N(X m0, X s0 X^T), for x (N, d).

    The covariances have rank d. As in the paper, their inverses are pseudo-inverses and their determinants products of
    the d eigenvalues that are not 0.
    """
    q, p = x @ cov @ x.T, x @ s0 @ x.T
    loss = expected_nll(likelihood, (x @ mean)[:, None], q.diagonal().sqrt()[:, None], y).sum()
    rank = min(x.shape)
    log_volumes = [torch.linalg.eigvalsh(each)[-rank:].log().sum() for each in (q, p)]
    inverse, shift = torch.linalg.pinv(p, hermitian=True, rtol=1e-10), x @ (mean - m0)
    return loss + 0.5 * ((inverse @ q).trace() - rank - log_volumes[0] + log_volumes[1] + shift @ inverse @ shift)


def negative_elbo(likelihood, x: Tensor, y: Tensor, mean: Tensor, cov: Tensor, m0: Tensor, s0: Tensor) -> Tensor:
    """The negative of eq. 7, whose expectations are over the d-dimensional q(theta)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    unit = torch.tensor(list(itertools.product(nodes, repeat=len(mean))))
    share = torch.tensor([np.prod(each) for each in itertools.product(weights / weights.sum(), repeat=len(mean))])
    theta = mean + unit @ torch.linalg.cholesky(cov).T
    z = (theta @ x.T)[..., None]
    loss = (likelihood.nll(z, y.expand(z.shape[:-1]), HPARAMS, ONE) * share[:, None]).sum()
    return loss + kl_divergence(MultivariateNormal(mean, cov), MultivariateNormal(m0, s0))


@pytest.mark.parametrize("kind", MODELS)
def test_objective_of_theorem_4_1_is_the_elbo(kind):
    x = numbers(N, D, seed=0)
    prior = numbers(D, seed=1), positive_definite(D, seed=2)
    for seed in (10, 20):
        q = 0.3 * numbers(D, seed=seed), 0.1 * positive_definite(D, seed=seed + 1)
        arguments = MODELS[kind], x, targets(x, kind), *q, *prior
        torch.testing.assert_close(directuq_objective(*arguments), negative_elbo(*arguments), rtol=1e-7, atol=0)


def posterior(x: Tensor, y: Tensor, m0: Tensor, s0: Tensor) -> tuple[Tensor, Tensor]:
    precision = torch.linalg.inv(s0) + NOISE_PRECISION * x.T @ x
    cov = torch.linalg.inv(precision)
    return cov @ (torch.linalg.solve(s0, m0) + NOISE_PRECISION * x.T @ y), cov


def test_optimum_of_theorem_4_1_is_the_exact_posterior():
    x = numbers(N, D, seed=0)
    y, m0, s0 = targets(x, "regression"), numbers(D, seed=1), positive_definite(D, seed=2)
    mean, cov = posterior(x, y, m0, s0)
    root = torch.linalg.cholesky(cov)
    variables = mean.requires_grad_(), root.requires_grad_()

    objective = directuq_objective(MODELS["regression"], x, y, mean, root @ root.T, m0, s0)
    noise = torch.eye(N, dtype=torch.float64) / NOISE_PRECISION
    evidence = MultivariateNormal(x @ m0, x @ s0 @ x.T + noise).log_prob(y)
    torch.testing.assert_close(objective, -evidence)  # so the bound is tight, and no other q(z | X) is better
    for gradient in torch.autograd.grad(objective, variables):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-8)


def test_theorem_4_1_requires_inputs_spanning_the_space():
    # With fewer points than inputs, variance in a direction that no point has is free in eq. 8, and costs in eq. 7.
    x = numbers(D - 1, D, seed=0)
    y, m0, s0 = targets(x, "regression"), numbers(D, seed=1), positive_definite(D, seed=2)
    mean, cov = (each.detach() for each in posterior(x, y, m0, s0))
    unseen = torch.linalg.svd(x).Vh[-1]
    wider = cov + 3 * torch.outer(unseen, unseen)
    arguments = MODELS["regression"], x, y, mean
    here, there = (directuq_objective(*arguments, each, m0, s0) for each in (cov, wider))
    torch.testing.assert_close(here, there)
    assert unseen @ wider @ unseen > 2 * unseen @ cov @ unseen  # though the predictive there is another
    assert negative_elbo(*arguments, wider, m0, s0) > negative_elbo(*arguments, cov, m0, s0) + 0.1


def test_mean_in_theorem_4_2_equals_no_relu_unit():
    # E[w relu(u x)] at x = 1 and x = -1, in closed form; one unit w' relu(u' x) is 0 at one of them.
    w, u, u_sd = 0.8, 0.4, 0.5  # the spread of w does not matter, because the output is linear in it
    unit, ratio = Normal(0.0, 1.0), torch.tensor(u / u_sd, dtype=torch.float64)
    density = unit.log_prob(ratio).exp()
    right = w * (u * unit.cdf(ratio) + u_sd * density)
    left = w * (-u * unit.cdf(-ratio) + u_sd * density)

    network, x = MLP(1, (1,), bias=False), torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    grid = torch.linspace(-8, 8, 20001, dtype=torch.float64)
    weights = torch.stack([u + u_sd * grid, torch.full_like(grid, w)], dim=1)
    outputs = vmap(lambda each: network(each, x)[:, 0])(weights)
    share = unit.log_prob(grid).exp()
    torch.testing.assert_close(share @ outputs / share.sum(), torch.stack([right, left]), rtol=1e-6, atol=0)

    assert min(right, left) > 0.04
    for other in 3 * numbers(200, 2, seed=3):
        error = (network(other, x)[:, 0] - torch.stack([right, left])).abs().max()
        assert error >= min(right, left)


@pytest.mark.parametrize(
    ("likelihood", "k", "lipschitz", "n_functions", "n_nodes"),
    [(Bernoulli(), 1, 1.0, 30, 30), (Categorical(3), 3, 2**0.5, 3, 8)],
    ids=["binary", "3 classes"],
)
def test_rademacher_complexity_is_bounded_as_in_theorem_3_3(likelihood, k, lipschitz, n_functions, n_nodes):
    # All sign vectors are enumerated. Each of the K means and K links is any function of a finite class of linear ones.
    n_points = 7
    x = numbers(n_points, 2, seed=0)
    y = torch.arange(n_points).remainder(2 if k == 1 else 3).double()
    functions = numbers(n_functions, 2, seed=1) @ x.T  # (H, n)
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=n_points)), dtype=torch.float64)

    def complexity(values: Tensor) -> float:
        return float((signs @ values.T).amax(1).mean() / n_points)

    choices = torch.tensor(list(itertools.product(range(n_functions), repeat=2 * k)))
    outputs = functions[choices]  # (H^2K, 2K, n)
    mean, link = outputs.movedim(1, -1).chunk(2, dim=-1)
    losses = expected_nll(likelihood, mean, softplus(link), y.expand(mean.shape[:-1]), n_nodes)
    bound = lipschitz * (1 + 1) * k * complexity(functions)
    assert 0 < complexity(losses) <= bound


@pytest.mark.parametrize(("likelihood", "k", "lipschitz"), [(Bernoulli(), 1, 1.0), (Categorical(3), 3, 2**0.5)])
def test_expected_loss_is_lipschitz_as_theorem_3_3_requires(likelihood, k, lipschitz):
    # Its proof bounds the gradient in the mean by L_0, and in the link by L_0 L_1 with L_1 = 1 for the softplus.
    mean, link = (3 * numbers(50, k, seed=seed) for seed in (1, 2))
    y = torch.arange(50).remainder(2 if k == 1 else 3).double()
    mean.requires_grad_(), link.requires_grad_()
    total = expected_nll(likelihood, mean, softplus(link), y, 30 if k == 1 else 8).sum()
    of_mean, of_link = torch.autograd.grad(total, (mean, link))
    assert of_mean.norm(dim=-1).max() <= lipschitz
    assert of_link.norm(dim=-1).max() <= lipschitz
