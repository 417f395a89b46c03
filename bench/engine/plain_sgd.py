"""What a minibatch costs without any inference: the unit in which methods' costs are told."""

import time
from collections.abc import Iterator
from itertools import islice
from statistics import median

import torch

from bench.engine.replica import Data
from methods.maths.likelihoods import Likelihood
from methods.networks.mlp import Network

WARM_UP, TIMED = 2, 5
LEARNING_RATE, MOMENTUM = 1e-3, 0.9


def seconds_per_minibatch(network: Network, likelihood: Likelihood, data: Data, batch_size: int) -> float:
    """Median seconds of a minibatch, the first few left out."""
    seconds = minibatches(network, likelihood, data, batch_size)
    return median(list(islice(seconds, WARM_UP + TIMED))[WARM_UP:])


def minibatches(network: Network, likelihood: Likelihood, data: Data, batch_size: int) -> Iterator[float]:
    """Seconds of one minibatch after the other, of SGD with momentum on the network's flat weights, in place.

    Minibatches are the first rows of `data`, pixels scaled to unit range. There is no end to them.
    """
    device = data.x.device
    generator = torch.Generator(device=device).manual_seed(0)
    weights = (torch.randn(network.dim, generator=generator, device=device) / network.dim**0.5).requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=LEARNING_RATE, momentum=MOMENTUM)

    def descend() -> None:
        x, y = data.x[:batch_size].float() / 255, data.y[:batch_size].float()
        likelihood.nll(network(weights, x), y, None, 1.0).mean().backward()
        optimiser.step()
        optimiser.zero_grad()

    while True:
        finish(device)
        started = time.perf_counter()
        descend()
        finish(device)
        yield time.perf_counter() - started


def finish(device: torch.device) -> None:
    """Wait for what a GPU has been asked to do, so that a clock can be read."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
