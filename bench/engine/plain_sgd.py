"""Time per minibatch of plain SGD, the unit in which the training costs of methods are given."""

import time
from collections.abc import Iterator
from itertools import islice
from statistics import median

import torch

from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.methods.maths.likelihoods import Likelihood
from lockstep_bench.methods.networks.mlp import Network
from lockstep_bench.methods.problem import HParams

WARM_UP, TIMED = 2, 5
LEARNING_RATE, MOMENTUM = 1e-3, 0.9


def seconds_per_minibatch(network: Network, likelihood: Likelihood, data: Data, batch_size: int) -> float:
    """Return the median time of a minibatch in seconds, after a warm-up. The arguments are those of `minibatches`."""
    seconds = minibatches(network, likelihood, data, batch_size)
    return median(list(islice(seconds, WARM_UP + TIMED))[WARM_UP:])


def minibatches(network: Network, likelihood: Likelihood, data: Data, batch_size: int) -> Iterator[float]:
    """Train by SGD with momentum, and yield the time in seconds of each minibatch, without end.

    Args:
        network: a classifier of images.
        likelihood: likelihood of the classes.
        data: pixels, which are scaled to [0, 1], and class numbers. Every minibatch consists of the first M rows.
        batch_size: M, rows per minibatch.
    """
    device = data.x.device
    generator = torch.Generator(device=device).manual_seed(0)
    weights = (torch.randn(network.dim, generator=generator, device=device) / network.dim**0.5).requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=LEARNING_RATE, momentum=MOMENTUM)
    y_scale = torch.ones((), device=device)

    def descend() -> None:
        x, y = data.x[:batch_size].float() / 255, data.y[:batch_size].float()
        torch.autograd.backward(likelihood.nll(network(weights, x), y, HParams(), y_scale).mean())
        optimiser.step()
        optimiser.zero_grad()

    while True:
        finish(device)
        started = time.perf_counter()
        descend()
        finish(device)
        yield time.perf_counter() - started


def finish(device: torch.device) -> None:
    """Wait until all work queued on a GPU is done, so that a clock can be read; does nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
