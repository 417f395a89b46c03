"""A cell is known by its key, and its seeds follow from who it is."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import Cell, cells_of
from lockstep_bench.shared.protocol import Protocol

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)
DIFFERENT = {
    "suite": "other",
    "dataset": "boston",
    "method": "mfvi",
    "split": 13,
    "preset": "paper-modified",
    "protocol": Protocol(trials=31),
    "seed": 1,
}

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
cells = st.builds(
    Cell,
    suite=names,
    dataset=names,
    method=st.from_regex(r"(ensemble:)?[a-z][a-z0-9-]{0,8}", fullmatch=True),
    split=st.integers(0, 200),
    preset=names,
    protocol=st.builds(Protocol, trials=st.integers(1, 5)),
    seed=st.integers(0, 2**63 - 1),
)


def changed(name: str) -> Cell:
    return replace(CELL, **{name: DIFFERENT[name]})


def test_cell_key_equals_a_stored_key():
    """Results are found by it; the hash is that of the JSON pinned in the tests of the protocol."""
    assert CELL.key == "uci/yacht/vifa/paper-e9f65655/split03-seed0"


@pytest.mark.parametrize("name", DIFFERENT)
def test_cell_key_depends_on_every_field(name):
    assert changed(name).key != CELL.key


@given(cells, cells)
@settings(deadline=None)
def test_cell_keys_differ_exactly_for_different_cells(one, other):
    assert (one.key == other.key) == (one == other)


@given(cells)
@settings(deadline=None)
def test_cell_key_is_a_relative_path_with_protocol_hash(cell):
    path = PurePosixPath(cell.key)
    assert not path.is_absolute()
    assert path.parts[:3] == (cell.suite, cell.dataset, cell.method.replace(":", "+"))
    assert not set(cell.key) & set('\\:*?"<>|')  # which Windows takes in no name
    assert path.parts[3] == f"{cell.preset}-{cell.protocol.hash}"
    assert "." not in path.name


@pytest.mark.parametrize("name", ["suite", "dataset", "method", "split", "seed"])
def test_fits_of_different_cells_have_different_seeds(name):
    assert changed(name).seeded.fit_seed != CELL.seeded.fit_seed


def test_every_method_gets_the_same_folds():
    assert changed("method").seeded.fold_seed == CELL.seeded.fold_seed


@pytest.mark.parametrize("name", ["suite", "dataset", "split", "seed"])
def test_fold_seed_depends_on_everything_but_the_method(name):
    assert changed(name).seeded.fold_seed != CELL.seeded.fold_seed


def test_fit_seed_differs_from_fold_seed():
    assert CELL.seeded.fit_seed != CELL.seeded.fold_seed


def test_cells_are_all_combinations_without_repetition():
    splits = {"yacht": (0, 4), "protein": (1,)}
    found = cells_of("uci", ["yacht", "protein"], ["vifa", "mfvi"], splits, "paper", Protocol(), 5)
    identities = sorted((cell.dataset, cell.method, cell.split) for cell in found)
    assert identities == [
        ("protein", "mfvi", 1),
        ("protein", "vifa", 1),
        ("yacht", "mfvi", 0),
        ("yacht", "mfvi", 4),
        ("yacht", "vifa", 0),
        ("yacht", "vifa", 4),
    ]
    assert {(cell.suite, cell.preset, cell.protocol, cell.seed) for cell in found} == {("uci", "paper", Protocol(), 5)}


def test_fewer_training_images_mean_less_estimated_work():
    images = replace(CELL, suite="images", dataset="mnist", protocol=Protocol(max_train=7000))
    assert images.work == pytest.approx(replace(images, protocol=Protocol()).work / 10)


def test_cells_with_most_work_come_first():
    rows = {name: datasets.entry(name).n_rows for name in ("yacht", "protein", "boston")}
    found = cells_of("uci", list(rows), ["vifa"], dict.fromkeys(rows, (0, 1)), "paper", Protocol(), 0)
    assert [cell.dataset for cell in found] == [name for name in sorted(rows, key=rows.get)[::-1] for _ in range(2)]


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({"epochs": 240}, 2),
        ({"batch_size": 20}, 1 / 2),
        ({"trials": 60}, (60 * 5 + 20) / (30 * 5 + 20)),
        ({"folds": 10}, (30 * 10 + 20) / (30 * 5 + 20)),
    ],
)
def test_estimated_work_grows_with_trials_and_epochs(changes, factor):
    assert replace(CELL, protocol=Protocol(**changes)).work == pytest.approx(CELL.work * factor)


def test_minibatch_limit_gives_large_data_sets_equal_work():
    limited = replace(CELL, protocol=Protocol(max_minibatches=2000))
    assert limited.work < CELL.work
    assert limited.work == replace(limited, dataset="protein").work
    assert replace(CELL, protocol=Protocol(max_minibatches=10**9)).work == CELL.work


def test_method_options_change_the_key_but_not_seeds():
    given = replace(CELL, method="vifa(latent_dim=2)")
    assert given.key != CELL.key
    assert (given.seeded.fit_seed, given.seeded.fold_seed) == (CELL.seeded.fit_seed, CELL.seeded.fold_seed)
