"""How much noise `sghmc` injects on the data sets of kept rows: `python -m benchmarks.injected_noise`.

    python -m benchmarks.injected_noise leaderboards/results --preset tuned-modified@586b6265

From the variance of the injected noise `sghmc` subtracts an estimate of the gradients' own noise, and a variance below
zero becomes zero (`methods.sghmc`). Where nothing is left, its chains are those of the control `sghmc-noiseless`. The
first split of each data set is trained again with the hyper-parameters of its kept row. A line has the number of
training rows, the share of the weights without injected noise, and the mean share of the variance that is left.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import torch
import typer
from torch import Tensor

from lockstep_bench.shared.door import Door
from lockstep_bench.methods.api import Problem
from lockstep_bench.methods.sghmc import LEAST_SQUARE, SGHMC, SGHMCState

if TYPE_CHECKING:
    import pandas as pd

app = Door()


class Watched(SGHMC):
    """`sghmc`, which returns shares of the injected noise in place of draws."""

    def finish(self, problem: Problem, state: SGHMCState) -> Tensor:
        """Return the share of weights without injected noise and the mean share of variance that is left, (2,)."""
        rate, root = problem.hparams.lr.square(), state.scales.square.clamp(min=LEAST_SQUARE).sqrt()
        whole = 2 * self.friction * rate / (root * problem.n_train * problem.scale)
        left = (1 - rate.square() / whole).clamp(min=0)
        return torch.stack([(left == 0).to(left.dtype).mean(), left.mean()])


def shares(row: "pd.Series", data_dir: Path | None) -> tuple[int, float, float]:
    """Return the number of training rows of a kept row's split, and the two shares, means over chains."""
    from lockstep_bench.bench.engine.stacked_fits import StackedFits
    from lockstep_bench.bench.evaluation.assignment import Assignment
    from lockstep_bench.bench.evaluation.prediction import PredictionRows, prepared_fits
    from lockstep_bench.bench.experiment.cells import Cell
    from lockstep_bench.bench.experiment.jobs import Job
    from lockstep_bench.bench.experiment.progress import ProgressReporter
    from lockstep_bench.shared.protocol import Protocol

    names = ("suite", "dataset", "method", "split", "preset")
    protocol = Protocol.from_json(row["protocol"])
    cell = Cell(**{name: row[name] for name in names}, protocol=protocol, seed=row["seed"])
    assignment = Assignment.of(Job((cell,), (Path(),), data_dir), torch.device("cpu"))
    work = prepared_fits(assignment, PredictionRows(assignment), ProgressReporter(1, lambda _: None))
    (split,) = work.splits
    fit = split.final(json.loads(row["hparams"]))
    trained = work.trainer.train(Watched(), split, [fit], split.largest.final)
    assert isinstance(trained, StackedFits)
    without, left = trained.posterior.mean(0).tolist()
    return len(fit.rows), without, left


@app.command()
def main(
    results: Annotated[Path, typer.Argument(help="Results folder.")],
    preset: Annotated[str, typer.Option(help="Preset@hash of the rows.")],
    datasets: Annotated[str, typer.Option(help="Names of data sets; all by default.")] = "",
    data_dir: Annotated[Path | None, typer.Option(help="Data folder.")] = None,
) -> None:
    """Print the shares for the first split of each data set that has a row of `sghmc`, by number of training rows."""
    from lockstep_bench.leaderboards.data.results import read_results

    torch.set_num_threads(1)
    name, _, identity = preset.partition("@")
    cells = read_results(results).cells
    chosen = cells["method"].eq("sghmc") & cells["preset"].eq(name) & cells["split"].eq(0)
    chosen &= cells["protocol_hash"].str.startswith(identity)
    if datasets:
        chosen &= cells["dataset"].isin(datasets.split(","))
    typer.echo("dataset,n_train,weights_without_noise,variance_left")
    for _, row in cells[chosen].sort_values(["suite", "dataset"]).iterrows():
        n_train, without, left = shares(row, data_dir)
        typer.echo(f"{row['dataset']},{n_train},{without:.3f},{left:.3f}")


if __name__ == "__main__":
    app()
