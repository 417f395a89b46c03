"""Comparison of our MILE with the package `sklearn-contrib-bde` on fixed splits: NMLL, RMSE and computing time.

    pip install sklearn-contrib-bde==1.0.2
    python -m benchmarks.beside_bde --datasets yacht,boston --splits 0-3

Both train two hidden layers of 16 units with predicted noise, four chains with the same stages, under N(0, I), on the
same standardised rows. The network's second output is o, and softplus(o) is the standard deviation of the noise, as in
the package. With `--log-variance`, o is the log variance, as elsewhere in this project. Adam's learning rate is 1e-3,
with early stopping on 15 % of the rows.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"  # before JAX is imported

import numpy as np
import torch
import typer
from rich import print as show
from torch import Tensor
from torch.nn.functional import softplus

from lockstep_bench.shared.door import Door
from lockstep_bench import datasets
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.experiment.parsing import parse_splits
from lockstep_bench.bench.metrics import nmll
from lockstep_bench.datasets import Dataset, Split, Standardisation
from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.methods.mile import MILE
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

HIDDEN = (16, 16)
LEAST_SD = 1e-6

app = Door()


@dataclass(frozen=True)
class SoftplusNoise(HeteroscedasticGaussian):
    """Gaussian likelihood whose noise has the standard deviation softplus(o), with o the network's second output."""

    def _mean_and_log_variance(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        return outputs[..., 0], 2 * (softplus(outputs[..., 1]) + LEAST_SD).log()


def ours(dataset: Dataset, split: Split, seed: int, likelihood: HeteroscedasticGaussian) -> Normals:
    """Return the predictive distributions of our MILE at the test points."""
    method, fit = MILE(), Fit(np.sort(split.train), {"lr": 1e-3, "prior_precision": 1.0}, seed)
    task = Task(dataset.name, likelihood, MLP(dataset.x.shape[1], HIDDEN, 2))
    schedule = Schedule.of(method, len(fit.rows), 1, 1000)
    fits = train_stacked(method, task, Data.of(dataset.x, dataset.y), [fit], schedule)
    (predictive,) = fits.predict([split.test], method.members * method.draws)
    assert isinstance(predictive, Normals)
    return predictive


def theirs(dataset: Dataset, split: Split, seed: int) -> Normals:
    """Return the predictive distributions of the package `sklearn-contrib-bde` at the test points."""
    from bde import BdeRegressor
    from bde.loss import GaussianNLL

    method = MILE()
    mean, scale = Standardisation.of(dataset.x, split.train)
    y_mean, y_scale = Standardisation.of(dataset.y, split.train)
    model = BdeRegressor(
        n_members=method.members,
        hidden_layers=list(HIDDEN),
        seed=seed,
        loss=GaussianNLL(),
        epochs=method.training,
        patience=20,
        validation_split=0.15,
        lr=1e-3,
        weight_decay=1e-4,
        warmup_steps=method.warmup,
        n_samples=method.draws * method.thinning,  # before thinning
        n_thinning=method.thinning,
    )
    y = ((dataset.y[split.train] - y_mean) / y_scale)[:, None]
    model.fit(x=((dataset.x[split.train] - mean) / scale).astype(np.float32), y=y.astype(np.float32))
    outputs: Any = model.predict(((dataset.x[split.test] - mean) / scale).astype(np.float32), raw=True)
    outputs = torch.tensor(np.asarray(outputs, dtype=np.float64)).flatten(0, -3)
    sd = float(y_scale) * (softplus(outputs[..., 1]) + LEAST_SD)
    return Normals(float(y_mean) + float(y_scale) * outputs[..., 0], sd.square())


@app.command()
def main(
    names: Annotated[str, typer.Option("--datasets", help="Comma-separated regression sets.")] = "yacht",
    splits: Annotated[str, typer.Option(help="For example 0-3.")] = "0-3",
    log_variance: Annotated[bool, typer.Option("--log-variance", help="Our own form of the predicted noise.")] = False,
) -> None:
    """Print scores of both implementations on each split, and their mean difference in NMLL on each data set."""
    torch.set_num_threads(1)
    likelihood = HeteroscedasticGaussian() if log_variance else SoftplusNoise()
    for name in names.split(","):
        dataset, differences = datasets.load(name), []
        for number in parse_splits(splits):
            split, scores = dataset.splits[number], []
            runs: dict[str, Callable[[], Normals]] = {
                "ours": partial(ours, dataset, split, number, likelihood),
                "bde": partial(theirs, dataset, split, number),
            }
            y = torch.tensor(dataset.y[split.test])
            for label, run in runs.items():
                started = time.process_time()
                predictive = run()
                seconds = time.process_time() - started
                scores.append(nmll(predictive, y))
                rmse = float((predictive.mean.double().mean(0) - y).square().mean().sqrt())
                show(f"{name} {number} {label}: NMLL {scores[-1]:.3f}, RMSE {rmse:.3f}, {seconds:.1f} s")
            differences.append(scores[0] - scores[1])
        error = np.std(differences, ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.nan
        show(f"{name}: ours less theirs {np.mean(differences):+.3f} ± {error:.3f}")


if __name__ == "__main__":
    app()
