"""Growth of a fit's time with its updates and rows, and of a cell's time with the number of earlier cells.

A cell is one method on one split of a data set.

Times are computing times of this process, with one thread. The fits are a stack of MAP on synthetic rows. The cells are
as cheap as possible, so that any time that grows with earlier cells would be visible. Earlier cells are made-up rows,
stored like any other.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks.trivial import trivial_cells
from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.timing import N_FEATURES, UCI_SIZED, clock_for
from lockstep_bench.bench.execution.returned import result_of_lost_process
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

METHOD, N_FITS = "map", 30
HPARAMS = {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 1.0}
N_ROWS, EPOCHS = 300, 10  # of the fits in which they are not varied
UPDATES = 1000, 2000, 4000, 8000, 16000
ROWS = 1000, 2000, 4000, 8000, 16000
EARLIER = 0, 10, 100, 1000
REPEATS, CELLS = 3, 5


class ScalingLine(NamedTuple):
    """A straight line through measured seconds, by least squares.

    Attributes:
        counts: (n,), values of the count that was varied.
        seconds: (n,), medians of repeats.
        slope: seconds per unit of the counts.
        intercept: seconds at 0.
        r_squared: fraction of the variance of the seconds that the line explains.
    """

    counts: tuple[int, ...]
    seconds: tuple[float, ...]
    slope: float
    intercept: float
    r_squared: float

    @classmethod
    def through(cls, counts: Sequence[int], seconds: Sequence[float]) -> "ScalingLine":
        """Return the least-squares line through the points (counts, seconds)."""
        slope, intercept = (float(part) for part in np.polyfit(counts, seconds, 1))
        residual, variance = np.var(np.asarray(seconds) - (slope * np.asarray(counts) + intercept)), np.var(seconds)
        r_squared = float(1 - residual / variance) if variance else 1.0
        return cls(tuple(counts), tuple(seconds), slope, intercept, r_squared)


class Scaling(NamedTuple):
    """Three measured lines: seconds of a fit by updates and by training rows, and of a cell by earlier cells.

    The number of epochs is fixed where the number of training rows varies.
    """

    updates: ScalingLine
    rows: ScalingLine
    earlier: ScalingLine


def measure(on_measured: Callable[[], None] = lambda: None) -> Scaling:
    """Measure times and return the fitted lines.

    Sizes are measured in turns, so that other load on the machine affects all equally.

    Args:
        on_measured: function that is called after each of the `n_measurements()` measurements.
    """
    with TemporaryDirectory() as folder:
        folders = {count: _with_earlier_cells(Path(folder) / str(count), count) for count in EARLIER}
        fit_seconds(N_ROWS, UPDATES[0])  # warms up
        cell_seconds(folders[EARLIER[0]], EARLIER[0], 1)

        def line(counts: Sequence[int], seconds_of: Callable[[int, int], float]) -> ScalingLine:
            seconds: dict[int, list[float]] = {count: [] for count in counts}
            for repeat in range(REPEATS):
                for count in counts:
                    seconds[count].append(seconds_of(count, repeat))
                    on_measured()
            return ScalingLine.through(counts, [median(repeats) for repeats in seconds.values()])

        return Scaling(
            line(UPDATES, lambda updates, _: fit_seconds(N_ROWS, updates)),
            line(ROWS, lambda rows, _: fit_seconds(rows, EPOCHS * rows // UCI_SIZED.batch_size)),
            line(EARLIER, lambda count, repeat: cell_seconds(folders[count], count + 1 + repeat * CELLS, CELLS)),
        )


def n_measurements() -> int:
    """Return how many measurements `measure` makes."""
    return REPEATS * (len(UPDATES) + len(ROWS) + len(EARLIER))


def fit_seconds(n_rows: int, n_updates: int) -> float:
    """Return the computing time in seconds of training one fit in a stack, per fit."""
    clock, generator = clock_for("cpu"), np.random.default_rng(0)
    x = generator.standard_normal((n_rows, N_FEATURES))
    data, task = Data.of(x, x.sum(axis=1)), Task("synthetic", Gaussian((0.01, 1.0)), MLP(N_FEATURES))
    rows = np.arange(n_rows)
    fits = [Fit(rows, HPARAMS, seed) for seed in range(N_FITS)]
    started = clock()
    train_stacked(
        methods.get(METHOD), task, data, fits, Schedule(n_rows, UCI_SIZED.batch_size, n_updates, 1, n_updates)
    )
    return (clock() - started) / N_FITS


def cell_seconds(results: Results, first: int, count: int) -> float:
    """Return the mean computing time in seconds, over `count` cells, of running a cell and storing its result.

    Args:
        results: the results folder, with the results of earlier cells.
        first: number of the first of the cells, none of which is in the folder.
        count: number of cells.
    """
    clock = clock_for("cpu")
    started = clock()
    for cell in trivial_cells(first + count)[first:]:
        if not results.has(cell):
            (result,) = run(Job((cell,), (results.journal(cell),), None))
            results.write(result)
    return (clock() - started) / count


def _with_earlier_cells(folder: Path, count: int) -> Results:
    results = Results(folder)
    outcome = Outcome(status="failed", error="made up")
    for cell in trivial_cells(count):
        results.write(result_of_lost_process(cell, "cpu", outcome, 0.0))
    results = Results(folder)
    results.mend()
    return results


def draw(scaling: Scaling, path: Path) -> None:
    """Draw the three fitted lines with their measured points, and write the figure to a file.

    Args:
        scaling: the measurements.
        path: path of the figure; its ending decides the format.
    """
    from matplotlib.figure import Figure

    ours, muted, rule = "#0b6470", "#62625b", "#dfdfd8"  # those of the site
    figure = Figure((7.6, 2.6), layout="constrained")
    labels = "updates of a fit", f"training rows, {EPOCHS} epochs", "earlier cells"
    for axes, line, label in zip(figure.subplots(1, 3), scaling, labels, strict=True):
        counts = np.asarray(line.counts)
        axes.plot(counts, line.slope * counts + line.intercept, color=muted, linewidth=1)
        axes.plot(counts, line.seconds, "o", color=ours, markersize=4)
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.15 * max(line.seconds))
        axes.set_xlabel(label, color=muted, fontsize=8)
        axes.set_ylabel(f"seconds of a {'cell' if line is scaling.earlier else 'fit'}", color=muted, fontsize=8)
        axes.tick_params("both", length=0, labelcolor=muted, labelsize=7)
        axes.grid(color=rule, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
