"""The description of a table makes the same data set in every process, and notices a file that has changed."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import InvalidTable, Table, describe, fixed_splits, registry


@pytest.fixture
def register(monkeypatch):
    """`register(table)`: register a table until the end of the test."""
    monkeypatch.delenv(registry.VARIABLE, raising=False)
    with datasets.added([]):
        yield datasets.add


def test_registered_table_loads_like_a_built_in_set(frame, write, register):
    table, warnings = describe(write(frame.drop(columns="sold"), "My houses.csv"), "price")
    register(table)
    loaded, source = datasets.load("my-houses"), datasets.entry("my-houses")
    np.testing.assert_array_equal(loaded.y, frame["price"])
    assert loaded.x.shape == (40, 5)
    assert (source.task, source.suites, source.n_classes) == ("regression", ("own",), None)
    assert datasets.provider("my-houses") == "own table"
    assert [split.sha256 for split in loaded.splits] == [split.sha256 for split in fixed_splits(40, 20, 0)]
    assert any("40 rows are few" in warning for warning in warnings)


def test_noise_range_follows_the_splits_training_targets(frame, write, register):
    register(describe(write(frame), "price")[0])
    loaded, source = datasets.load("houses"), datasets.entry("houses")
    assert source.noise_precisions is None
    for number, split in enumerate(loaded.splits):
        variance = loaded.y[split.train].var()
        of_split = datasets.source_of_split(source, loaded, number)
        assert of_split.noise_precisions == pytest.approx((1 / variance, 100 / variance))


def test_split_inputs_cover_only_training_categories(frame, write, register):
    frame.loc[39, "city"] = "Zug"
    splits = pd.DataFrame({"with": ["test"] + ["train"] * 39, "without": ["train"] * 39 + ["test"]})
    register(describe(write(frame), "price", splits_file=write(splits, "splits.csv"))[0])
    loaded, source = datasets.load("houses"), datasets.entry("houses")
    assert [split.inputs if split.inputs is None else split.inputs.tolist() for split in loaded.splits] == [
        None,
        [0, 1, 2, 3, 5, 6],
    ]
    without = datasets.dataset_of_split(loaded, 1)
    assert datasets.source_of_split(source, loaded, 1).n_features == without.x.shape[1] == 6
    assert without.x[39, 1:4].tolist() == [0, 0, 0]


def test_split_without_inputs_is_refused(frame, write):
    frame.loc[39, "city"] = "Zug"
    frame.loc[:38, "city"] = "Rome"
    splits = write(pd.DataFrame({"a": ["train"] * 39 + ["test"]}), "splits.csv")
    with pytest.raises(InvalidTable, match="every input is constant in the training rows of split 0"):
        describe(write(frame[["city", "price"]]), "price", splits_file=splits)


def test_text_target_becomes_classes(frame, write):
    table, _ = describe(write(frame), "sold")
    assert (table.task, table.n_classes) == ("binary", 2)
    assert any("0 is no (27), 1 is yes (13)" in note for note in table.notes)


def test_table_description_survives_json(frame, write):
    table, _ = describe(write(frame), "sold")
    assert Table.from_json(table.to_json()) == table
    with pytest.raises(ValueError, match="not the description of a table"):
        Table.from_json('{"name": "houses"}')


def test_recorded_options_recreate_the_table(frame, write):
    frame.loc[0, "area"] = np.nan
    splits = write(pd.DataFrame({"a": ["train"] * 30 + ["test"] * 10}), "splits.csv")
    path = write(frame)
    table, _ = describe(path, "sold", impute="median", splits_file=splits)
    assert table.options == (
        *("--csv", str(path), "--target", "sold", "--task", "classification"),
        *("--impute", "median", "--splits-file", str(splits)),
    )
    assert (table.n_splits, table.split_scheme) == (1, "resampled")


def test_changed_table_file_is_refused(frame, write, register):
    path = write(frame)
    table, _ = describe(path, "price")
    register(table)
    assert len(datasets.load("houses").y) == 40
    write(frame.iloc[:-1])
    with pytest.raises(datasets.BrokenDataset, match="has changed since it was described"):
        datasets.load("houses")


def test_missing_text_alone_is_loaded_without_nan(frame, write, register):
    frame.loc[3, "city"] = None
    table, _ = describe(write(frame), "price", impute="median")
    register(table)
    assert np.isfinite(datasets.load("houses").x).all()


def test_taken_or_invalid_data_set_names_are_changed(frame, write):
    assert describe(write(frame, "yacht.csv"), "price", taken=datasets.names())[0].name == "yacht-own"
    assert describe(write(frame, "été & Co.csv"), "price")[0].name == "t-co"
    assert describe(write(frame, "数.csv"), "price")[0].name == "table"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"task": "ranking"}, "--task 'ranking' is unknown"), ({"impute": "mean"}, "--impute 'mean' is unknown")],
)
def test_unknown_option_values_are_refused(frame, write, options, complaint):
    with pytest.raises(InvalidTable, match=complaint):
        describe(write(frame), "price", **options)


def test_table_with_too_few_rows_is_refused(frame, write):
    with pytest.raises(InvalidTable, match="19 rows; at least 20"):
        describe(write(frame.iloc[:19]), "price")


def test_repeated_rows_and_wide_tables_give_notes(frame, write):
    table, _ = describe(write(pd.concat([frame, frame.iloc[:3]])), "price")
    assert any(note.startswith("3 rows repeat another row") for note in table.notes)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 40))).rename(columns=str)
    assert any("39 features for 30 rows" in warning for warning in describe(write(wide), "0")[1])


def test_tables_are_unregistered_after_the_context(frame, write, register):
    table, _ = describe(write(frame), "price")
    with datasets.added([table]):
        assert "houses" in datasets.names()
    assert "houses" not in datasets.names()
