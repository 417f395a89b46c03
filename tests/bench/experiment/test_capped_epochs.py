"""A run notes the data sets on which the cap of minibatches ends training before the given number of epochs."""

import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.capped_epochs import notes_on_capped_epochs
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

N_TRAIN = len(datasets.load("diabetes").splits[0].train)


def cells_of(dataset: str = "diabetes", suite: str = "uci", **protocol: int | None) -> list[Cell]:
    given = Protocol(**{"epochs": 20, "batch_size": 10, "max_minibatches": 300, **protocol})
    return [Cell(suite, dataset, method, split, "quick", given, 0) for method in ("map", "mfvi") for split in (0, 1)]


def test_note_names_cap_and_the_value_that_suffices():
    (note,) = notes_on_capped_epochs(cells_of(), None)
    needed = 20 * -(-N_TRAIN // 10)
    assert note == (
        "The protocol ends training on diabetes after 300 minibatches (max_minibatches), before --epochs 20 is "
        f"reached; --set max_minibatches={needed} trains for all 20 epochs."
    )
    assert notes_on_capped_epochs(cells_of(max_minibatches=needed), None) == []
    assert notes_on_capped_epochs(cells_of(max_minibatches=needed - 1), None) != []


def test_note_lists_only_data_sets_that_reach_the_cap():
    both = cells_of(batch_size=20) + cells_of("wdbc", batch_size=20)
    sizes = {name: len(datasets.load(name).splits[0].train) for name in ("diabetes", "wdbc")}
    cap = 20 * -(-min(sizes.values()) // 20)
    smaller, larger = sorted(sizes, key=sizes.__getitem__)
    (note,) = notes_on_capped_epochs(
        [*cells_of(smaller, batch_size=20, max_minibatches=cap), *cells_of(larger, batch_size=20, max_minibatches=cap)],
        None,
    )
    assert f"training on {larger} after" in note
    (note,) = notes_on_capped_epochs(both, None)
    assert "training on diabetes, wdbc after" in note


@pytest.mark.parametrize("protocol", [{"max_minibatches": None}, {"epochs": 7}, {"batch_size": 1000}])
def test_epochs_below_the_cap_have_no_note(protocol):
    assert notes_on_capped_epochs(cells_of(**protocol), None) == []
