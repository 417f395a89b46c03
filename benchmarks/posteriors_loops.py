"""Training loops of the library posteriors, with whose speed ours is compared. Needs `pip install posteriors==0.1.3`.

It trains one network at a time: MAP by `posteriors.torchopt`, mean-field VI by `posteriors.vi.diag` and stochastic
gradient HMC by `posteriors.sgmcmc.sghmc`, on flat weights. Objectives are those of `benchmarks.torch_loops`.
"""

from collections.abc import Callable
from typing import Any

import posteriors
import torch
import torchopt
from torch import Tensor

from benchmarks.torch_loops import INITIAL_SD, LR, map_objective, timed
from lockstep_bench.bench.engine.timing import UCI_SIZED, TimedFit, clock_for

Objective = Callable[[Tensor, tuple[Tensor, Tensor]], tuple[Tensor, Tensor]]


def _map(loss: Objective, log_posterior: Objective, n_train: int) -> Any:
    return posteriors.torchopt.build(loss, torchopt.adam(lr=LR))


def _mfvi(loss: Objective, log_posterior: Objective, n_train: int) -> Any:
    return posteriors.vi.diag.build(log_posterior, torchopt.adam(lr=LR), temperature=1 / n_train)


def _sghmc(loss: Objective, log_posterior: Objective, n_train: int) -> Any:
    return posteriors.sgmcmc.sghmc.build(log_posterior, lr=LR, temperature=1 / n_train)


LOOPS = {"map": _map, "mfvi": _mfvi, "sghmc": _sghmc}


def timed_loop(name: str, n_replicas: int, fit: TimedFit = UCI_SIZED) -> Callable[[], float]:
    """Return a function that trains a network for half a second and returns the microseconds of an update.

    Args:
        name: name of the method, a key of `LOOPS`.
        n_replicas: unused, as networks are trained one after the other.
        fit: the fit that is timed.
    """
    network, clock = fit.network, clock_for("cpu")
    x, y = (torch.tensor(array, dtype=torch.float32) for array in fit.data())

    def loss(weights: Tensor, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        value = map_objective(network, len(x), weights, weights, *batch) / len(x)
        return value, value.detach()

    def log_posterior(weights: Tensor, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        value, auxiliary = loss(weights, batch)
        return -value, auxiliary

    transform = LOOPS[name](loss, log_posterior, len(x))
    state = transform.init(INITIAL_SD * torch.randn(network.dim))

    def update() -> None:
        nonlocal state
        rows = torch.randint(len(x), (fit.batch_size,))
        state, _ = transform.update(state, (x[rows], y[rows]))

    update()
    return lambda: timed(update, clock, 1)
