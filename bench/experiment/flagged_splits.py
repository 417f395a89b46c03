"""Notes for the user on flagged splits (`datasets.Source.flagged`), which are run but not ranked."""

from collections.abc import Sequence

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import Cell


def notes_on_flagged(cells: Sequence[Cell]) -> list[str]:
    """Return a sentence, with the reason, for each flagged split among the cells of a run."""
    splits = dict.fromkeys((cell.dataset, cell.split) for cell in cells)
    flagged = [(name, split, datasets.entry(name).flagged.get(split)) for name, split in splits]
    return [
        f"Split {split} of {name} has {reason}: it is on the page of {name}, and left out of tables and rankings."
        for name, split, reason in sorted(flagged, key=lambda each: each[:2])
        if reason
    ]
