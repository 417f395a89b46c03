"""The package `sklearn-contrib-bde`: MILE, an ensemble of networks whose chains start where training ends.

Its networks have a second output, from which the noise follows. The wrapper keeps the package's training and its
sampler, and replaces the log posterior by that of a given noise: the first output alone, under N(0, I / alpha). All
other parameters are left at N(0, 1), and nothing depends on them. `python -m benchmarks.beside_bde` compares the whole
package with our own MILE.
"""

import os
from dataclasses import replace
from typing import Any

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from benchmarks.libraries.wrapping import DRAWS, Wrapper, spaced_draws
from lockstep_bench.methods.api import HParams, Noise, Paper, Predictive, Problem, Task

CHAINS, WARMUP, EPOCHS = 2, 500, 100


class MILE(Wrapper):
    """`BdeRegressor` with two chains. Nothing is tuned: a fit takes 10 seconds of computing."""

    name, title = "bde", "sklearn-contrib-bde: MILE"
    paper = Paper("Sommer et al. 2025", "Microcanonical Langevin Ensembles: Advancing the Sampling of BNNs")
    requirement = "sklearn-contrib-bde==1.0.2"
    ranges_from = "none: nothing is tuned"
    all_checks = False
    usual_updates = 2000

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        os.environ.setdefault("TQDM_DISABLE", "1")
        from bde.loss import GaussianNLL

        problem = _completed(problem)
        widths = [layer.fan_out for layer in problem.network.layers[:-1]]  # type: ignore[attr-defined]
        model = _regressor(problem)(
            n_members=CHAINS,
            hidden_layers=widths,
            seed=seed % 2**31,
            loss=GaussianNLL(),
            epochs=EPOCHS,
            patience=20,
            warmup_steps=WARMUP,
            n_samples=self.updates_of_library,
        )
        model.fit(x.float().numpy(), y.float().numpy())
        chains = [_flat(model.positions_eT_, number, problem) for number in range(CHAINS)]
        return torch.cat([spaced_draws(list(chain))[::CHAINS] for chain in chains])[:DRAWS].to(x)

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        return super().predict(_completed(problem), posterior, x, noise, n_samples)


def _completed(problem: Problem) -> Problem:
    """Return the problem with both precisions, 1 where they are not given."""
    given = {"prior_precision": torch.ones(()), "noise_precision": torch.ones(())} | vars(problem.hparams)
    return replace(problem, hparams=HParams(**given))


def _flat(positions: Any, chain: int, problem: Problem) -> Tensor:
    """Return the draws (S, D) of one chain as weights of the problem's network."""
    import numpy as np

    pieces = []
    for layer, (kernel, bias) in zip(problem.network.layers, positions, strict=True):
        outputs = layer.fan_out  # type: ignore[attr-defined]
        pieces.append(np.asarray(kernel[chain])[..., :outputs].reshape(len(kernel[chain]), -1))
        pieces += [np.asarray(bias[chain])[..., :outputs]] * (len(layer.sizes) - 1)
    return torch.tensor(np.concatenate(pieces, axis=1))


def _regressor(problem: Problem) -> Any:
    """Return a class of regressors with the problem's log posterior."""
    import jax.numpy as jnp
    from bde import BdeRegressor

    alpha, beta = float(problem.hparams.prior_precision), float(problem.scale)
    biased = len(problem.network.layers[-1].sizes) == 2

    class Regressor(BdeRegressor):  # type: ignore[misc]
        def _build_log_post(self, x: Any, y: Any, prior_family: Any, prior_kwargs: Any = None) -> Any:
            forward = self._bde.members[0].forward

            def log_posterior(params: Any) -> Any:
                *below, (kernel, bias) = params
                outputs = forward(params, x)[:, 0] - (0.0 if biased else bias[0])
                squares = sum(jnp.sum(piece**2) for pair in below for piece in pair) + jnp.sum(kernel[:, 0] ** 2)
                squares = alpha * (squares + (bias[0] ** 2 if biased else 0.0))
                unused = jnp.sum(kernel[:, 1] ** 2) + bias[1] ** 2 + (0.0 if biased else bias[0] ** 2)
                return -0.5 * (beta * jnp.sum((y[:, 0] - outputs) ** 2) + squares + unused)

            return log_posterior

    return Regressor


METHODS = (MILE,)
