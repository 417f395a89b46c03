"""What a minibatch costs without any inference: the unit in which methods' costs are told."""

import time
from statistics import median

import torch

from bench.row import Data
from methods.likelihoods import Likelihood
from methods.networks import Network

WARM_UP, TIMED = 2, 5
LEARNING_RATE, MOMENTUM = 1e-3, 0.9


def seconds_per_minibatch(network: Network, likelihood: Likelihood, data: Data, batch_size: int) -> float:
    """Median seconds of a minibatch of plain SGD with momentum on the network's flat weights, in place.

    Minibatches are the first rows of `data`, pixels scaled to unit range.
    """
    device = data.x.device
    generator = torch.Generator(device=device).manual_seed(0)
    weights = (torch.randn(network.dim, generator=generator, device=device) / network.dim**0.5).requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=LEARNING_RATE, momentum=MOMENTUM)
    seconds = []
    for _ in range(WARM_UP + TIMED):
        _finish(device)
        started = time.perf_counter()
        x, y = data.x[:batch_size].float() / 255, data.y[:batch_size].float()
        loss = likelihood.nll(network(weights, x), y, None, 1.0).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        _finish(device)
        seconds.append(time.perf_counter() - started)
    return median(seconds[WARM_UP:])


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
