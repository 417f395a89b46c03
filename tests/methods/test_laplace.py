"""Laplace against the conjugate posterior and against curvature computed densely, one training row at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.func import jacrev

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.laplace import MAX_UNCERTAIN, FullLaplace, LastLayerLaplace
from lockstep_bench.methods.maths.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    StudentTNoise,
)
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet, ResNet
from lockstep_bench.methods.problem import HParams, Problem, Sweep, Task

METHODS = [LastLayerLaplace(), FullLaplace()]
LIKELIHOODS = [
    Gaussian((0.01, 1.0)),
    HeteroscedasticGaussian(),
    StudentTNoise((0.01, 1.0)),
    Bernoulli(),
    Categorical(3),
]
N_ROWS = 9

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
every_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda likelihood: likelihood.kind)


def problem_of(likelihood, hparams, network=None) -> Problem:
    one = torch.tensor(1.0, dtype=torch.float64)
    return Problem(network or MLP(3, (4,), likelihood.n_outputs), likelihood, hparams, N_ROWS * one, 2 * one, 3 * one)


def rows_of(likelihood, present=None) -> Sweep:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N_ROWS, 3, generator=generator, dtype=torch.float64)
    y = torch.arange(N_ROWS, dtype=torch.float64) % max(2, likelihood.n_outputs)
    return Sweep(x, y, torch.ones(N_ROWS, dtype=torch.float64) if present is None else present)


def start(method, problem):
    """A state with random weights."""
    tape = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return method.init(problem, Noise(tape))


def gained(method, problem, state, rows):
    """Return the precision that a sweep adds to the prior's."""
    precision = method.sweep(problem, state, rows).precision
    return precision - problem.hparams.prior_precision * torch.eye(len(precision), dtype=torch.float64)


def output_hessian(likelihood, outputs, hparams, y_scale):
    """E[Hessian of the NLL in the outputs] (O, O) under the model's own targets, from its definition."""
    kind = likelihood.kind
    if kind == "gaussian":
        return (hparams.noise_precision * y_scale**2).reshape(1, 1)
    if kind == "student-t":
        # With T = sqrt(nu) tan(angle), the density of the angle is proportional to cos(angle)^(nu - 1).
        angles = torch.linspace(-torch.pi / 2, torch.pi / 2, 4003, dtype=torch.float64)[1:-1]
        errors = hparams.noise_df.sqrt() * angles.tan() / (hparams.noise_precision**0.5 * y_scale)
        nll = lambda out, error: likelihood.nll(out[None], error[None], hparams, y_scale)[0]  # noqa: E731
        hessians = torch.func.vmap(torch.func.hessian(nll), (None, 0))(torch.zeros(1).double(), errors)
        mass = angles.cos() ** (hparams.noise_df - 1)
        return (mass[:, None, None] * hessians).sum(0) / mass.sum()
    if kind == "heteroscedastic":
        return torch.stack([torch.exp(-outputs[1]), torch.tensor(0.5, dtype=torch.float64)]).diag()
    n_classes = max(2, likelihood.n_outputs)
    logits = torch.cat([torch.zeros(1, dtype=torch.float64), outputs]) if kind == "bernoulli" else outputs
    hessian = 0
    for y in range(n_classes):
        nll = lambda out, y=y: likelihood.nll(out[None], torch.tensor([float(y)]), hparams, y_scale)[0]  # noqa: E731
        hessian = hessian + logits.softmax(0)[y] * torch.func.hessian(nll)(outputs)
    return hessian


def dense_ggn(problem, weights, rows):
    """sum_n J_n^T Lambda_n J_n over all weights, one row at a time."""
    total = torch.zeros(problem.dim, problem.dim, dtype=torch.float64)
    for x, present in zip(rows.x, rows.present, strict=True):
        j = jacrev(lambda w, x=x: problem.network(w, x[None])[0])(weights)
        outputs = problem.network(weights, x[None])[0]
        total += present * j.T @ output_hessian(problem.likelihood, outputs, problem.hparams, problem.y_scale) @ j
    return total


@every_likelihood
def test_sweep_sums_the_ggn_over_present_rows(hparams, likelihood):
    problem = problem_of(likelihood, hparams)
    rows = rows_of(likelihood, present=torch.tensor([1, 1, 0, 1, 1, 1, 0, 1, 1], dtype=torch.float64))
    method = FullLaplace()
    state = start(method, problem)
    expected = dense_ggn(problem, state.trained.weights, rows)
    torch.testing.assert_close(gained(method, problem, state, rows), expected)


@every_method
@every_likelihood
def test_chunked_ggn_sweep_equals_unchunked(monkeypatch, hparams, likelihood, method):
    problem, rows = problem_of(likelihood, hparams), rows_of(likelihood)
    state = start(method, problem)
    at_once = method.sweep(problem, state, rows)
    monkeypatch.setattr("lockstep_bench.methods.laplace.JACOBIAN_NUMBERS", 1)
    in_parts = state
    for part in (slice(0, 4), slice(4, 9)):
        in_parts = method.sweep(problem, in_parts, Sweep(*(of[part] for of in rows)))
    torch.testing.assert_close(in_parts, at_once)


@every_likelihood
def test_last_layer_ggn_is_a_block_of_full_ggn(hparams, likelihood):
    problem, rows = problem_of(likelihood, hparams), rows_of(likelihood)
    last, full = (gained(method, problem, start(method, problem), rows) for method in METHODS)
    assert last.shape == (5 * likelihood.n_outputs,) * 2
    torch.testing.assert_close(last, full[-len(last) :, -len(last) :])


def test_last_layer_ggn_of_convolutional_network_is_exact(hparams):
    network = ConvNet((1, 4, 4), (2,), 3)
    problem = problem_of(Categorical(3), hparams, network)
    x = torch.randn(N_ROWS, 16, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    rows = rows_of(Categorical(3))._replace(x=x)
    method = LastLayerLaplace()
    state = start(method, problem)
    found = gained(method, problem, state, rows)
    assert found.shape == (27, 27)
    torch.testing.assert_close(found, dense_ggn(problem, state.trained.weights, rows)[-27:, -27:])


def test_batch_norm_reference_rows_do_not_enter_ggn(hparams):
    network = PreActResNet((1, 4, 4), 3, widths=(3, 4), blocks=1, n_reference=4)
    problem = problem_of(Categorical(3), hparams, network)
    x = torch.randn(N_ROWS, 16, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    present = torch.tensor([0.0] * 4 + [1.0] * 5).double()
    rows = rows_of(Categorical(3), present)._replace(x=x)
    method = LastLayerLaplace()
    state = start(method, problem)
    weights, dense = state.trained.weights, 0
    for one in x[4:]:
        outputs = lambda w, one=one: network(w, torch.cat([x[:4], one[None]]))[-1]  # noqa: E731
        j = jacrev(outputs)(weights)[:, -15:]
        dense = dense + j.T @ output_hessian(problem.likelihood, outputs(weights), hparams, problem.y_scale) @ j
    torch.testing.assert_close(gained(method, problem, state, rows), dense)
    posterior = method.finish(problem, method.sweep(problem, state, rows))
    tape = torch.randn(30, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    found, fewer = (method.predict(problem, posterior, x[:n], Noise(tape), 2).log_probs for n in (9, 6))
    torch.testing.assert_close(found[:, :6], fewer)


@every_method
def test_posterior_precision_is_ggn_plus_prior(hparams, method):
    problem, rows = problem_of(LIKELIHOODS[0], hparams), rows_of(LIKELIHOODS[0])
    before = start(method, problem)
    root = method.finish(problem, method.sweep(problem, before, rows)).root
    ggn = dense_ggn(problem, before.trained.weights, rows)[-len(root) :, -len(root) :]
    torch.testing.assert_close(root @ root.T, ggn + 0.7 * torch.eye(len(root)))


def test_diverged_fit_predicts_nan_without_affecting_others(hparams):
    problem, rows = problem_of(LIKELIHOODS[0], hparams), rows_of(LIKELIHOODS[0])
    method = FullLaplace()
    state = start(method, problem)
    state = state._replace(trained=state.trained._replace(weights=state.trained.weights * torch.nan))
    posterior = method.finish(problem, method.sweep(problem, state, rows))
    assert posterior.root.isnan().all()


@every_method
@every_likelihood
def test_predictions_equal_those_of_linearised_network(hparams, likelihood, method):
    problem, rows = problem_of(likelihood, hparams), rows_of(likelihood)
    state = method.sweep(problem, start(method, problem), rows)
    posterior = method.finish(problem, state)
    n_samples, count = 5, len(posterior.root)
    tape = torch.randn(n_samples * count, generator=torch.Generator().manual_seed(4), dtype=torch.float64)

    found = method.predict(problem, posterior, rows.x[:4], Noise(tape), n_samples)

    centre = problem.network(posterior.mean, rows.x[:4])
    jacobian = jacrev(problem.network)(posterior.mean, rows.x[:4])[..., -count:]  # (4, O, T)
    deviations = torch.linalg.inv(posterior.root.T) @ tape.reshape(count, n_samples)
    outputs = centre + (jacobian @ deviations).permute(2, 0, 1)
    expected = problem.predictive_of_outputs(outputs)
    torch.testing.assert_close(found, expected)
    if method.name == "laplace":  # in the last layer's weights the network is linear
        weights = posterior.mean.repeat(n_samples, 1)
        weights[:, -count:] += deviations.T
        torch.testing.assert_close(found, problem.predictive(weights, rows.x[:4]))


@every_method
def test_laplace_equals_the_conjugate_linear_posterior(method):
    problem = correlated(seed=2, n_rows=100, alpha=5.0, beta=0.5)
    exact = problem.posterior()
    stack = problem.fit(method, lr=0.02, updates=1500, batch_size=100, seeds=(0, 1), dtype=torch.float64)
    for mean, root in zip(stack.posterior.mean, stack.posterior.root, strict=True):
        np.testing.assert_allclose(mean, exact.mean, rtol=1e-5)
        np.testing.assert_allclose(root @ root.T, np.linalg.inv(exact.covariance), rtol=1e-12)
    samples = problem.weight_samples(stack, 20_000)
    error = np.abs(np.cov(samples[0].T) - exact.covariance)
    assert (error < 5 * np.sqrt(2 / 20_000) * exact.covariance.diagonal().max()).all()


@every_method
def test_stacked_unequal_folds_use_only_own_rows(method):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((30, 3))
    data = Data.of(x, np.sin(x.sum(axis=1)))
    hparams = {"lr": 0.01, "prior_precision": 0.5, "noise_precision": 2.0}
    fits = [Fit(np.arange(20), hparams, 1), Fit(np.arange(5, 30), hparams, 2)]
    task = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, (4,)))
    schedule = Schedule(20, 5, 40, 1, 40)
    together = train_stacked(method, task, data, fits, schedule, dtype=torch.float64)
    for number, fit in enumerate(fits):
        alone = train_stacked(method, task, data, [fit], schedule, dtype=torch.float64, stacked=False)
        torch.testing.assert_close(together.posterior.root[number], alone.posterior.root[0])


def test_full_laplace_refuses_large_networks():
    task = Task("large", Gaussian((0.1, 10.0)), MLP(64, (50,)))
    assert task.network.dim > MAX_UNCERTAIN
    assert "3301" in FullLaplace().excludes(task)
    assert LastLayerLaplace().excludes(task) is None
    assert FullLaplace().excludes(Task("small", Gaussian((0.1, 10.0)), MLP(13, (50,)))) is None


def test_last_layer_laplace_limits_image_networks():
    def reason(method, network):
        return method.excludes(Task("images", Categorical(network.n_outputs), network))

    assert reason(LastLayerLaplace(), ResNet()) is None
    assert (
        reason(LastLayerLaplace(), ResNet(n_outputs=100))
        == "its covariance would be of 51300 weights; 10000 are allowed"
    )
    tiny = PreActResNet((1, 4, 4), 3, widths=(3, 4), blocks=1)
    assert "batch normalisation couples examples" in reason(FullLaplace(), tiny)
    assert reason(FullLaplace(), replace(tiny, norm="group")) is None


def test_float32_precision_keeps_the_prior_in_flat_directions():
    """A null direction of a steep GGN keeps the prior's precision, which single precision would lose."""
    hparams = HParams(prior_precision=torch.tensor(0.001), noise_precision=torch.tensor(1e4))
    scales = (torch.tensor(one) for one in (50.0, 0.0, 1.0))
    problem = Problem(MLP(3, (), bias=False), Gaussian((0.01, 1.0)), hparams, *scales)
    x = torch.randn(50, 2, generator=torch.Generator().manual_seed(3))
    rows = Sweep(torch.cat([x, x[:, :1] + x[:, 1:]], dim=1), torch.zeros(50), torch.ones(50))
    method = FullLaplace()
    state = method.init(problem, Noise(torch.zeros(3)))
    root = method.finish(problem, method.sweep(problem, state, rows)).root
    null = torch.tensor([1.0, 1.0, -1.0]) / 3**0.5
    variance = torch.linalg.solve_triangular(root, null[:, None], upper=False).square().sum()
    assert root.dtype == torch.float32
    assert abs(variance.item() / 1000 - 1) < 0.2
