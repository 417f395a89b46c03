"""The streams: their laws against closed forms, and that each follows from its own seed."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from scipy.linalg import solve_discrete_lyapunov

from lockstep_bench import datasets
from lockstep_bench.bench.streams.sources import SGDStream, longest, stream_of
from lockstep_bench.datasets.synthetic.sgd_streams import N_TRAIN

FACTOR, SGD = "fa-D100-K10-spectrum1-10", "sgd-iterates-lr0.1-lambda0.1"


def streams(name, seeds, numbers=None, **changes):
    source, dataset = replace(datasets.entry(name), **changes), datasets.load(name)
    numbers = range(len(seeds)) if numbers is None else numbers
    return stream_of(source, dataset, [dataset.splits[number] for number in numbers], seeds)


def taken(stream, n_blocks):
    return torch.cat(list(islice(stream.blocks(), n_blocks)), dim=1).double().numpy()


def test_factor_streams_have_the_moments_of_their_models():
    stream = streams(FACTOR, [3, 4])
    for vectors, target in zip(taken(stream, 20), stream.targets, strict=True):
        # A sample covariance of T vectors is tr(S)^2 / T off, squared and on average.
        expected = np.trace(target.covariance) / np.sqrt(len(vectors)) / np.linalg.norm(target.covariance)
        assert target.relative_covariance(np.cov(vectors.T)) == pytest.approx(expected, rel=0.1)
        score = (vectors.mean(0) - target.mean) / np.sqrt(np.diag(target.covariance) / len(vectors))
        assert (score**2).mean() == pytest.approx(1, abs=0.5)


def test_true_covariance_of_a_factor_stream_is_the_models():
    source, dataset = datasets.entry(FACTOR), datasets.load(FACTOR)
    model = source.truth(dataset, dataset.splits[1])
    (target,) = streams(FACTOR, [0], [1]).targets
    np.testing.assert_allclose(target.covariance, model.factors.T @ model.factors + np.diag(model.variance))
    np.testing.assert_array_equal(target.mean, model.mean)


@pytest.mark.parametrize("name", [FACTOR, SGD])
def test_stream_depends_only_on_its_own_seed(name):
    beside, alone = taken(streams(name, [5, 6]), 2), taken(streams(name, [6], [1]), 2)
    np.testing.assert_array_equal(beside[1:], alone)
    assert not np.array_equal(alone, taken(streams(name, [7], [1]), 2))


def test_sgd_stream_has_the_length_of_its_data_set():
    assert taken(streams(SGD, [0]), 100).shape == (1, 1000, 2)


def test_true_distribution_of_an_sgd_stream_is_exact_posterior():
    dataset = datasets.load(SGD)
    split = dataset.splits[0]
    x, y = dataset.x[split.train], dataset.y[split.train]
    (target,) = streams(SGD, [0]).targets
    precision = 0.01 * np.eye(2) + 0.1 * x.T @ x
    np.testing.assert_allclose(np.linalg.inv(target.covariance), precision)
    np.testing.assert_allclose(precision @ target.mean, 0.1 * x.T @ y)


def test_sgd_step_equals_autograd_of_the_loss():
    stream = streams(SGD, [0])
    start = torch.tensor([[0.3, -0.7]], dtype=torch.float64)

    class InOrder:
        def take(self, count):
            return np.arange(count) % N_TRAIN

    visited = stream._visited(start, [InOrder()], 0.1, 0.1)[0]
    weights = start[0].clone().requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=0.1, weight_decay=0.1)
    for batch in range(12):
        rows = (100 * batch + np.arange(100)) % N_TRAIN
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(stream._x[0, rows] @ weights, stream._y[0, rows]).backward()
        optimiser.step()
        torch.testing.assert_close(visited[batch], weights.detach())


def test_stationary_covariance_of_sgd_solves_the_lyapunov_equation(monkeypatch):
    # One minibatch of all inputs has constant curvature H; with targets drawn anew, the gradient noise is known:
    # theta <- (I - lr (2 H + lambda)) theta + 2 lr g with cov(g) = H / (beta M), so C = A C A^T + 4 lr^2 H / (beta M).
    lr, weight_decay, beta, n = 0.1, 0.1, 0.1, 100
    stream = streams(SGD, [0], lr=lr, weight_decay=weight_decay, max_length=40_000)
    generator = np.random.default_rng(0)
    x = stream._x[0, :n].numpy()
    noise = generator.normal(0, beta**-0.5, size=(40_000, n))
    monkeypatch.setattr(stream, "_x", torch.tensor(np.tile(x, (40_000, 1)))[None])
    monkeypatch.setattr(stream, "_y", torch.tensor((x @ [1.0, -2.0] + noise).reshape(1, -1)))

    class InOrder:
        def __init__(self, rows, seed):
            self.next = 0

        def take(self, count):
            self.next += count
            return np.arange(self.next - count, self.next) % (40_000 * n)

    monkeypatch.setattr("lockstep_bench.bench.streams.sources.RowStream", InOrder)
    iterates = taken(stream, 400)[0]
    curvature = x.T @ x / n
    transition = np.eye(2) - lr * (2 * curvature + weight_decay * np.eye(2))
    exact = solve_discrete_lyapunov(transition, 4 * lr**2 * curvature / (beta * n))
    assert np.linalg.norm(np.cov(iterates.T) - exact) < 0.05 * np.linalg.norm(exact)
    minimum = np.linalg.solve(curvature + weight_decay / 2 * np.eye(2), curvature @ [1.0, -2.0])
    np.testing.assert_allclose(iterates.mean(0), minimum, atol=0.01)


def test_pre_training_ends_near_unregularised_least_squares():
    # Started from there, the first iterates at a tiny rate have gone nowhere yet.
    stream = streams(SGD, [0, 1], lr=1e-9)
    for iterates, x, y in zip(taken(stream, 1), stream._x.numpy(), stream._y.numpy(), strict=True):
        least_squares = np.linalg.lstsq(x, y)[0]
        # What is left of the start's distance along the flatter direction is exp(-2 lr h updates), h = 1/2: 0.7 %.
        assert np.linalg.norm(iterates[0] - least_squares) < 0.02 * np.linalg.norm(least_squares)


def test_sgd_stream_uses_every_row_once_per_epoch(monkeypatch):
    seen = []

    def spy(self, weights, orders, lr, weight_decay):
        seen.append(orders[0].take(10 * 100))
        return weights[:, None]

    monkeypatch.setattr(SGDStream, "_visited", spy)
    next(streams(SGD, [0]).blocks())
    for rows in seen:
        assert np.array_equal(np.sort(rows), np.arange(N_TRAIN))
    assert not np.array_equal(seen[0], seen[1])


def test_smaller_minibatches_make_longer_streams_of_equal_epochs():
    source, dataset = datasets.entry(SGD), datasets.load(SGD)
    stream = stream_of(source, dataset, [dataset.splits[0]], [3], batch_size=10)
    assert sum(block.shape[1] for block in stream.blocks()) == longest(source, 10) == 10_000
    assert (longest(source, 100), longest(source, 30), longest(source, 10**6)) == (1000, 3300, 100)
