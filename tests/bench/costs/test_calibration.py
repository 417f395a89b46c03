"""A cost is a line, worked out by hand; what was measured is kept for what it was measured on."""

from dataclasses import asdict, replace

import pytest

import methods
from bench.costs import calibration
from bench.costs.calibration import Calibrations
from bench.costs.cost import Cost
from bench.costs.packing import Need
from bench.execution.workers import Slot
from bench.experiment.cells import Cell
from bench.experiment.protocol import SETTINGS, Protocol

NOTHING = Cost(0, 0, 0, 0, 0, 100, 10, train_share=0.9, test_share=0.1, trials=4, fits_per_trial=5)
# Yacht has 308 rows: 277 to train on, 31 to test; 222 in a fold, 55 held out. 2 epochs of batches of 10: 46 and 56.
CELL = Cell("uci", "yacht", "map", 0, "p", Protocol(epochs=2, trials=4, samples=7, validation_samples=3), 0)
FOLD_UPDATES, UPDATES = 46, 56


def seconds(cells: int = 1, rows: int = 150, cell: Cell = CELL, **changes) -> float:
    return replace(NOTHING, **changes).seconds([replace(cell, split=split) for split in range(cells)], rows)


def test_every_stack_is_set_up_once():
    assert seconds(setup=1.0) == 2  # 20 trial fits in a stack, and the final one
    assert seconds(setup=1.0, rows=10) == 2 + 1
    assert seconds(cells=3, setup=1.0, rows=150) == 2  # 60 side by side, then 3
    assert seconds(setup=1.0, trials=0) == 1


def test_every_fit_counts_once():
    assert seconds(cells=3, setup_row=1.0) == 3 * 21
    assert seconds(cells=3, setup_row=1.0, members=2, final_members=5) == 3 * (20 * 2 + 5)


def test_a_stack_moves_by_the_update_and_its_rows_with_it():
    assert seconds(update=1.0) == FOLD_UPDATES + UPDATES
    assert seconds(update=1.0, rows=10) == 2 * FOLD_UPDATES + UPDATES
    assert seconds(cells=3, update_row=1.0, rows=10) == pytest.approx(3 * (20 * FOLD_UPDATES + UPDATES))


def test_fits_that_are_trained_alone_have_no_stack():
    assert seconds(setup=1.0, update=1.0, stacked=False) == 0
    assert seconds(update_row=1.0, stacked=False) == 20 * FOLD_UPDATES + UPDATES


def test_limits_and_minibatches_of_an_update():
    limited = replace(CELL, protocol=CELL.protocol.changed(max_minibatches=40))
    assert seconds(update=1.0, cell=limited) == 40 + 40
    assert seconds(update=1.0, batches_per_update=8) == 6 + 7  # 46 / 8 and 56 / 8, rounded up
    assert seconds(update=1.0, cell=replace(CELL, protocol=CELL.protocol.changed(max_updates=3))) == 6
    assert seconds(update=1.0, effort=0.5) == FOLD_UPDATES / 2 + UPDATES / 2


def test_tpe_sets_up_a_stack_in_each_of_its_rounds():
    tpe = replace(CELL, protocol=CELL.protocol.changed(sampler="tpe", trials=20))
    assert seconds(setup=1.0, cell=tpe, trials=20) == 3 + 1  # rounds of 10, 5 and 5 trials


def test_points_and_samples_are_predicted():
    assert seconds(predict=1.0) == pytest.approx(20 * 55 * 3 + 30.8 * 7)


def test_a_stream_is_as_long_as_the_protocol_says_or_as_it_is():
    stream = Cell("factor-analysis", "fa-D100-K10-spectrum1-10", "batch-svd", 0, "p", Protocol(stream_length=500), 0)
    assert seconds(update=1.0, cell=stream, trials=0) == 500


def test_memory_is_a_need():
    assert NOTHING.need == Need(100, 10)


# What is kept.


@pytest.fixture
def kept(tmp_path):
    """Calibrations that have a measurement of `CELL`."""
    found = Calibrations(Slot("cpu 0"), tmp_path)
    found._keep(CELL, NOTHING)
    return found


def test_what_was_measured_is_found_again_for_any_split(kept):
    assert kept.kept(CELL) == NOTHING
    assert kept.kept(replace(CELL, split=3)) == NOTHING
    assert kept.kept(replace(CELL, protocol=CELL.protocol.changed(epochs=50))) == NOTHING  # only the updates are more


@pytest.mark.parametrize(
    "other",
    [
        {"method": "vifa"},
        {"dataset": "boston"},
        {"protocol": Protocol(batch_size=20)},
        {"protocol": Protocol(trials=5)},
    ],
)
def test_other_work_has_other_costs(kept, other):
    assert kept.kept(replace(CELL, **other)) is None


CHANGES = {
    name: next(one for one in setting.choices if one != setting.default)
    if setting.choices
    else (setting.default or 0) + 7
    for name, setting in SETTINGS.items()
}


@pytest.mark.parametrize("name", SETTINGS)
def test_key_changes_with_every_cost_relevant_field(kept, name):
    found = kept.kept(replace(CELL, protocol=CELL.protocol.changed(**{name: CHANGES[name]})))
    assert found == (NOTHING if SETTINGS[name].rescales else None)


def test_bfloat16_does_not_reuse_float32_costs(kept):
    assert kept.kept(replace(CELL, protocol=CELL.protocol.changed(precision="bfloat16"))) is None


@pytest.mark.parametrize("slot", [Slot("cpu 0", threads=2), Slot("g", "cuda", "0"), Slot("g", "cuda", "1")])
def test_and_so_have_other_slots(kept, tmp_path, slot):
    assert Calibrations(slot, tmp_path).kept(CELL) is None


def test_slots_of_one_device_share_what_was_measured(kept, tmp_path):
    assert Calibrations(Slot("cpu 3", neighbours=3), tmp_path).kept(CELL) == NOTHING


def test_and_other_code(kept, monkeypatch):
    monkeypatch.setattr(calibration, "code_revision", lambda: ("another", False))
    assert kept.kept(CELL) is None


@pytest.mark.parametrize("content", ["", "{", '{"setup": 1}', '{"colour": 1}'])
def test_a_file_that_is_no_measurement_is_as_good_as_none(kept, content):
    kept._path(CELL).write_text(content)
    assert kept.kept(CELL) is None


def test_the_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv(calibration.VARIABLE, str(tmp_path / "here"))
    assert calibration.default_folder() == tmp_path / "here"


def test_every_number_survives_being_kept(kept):
    odd = Cost(*(1 / number for number in range(3, 8)), 7, 8, 0.1, 0.2, False, 2, 3, 4, 5, 6, 0.7)
    assert len(asdict(odd)) == 16
    kept._keep(CELL, odd)
    assert kept.kept(CELL) == odd


# Measuring, in processes of their own.


def test_what_can_be_measured_is_kept_and_what_cannot_is_left_out(faulty, tmp_path):
    short = Protocol(epochs=1, trials=1, folds=2)
    good, bad = (Cell("uci", "diabetes", method, 0, "p", short, 0) for method in ("map", "raise"))
    assert methods.problem_with("raise") is None
    found, done = Calibrations(Slot("cpu 0"), tmp_path / "kept"), []
    found.measure([bad, good], [Slot("cpu 0")], None, lambda: done.append(1))
    assert found.kept(good).update > 0
    assert found.kept(bad) is None
    assert len(done) == 2


def test_when_time_is_up_nothing_else_begins(tmp_path):
    found = Calibrations(Slot("cpu 0"), tmp_path)
    found.measure([CELL], [Slot("cpu 0")], None, seconds=0)
    assert list(tmp_path.iterdir()) == []
