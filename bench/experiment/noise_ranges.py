"""Notes for the user on search ranges of the noise precision that do not suit a data set's targets."""

from collections.abc import Sequence
from pathlib import Path

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import Cell

# Over precision times the variance of the targets. The ranges of all built-in sets begin at 0.4 to 2.9 and end at 37 to
# 291.
LEAST_END, MOST_START = 3.0, 100.0


def notes_on_noise_ranges(cells: Sequence[Cell], data_dir: Path | None) -> list[str]:
    """Return a sentence for each regression data set whose range of noise precisions does not fit the targets' scale.

    Such a range (`Source.noise_precisions`) forces the noise to be as large as the spread of the targets or larger, or
    far too small. The predictive density of all methods with one tuned noise precision is then poor, whatever they
    learn.

    Args:
        cells: Cells of a run; data sets that cannot be loaded on this machine are skipped.
        data_dir: Data folder; None for the default.
    """
    names = dict.fromkeys(cell.dataset for cell in cells if cell.suite in ("uci", "own"))
    return [note for name in names if (note := _note(name, data_dir))]


def _note(name: str, data_dir: Path | None) -> str:
    source = datasets.entry(name)
    if source.task != "regression" or source.noise_precisions is None:
        return ""
    try:
        sd = float(datasets.load(name, data_dir).y.std())
    except (datasets.BrokenDataset, datasets.Unavailable):
        return ""  # the set's cells will say so
    low, high = source.noise_precisions
    if sd == 0 or (high * sd**2 >= LEAST_END and low * sd**2 <= MOST_START):
        return ""
    return (
        f"The noise precision of {name} is searched from {low:g} to {high:g}, which is a noise sd of {high**-0.5:.2g} "
        f"to {low**-0.5:.2g}, but the targets' sd is {sd:.2g}. Set `noise_precisions` of its Source, in units of the "
        f"targets, for example to ({1 / sd**2:.2g}, {100 / sd**2:.2g})."
    )
