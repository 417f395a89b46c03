"""A run says which of its splits are not ranked."""

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.flagged_splits import notes_on_flagged
from lockstep_bench.shared.protocol import Protocol


def cells_of(dataset: str, *splits: int) -> list[Cell]:
    return [Cell("uci-gap", dataset, method, k, "tuned", Protocol(), 0) for method in ("map", "mfvi") for k in splits]


def test_note_names_each_flagged_split_once():
    (note,) = notes_on_flagged([*cells_of("yacht-gap", 3, 4), *cells_of("yacht", 4)])
    assert note.startswith("Split 4 of yacht-gap has no real gap: ")
