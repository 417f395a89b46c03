"""The Laplace evidence and its maximum against exact evidences, dense curvature and the package laplace."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.distributions import MultivariateNormal
from torch.func import jacrev

from lockstep_bench.bench.reference.conjugate import correlated, orthogonal
from lockstep_bench.methods.laplace import MAX_UNCERTAIN
from lockstep_bench.methods.laplace_marglik import (
    STRUCTURES,
    MarginalLaplace,
    best_precisions,
    log_evidence,
    spectrum_of,
)
from lockstep_bench.methods.maths.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    StudentTNoise,
)
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import HParams, Problem, Task

ONE = torch.tensor(1.0, dtype=torch.float64)
ALPHA, BETA = 0.7 * ONE, 2.5 * ONE
N_ROWS = 12

every_structure = pytest.mark.parametrize("structure", STRUCTURES)
every_likelihood = pytest.mark.parametrize(
    "likelihood",
    [Gaussian((0.01, 1.0)), HeteroscedasticGaussian(), Bernoulli(), Categorical(3)],
    ids=lambda likelihood: likelihood.kind,
)


def problem_of(likelihood, network=None, n_rows: int = N_ROWS, y_scale: float = 3.0) -> Problem:
    network = network or MLP(3, (4,), likelihood.n_outputs, "tanh")
    return Problem(network, likelihood, HParams(), n_rows * ONE, 2 * ONE, y_scale * ONE)


def rows_of(likelihood):
    """Twelve rows and weights of the network, random."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N_ROWS, 3, generator=generator, dtype=torch.float64)
    y = torch.arange(N_ROWS, dtype=torch.float64) % max(2, likelihood.n_outputs)
    dim = problem_of(likelihood).dim
    return x, y, 0.5 * torch.randn(dim, generator=generator, dtype=torch.float64)


def linear(x, y):
    """A linear model without bias, and the rows as tensors."""
    problem = problem_of(Gaussian((0.1, 1.0)), MLP(x.shape[1], (), bias=False), len(x), y_scale=1.0)
    return problem, torch.tensor(x), torch.tensor(y)


def exact_evidence(x, y, alpha, beta) -> float:
    covariance = torch.eye(len(x), dtype=torch.float64) / beta + x @ x.T / alpha
    return float(MultivariateNormal(torch.zeros_like(y), covariance).log_prob(y))


def dense_ggn(problem, weights, x):
    """sum_n J_n^T Lambda_n J_n, one row at a time."""
    hparams = HParams(noise_precision=1 / problem.y_scale**2)
    total = torch.zeros(problem.dim, problem.dim, dtype=torch.float64)
    for row in x:
        j = jacrev(lambda w, row=row: problem.network(w, row[None])[0])(weights)
        total += j.T @ problem.likelihood.fisher(problem.network(weights, row[None]), hparams, problem.y_scale)[0] @ j
    return total


def kfac(problem, weights, x):
    """The blocks of the layers, one row at a time, for 3 inputs and 4 hidden units."""
    (first, bias), (second, bias_2) = problem.network.split(weights)
    n_outputs = len(bias_2)
    hparams = HParams(noise_precision=1 / problem.y_scale**2)
    a_1, s_1, a_2, s_2 = (torch.zeros(size, size, dtype=torch.float64) for size in (4, 4, 5, n_outputs))
    for row in x:
        hidden = torch.tanh(row @ first.reshape(3, 4) + bias)
        outputs = hidden @ second.reshape(4, n_outputs) + bias_2
        fisher = problem.likelihood.fisher(outputs[None], hparams, problem.y_scale)[0]
        j = second.reshape(4, n_outputs).T * (1 - hidden**2)
        one = torch.ones(1, dtype=torch.float64)
        a_1 += torch.outer(torch.cat([row, one]), torch.cat([row, one])) / len(x)
        a_2 += torch.outer(torch.cat([hidden, one]), torch.cat([hidden, one])) / len(x)
        s_1, s_2 = s_1 + j.T @ fisher @ j, s_2 + fisher
    return torch.block_diag(torch.kron(a_1, s_1), torch.kron(a_2, s_2))


@every_structure
@every_likelihood
def test_draws_have_the_covariance_of_dense_curvature(likelihood, structure):
    problem, (x, _, weights) = problem_of(likelihood), rows_of(likelihood)
    ggn = dense_ggn(problem, weights, x)
    expected = {"full": ggn, "diag": ggn.diagonal().diag(), "kron": kfac(problem, weights, x)}[structure]
    identity = torch.eye(problem.dim, dtype=torch.float64)
    spectrum = spectrum_of(structure, problem, weights, x)
    root = spectrum.deviations(identity, ALPHA, BETA)
    torch.testing.assert_close(torch.linalg.inv(root.T @ root), ALPHA * identity + BETA * expected)


@pytest.mark.parametrize("structure", ["full", "kron"])
def test_evidence_of_a_linear_model_is_exact(structure):
    known = correlated(1, n_rows=30, alpha=float(ALPHA), beta=float(BETA))
    problem, x, y = linear(known.x, known.y)
    mode = torch.tensor(known.posterior().mean)
    values = spectrum_of(structure, problem, mode, x).values
    found = log_evidence(problem, mode, values, x, y, ALPHA, BETA)
    assert float(found) == pytest.approx(exact_evidence(x, y, ALPHA, BETA), rel=1e-10)


@pytest.mark.parametrize(
    ("structure", "task"), [("full", correlated), ("kron", correlated), ("diag", orthogonal)], ids=STRUCTURES
)
def test_linear_model_fit_maximises_the_evidence(structure, task):
    known = task(3, n_rows=40, alpha=1.0, beta=2.0)
    problem, x, y = linear(known.x, known.y)
    posterior = MarginalLaplace(structure).fit(problem, x, y, seed=0)
    best = minimize(lambda logs: -exact_evidence(x, y, *np.exp(logs)), np.zeros(2), method="Nelder-Mead", tol=1e-8)
    found = torch.stack([posterior.prior_precision, posterior.noise_precision]).log()
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    assert float(posterior.log_evidence) == pytest.approx(-best.fun, abs=1e-5)
    exact = known._replace(alpha=float(found[0].exp()), beta=float(found[1].exp())).posterior()
    np.testing.assert_allclose(posterior.mean, exact.mean, rtol=1e-3)
    identity = torch.eye(problem.dim, dtype=torch.float64)
    root = posterior.spectrum.deviations(identity, posterior.prior_precision, posterior.noise_precision)
    np.testing.assert_allclose(root.T @ root, exact.covariance, rtol=1e-6, atol=1e-9)


@every_structure
@every_likelihood
def test_optimised_precisions_have_zero_evidence_gradient(likelihood, structure):
    problem, (x, y, weights) = problem_of(likelihood), rows_of(likelihood)
    values = spectrum_of(structure, problem, weights, x).values
    best = best_precisions(problem, weights, values, x, y)
    assert likelihood.kind == "gaussian" or float(best[1]) == 1
    precisions = [each.clone().requires_grad_() for each in best]
    evidence = log_evidence(problem, weights, values, x, y, *precisions)
    kept = precisions if likelihood.kind == "gaussian" else precisions[:1]
    slopes = [float((p * slope).detach()) for p, slope in zip(kept, torch.autograd.grad(evidence, kept), strict=True)]
    assert slopes == pytest.approx([0] * len(kept), abs=1e-3)


@every_structure
@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_evidence_equals_that_of_laplace_torch(torchvision, kind, structure):
    package = pytest.importorskip("laplace")
    likelihood = Gaussian((0.01, 1.0)) if kind == "regression" else Categorical(3)
    bias = structure != "kron"  # theirs keeps the biases of a layer in a block of their own
    network = MLP(3, (4,), likelihood.n_outputs, "tanh", bias)
    problem, (x, y, weights) = problem_of(likelihood, network, y_scale=1.0), rows_of(likelihood)
    weights = weights[: problem.dim]
    linear_layers = (torch.nn.Linear(3, 4, bias), torch.nn.Linear(4, likelihood.n_outputs, bias))
    net = torch.nn.Sequential(linear_layers[0], torch.nn.Tanh(), linear_layers[1]).double()
    pieces = [piece for layer in network.split(weights) for piece in layer]
    for parameter, piece in zip(net.parameters(), pieces, strict=True):
        parameter.data = piece.reshape(parameter.T.shape).T.contiguous() if parameter.ndim == 2 else piece.clone()
    targets = y[:, None] if kind == "regression" else y.long()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, targets), N_ROWS)
    theirs = package.Laplace(net, kind, subset_of_weights="all", hessian_structure=structure)
    theirs.fit(loader)
    values = spectrum_of(structure, problem, weights, x).values
    beta = BETA if kind == "regression" else ONE
    expected = theirs.log_marginal_likelihood(ALPHA, beta**-0.5 if kind == "regression" else None)
    torch.testing.assert_close(log_evidence(problem, weights, values, x, y, ALPHA, beta), expected.detach())


def test_predictions_equal_those_of_linearised_network():
    likelihood = Gaussian((0.01, 1.0))
    problem, (x, y, _) = problem_of(likelihood), rows_of(likelihood)
    method = MarginalLaplace("kron", updates=60)
    posterior = method.fit(problem, x, y, seed=0)
    predictive = method.predict(
        problem, posterior, x, LiveNoise(torch.Generator().manual_seed(1), torch.float64), 50_000
    )
    j = jacrev(problem.network)(posterior.mean, x)[:, 0]
    precision = posterior.prior_precision * torch.eye(problem.dim) + posterior.noise_precision * kfac(
        problem, posterior.mean, x
    )
    variance = 9 * (j @ torch.linalg.solve(precision, j.T)).diagonal()
    mean = 2 + 3 * problem.network(posterior.mean, x)[:, 0]
    torch.testing.assert_close(predictive.mean.var(0), variance, rtol=0.05, atol=0)  # 8 standard errors
    assert ((predictive.mean.mean(0) - mean).abs() < 5 * (variance / 50_000).sqrt()).all()
    torch.testing.assert_close(predictive.variance[0, 0], 9 / posterior.noise_precision)
    reported = method.diagnostics(problem, posterior)["noise_precision"]
    torch.testing.assert_close(reported, posterior.noise_precision / 9)


def test_minibatch_fit_ends_near_the_largest_evidence(monkeypatch):
    known = correlated(3, n_rows=200, alpha=1.0, beta=2.0)
    problem, x, y = linear(known.x, known.y)
    whole = MarginalLaplace().fit(problem, x, y, seed=0)
    monkeypatch.setattr("lockstep_bench.methods.laplace_marglik.MINIBATCH", 50)
    drawn = MarginalLaplace().fit(problem, x, y, seed=0)
    assert float(drawn.log_evidence) == pytest.approx(float(whole.log_evidence), abs=0.01)


def test_marginal_laplace_refuses_large_networks():
    wide = Task("wide", Gaussian((0.1, 10.0)), MLP(64, (50,)))
    assert MarginalLaplace().excludes(wide) == f"its covariance would be of 3301 weights; {MAX_UNCERTAIN} are allowed"
    assert MarginalLaplace("kron").excludes(wide) is None
    assert "all training rows" in MarginalLaplace("diag").excludes(Task("images", Categorical(10), preresnet_20()))


def test_marginal_laplace_refuses_noise_whose_precision_has_no_closed_form():
    heavy = Task("heavy tails", StudentTNoise((0.1, 10.0)), MLP(2, (3,)))
    assert MarginalLaplace().excludes(heavy) == "no student-t likelihood"
