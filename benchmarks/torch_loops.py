"""Training loops of MAP and mean-field VI in eager PyTorch, with whose speed ours is compared.

Each loop is what a user of PyTorch would write for many networks. The weights of a stack are one leaf tensor (R, D),
`torch.func.vmap` computes the objectives of all networks, one `backward` their gradients, and one fused
`torch.optim.Adam` moves them. The objectives are those of `methods.map` and `methods.mfvi`. In PyTorch's favour, x and
y are standardised beforehand, and all fits have the same learning rate.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from lockstep_bench.bench.engine.timing import UCI_SIZED, TimedFit, clock_for
from lockstep_bench.methods.maths.likelihoods import MAX_LOG_VARIANCE
from lockstep_bench.methods.mfvi import INITIAL_LOG_SD
from lockstep_bench.methods.networks.mlp import MLP

LR, PRIOR_PRECISION, NOISE_PRECISION, INITIAL_SD = 1e-3, 1.0, 1.0, 0.3
SECONDS = 0.5


def misfit(network: MLP, weights: Tensor, x: Tensor, y: Tensor, n_train: int) -> Tensor:
    """Return the estimate of the training data's NLL from a minibatch, () and without constants.

    Args:
        network: the network.
        weights: (D,).
        x: (M, P), features of the minibatch.
        y: (M,), targets.
        n_train: N, number of training rows.
    """
    predicted = network(weights, x)
    error = (predicted[:, 0] - y).square()
    if network.n_outputs == 1:
        return 0.5 * n_train * NOISE_PRECISION * error.mean()
    log_variance = predicted[:, 1].clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)
    return 0.5 * n_train * (error * torch.exp(-log_variance) + log_variance).mean()


def map_objective(network: MLP, n_train: int, weights: Tensor, noise: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return MAP's objective, ()."""
    return misfit(network, weights, x, y, n_train) + 0.5 * PRIOR_PRECISION * weights.square().sum()


def mfvi_objective(network: MLP, n_train: int, params: Tensor, noise: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return mean-field VI's objective with one draw, (), for means and log standard deviations (2, D)."""
    mean, log_sd = params
    sd = log_sd.exp()
    divergence: Tensor = (0.5 * PRIOR_PRECISION * (mean.square() + sd.square()) - log_sd).sum()
    return misfit(network, mean + sd * noise, x, y, n_train) + divergence


LOOPS = {"map": map_objective, "mfvi": mfvi_objective}


def initial(name: str, n_replicas: int, network: MLP) -> Tensor:
    """Return random initial parameters: (R, D), or (R, 2, D) for mean-field VI."""
    weights = INITIAL_SD * torch.randn(n_replicas, network.dim)
    return torch.stack([weights, torch.full_like(weights, INITIAL_LOG_SD)], 1) if name == "mfvi" else weights


def timed_loop(name: str, n_replicas: int, fit: TimedFit = UCI_SIZED) -> Callable[[], float]:
    """Return a function that trains a stack for half a second and returns the microseconds of one network's update.

    Args:
        name: name of the method, a key of `LOOPS`.
        n_replicas: R, number of networks in the stack.
        fit: the fit that is timed.
    """
    network, clock = fit.network, clock_for("cpu")
    x, y = (torch.tensor(array, dtype=torch.float32) for array in fit.data())
    params = initial(name, n_replicas, network).requires_grad_()
    optimiser = torch.optim.Adam([params], lr=LR, fused=True)
    objectives = torch.func.vmap(partial(LOOPS[name], network, len(x)))

    def update() -> None:
        rows = torch.randint(len(x), (n_replicas, fit.batch_size))
        noise = torch.randn(n_replicas, network.dim) if name == "mfvi" else params.detach()
        optimiser.zero_grad()
        objectives(params, noise, x[rows], y[rows]).sum().backward()
        optimiser.step()

    def microseconds() -> float:
        return timed(update, clock, n_replicas)

    update()
    return microseconds


def timed(update: Callable[[], object], clock: Callable[[], float], n_networks: int) -> float:
    """Return the microseconds of one network's update, from repeated updates of all networks for half a second."""
    started, done = clock(), 0
    while not done or clock() - started < SECONDS:
        update()
        done += 1
    return (clock() - started) / (done * n_networks) * 1e6
