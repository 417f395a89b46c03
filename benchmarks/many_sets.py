"""A package of many made-up data sets, to measure the time and memory of planning a run; nothing is trained."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lockstep_bench.bench.costs.batching import MIB
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.datasets.records import Contents, Source, Split
from lockstep_bench.datasets.splits import fixed_splits

N_ROWS, N_FEATURES, N_SPLITS = 500, 8, 20
NAMES = tuple(f"made-up-{number:02}" for number in range(100))


class PlannedCells(NamedTuple):
    """Size of a planned run: numbers of methods, data sets and splits."""

    methods: int = 200
    datasets: int = len(NAMES)
    splits: int = N_SPLITS

    @property
    def n_cells(self) -> int:
        """Number of cells: methods x data sets x splits."""
        return self.methods * self.datasets * self.splits

    @property
    def options(self) -> list[str]:
        """Options of `run_all.py` that request these cells. All methods but the first are variants of one method."""
        variants = [f"mfvi(tempering={turn / 1000})" for turn in range(1, self.methods)]
        return [
            *("--suite", "uci", "--preset", "tuned", "--splits", f"0-{self.splits - 1}"),
            *("--datasets", ",".join(NAMES[: self.datasets]), "--methods", ",".join(["map", *variants])),
        ]


def plan_of(n_cells: int) -> PlannedCells:
    """Return the size of a run of at least `n_cells` cells; only the number of methods depends on `n_cells`."""
    whole = PlannedCells()
    return whole._replace(methods=max(1, -(-n_cells // (whole.datasets * whole.splits))))


def __getattr__(name: str) -> Source:
    """Return the data set that the attribute of an entry point stands for."""
    if name.replace("_", "-") not in NAMES:
        raise AttributeError(name)
    return _source(name.replace("_", "-"))


@cache
def _source(name: str) -> Source:
    return Source(
        name=name,
        title="Made up",
        n_rows=N_ROWS,
        n_features=N_FEATURES,
        n_splits=N_SPLITS,
        origin="made up",
        licence="none needed",
        read=_read,
        suites=("uci",),
        noise_precisions=(0.5, 50.0),  # the targets' variance is 2
    )


def _read(contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, N_FEATURES))
    return x, x[:, 0] + rng.normal(size=N_ROWS), fixed_splits(N_ROWS, N_SPLITS, seed=0)


def write_package(folder: Path) -> None:
    """Write a package that registers the made-up data sets; Python finds it if the folder is on its path."""
    written = folder / "made_up-1.0.dist-info"
    written.mkdir(parents=True)
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{name} = {__name__}:{name.replace('-', '_')}\n" for name in NAMES]
    (written / "entry_points.txt").write_text(f"[lockstep_bench.datasets]\n{''.join(lines)}", encoding="utf-8")


def keep_made_up_costs(calibrations: Calibrations, cells: Sequence[Cell], workers: Sequence[Worker]) -> None:
    """Store made-up costs of the cells, so that planning finds them and need not measure any."""
    for cell in cells:
        calibrations.keep(cell, Cost(cell.work, 1.0, 400 * MIB, 4 * MIB))
