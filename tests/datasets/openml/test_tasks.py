"""OpenML's tasks: files fetched from a server on this machine, their checksums, columns and published splits."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.experiment.tasks import task_from
from lockstep_bench.datasets import learned
from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.openml import tasks
from lockstep_bench.shared.protocol import Protocol

NAME = "ctr23-361234"
API = {"task": "api/v1/json/task/361234", "data": "api/v1/json/data/44956"}
PARQUET, ARFF = "datasets/0004/44956/dataset_44956.pq", "api_splits/get/361234/Task_361234_splits.arff"
COLOURS = ["red", "green", "blue", "red", None] * 4
FRAME = pd.DataFrame(
    {
        "id": range(20),
        "length": [0.5, None, *np.arange(18.0)],
        "colour": pd.Series(COLOURS, dtype="category"),
        "alive": [True, False] * 10,
        "rings": np.arange(20) % 7,
    }
)
pytestmark = pytest.mark.filterwarnings("ignore:nobody has published")


def arff(n_rows=20, n_folds=10, n_repeats=1):
    """Return a splits file as OpenML writes it: fold k of repeat r tests on the rows i with (i + r) % n_folds = k."""
    lines = ["@relation 'a task'", "@attribute type {TRAIN,TEST}"]
    lines += [f"@attribute {name} numeric" for name in ("rowid", "repeat", "fold")] + ["", "@data"]
    for repeat in range(n_repeats):
        for fold in range(n_folds):
            for row in reversed(range(n_rows)):
                part = "TEST" if (row + repeat) % n_folds == fold else "TRAIN"
                lines.append(f"{part},{row},{repeat},{fold}")
    return "\n".join(lines).encode()


def parquet(frame):
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def descriptions(url, data=44956, **others):
    """Return OpenML's two descriptions of a task and of its data set, as JSON."""
    procedure = {"type": "crossvalidation", "data_splits_url": f"{url}{ARFF}"}
    source = {"data_set_id": str(data), "target_feature": "rings"}
    inputs = [{"name": "source_data", "data_set": source}]
    inputs += [{"name": "estimation_procedure", "estimation_procedure": procedure}]
    described = {"id": "44956", "parquet_url": f"{url}{PARQUET}", "row_id_attribute": "id", **others}
    return [json.dumps(each).encode() for each in ({"task": {"input": inputs}}, {"data_set_description": described})]


@pytest.fixture
def server(web, monkeypatch, tmp_path):
    """A server with the four files of a task of 20 rows, and an empty cache of checksums and shapes."""
    monkeypatch.setattr(learned, "path", lambda: tmp_path / "cache" / learned.NAME)
    task, data = descriptions(web.url)
    web.files.update({API["task"]: task, API["data"]: data, PARQUET: parquet(FRAME), ARFF: arff()})
    return web


def contents_of(frame=FRAME, **others):
    task, data = descriptions("https://www.openml.org/", **others)
    return {tasks.TASK: task, tasks.DATA: data, tasks.TABLE: parquet(frame), tasks.SPLITS: arff()}


def row(name):
    return next(task for task in tasks.tasks() if task.name == name)


def test_four_files_are_fetched_the_descriptions_first(server, tmp_path):
    with pytest.warns(UserWarning, match="nobody has published a checksum of openml/361234/") as caught:
        arrived = datasets.fetch(NAME, tmp_path, base_url=server.url)
    assert server.requests == [API["task"], API["data"], PARQUET, ARFF]
    assert [path.name for path in arrived] == [tasks.TASK, tasks.DATA, tasks.TABLE, tasks.SPLITS]
    assert len(caught) == 2
    assert datasets.availability(NAME, tmp_path, deep=True).state == "ready"
    assert datasets.fetch(NAME, tmp_path, base_url=server.url) == ()


def test_shape_is_that_of_the_table_once_it_was_fetched(server, tmp_path):
    assert datasets.entry(NAME).n_features == 8
    datasets.fetch(NAME, tmp_path, base_url=server.url)
    source, dataset = datasets.entry(NAME), datasets.load(NAME, tmp_path)
    assert (source.n_rows, source.n_features) == dataset.x.shape == (20, 6)
    of_split = datasets.source_of_split(source, dataset, 0)
    assert task_from(of_split, "openml-ctr23", Protocol()).network.layers[0].fan_in == 6


def test_another_user_of_the_folder_can_load_after_one_message(server, tmp_path, monkeypatch):
    datasets.fetch(NAME, tmp_path, base_url=server.url)
    monkeypatch.setattr(learned, "path", lambda: tmp_path / "cache of another" / learned.NAME)
    with pytest.raises(datasets.BrokenDataset, match="load it again"):
        datasets.load(NAME, tmp_path)
    assert len(datasets.load(NAME, tmp_path).y) == 20


@pytest.mark.parametrize("path", [PARQUET, ARFF])
def test_changed_table_or_splits_are_refused(server, tmp_path, path):
    datasets.fetch(NAME, tmp_path / "first", base_url=server.url)
    server.files[path] = parquet(FRAME[::-1]) if path == PARQUET else arff(n_repeats=2)
    with pytest.raises(datasets.Unavailable, match="is refused"):
        datasets.fetch(NAME, tmp_path / "second", base_url=server.url)


def test_changed_tags_of_a_description_are_accepted(server, tmp_path):
    datasets.fetch(NAME, tmp_path / "first", base_url=server.url)
    server.files[API["data"]] = descriptions(server.url, tag=["uci"])[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(datasets.fetch(NAME, tmp_path / "second", base_url=server.url)) == 4


@pytest.mark.parametrize("which", ["task", "data"])
def test_page_of_an_error_is_no_description(server, tmp_path, which):
    server.files[API[which]] = b"<html>service unavailable</html>"
    with pytest.raises(datasets.Unavailable, match=f"{which}.json is not the published file .*OpenML's description"):
        datasets.fetch(NAME, tmp_path, base_url=server.url)
    assert PARQUET not in server.requests


def test_description_of_another_data_set_is_refused(server, tmp_path):
    server.files[API["task"]] = descriptions(server.url, data=1)[0]
    with pytest.raises(datasets.BrokenDataset, match="should be of data set 44956; the task's description names 1,"):
        datasets.fetch(NAME, tmp_path, base_url=server.url)


def test_table_on_an_insecure_server_is_refused(server, tmp_path):
    server.files[API["data"]] = descriptions(server.url, parquet_url="http://example.invalid/table.pq")[1]
    with pytest.raises(datasets.Unavailable, match=r"'http://example\.invalid/table\.pq' is not https"):
        datasets.fetch(NAME, tmp_path, base_url=server.url)


def test_addresses_of_openml_are_asked_by_https(tmp_path):
    task, data = descriptions("http://openml1.win.tue.nl/")
    (tmp_path / tasks.TASK).write_bytes(task)
    (tmp_path / tasks.DATA).write_bytes(data)
    files = tasks.listing(row(NAME), tmp_path)
    assert [file.address for file in files[2:]] == [f"https://openml1.win.tue.nl/{path}" for path in (PARQUET, ARFF)]


def test_missing_set_says_how_to_fetch_it(tmp_path):
    with pytest.raises(datasets.Unavailable, match=f"none of its 2 files .*datasets fetch {NAME}"):
        datasets.load(NAME, tmp_path)


def test_categories_become_dummies_and_missing_numbers_stay():
    x, y, _ = tasks.arrays(row(NAME), contents_of())
    assert y.tolist() == (np.arange(20) % 7).tolist()
    assert np.isnan(x[1, 0])
    assert x[2:, 0].tolist() == list(range(18))
    assert x[:, 1].tolist() == [1, 0] * 10
    colours = sorted({"red", "green", "blue", "(missing)"})
    assert x[:, 2:].tolist() == [[float(colour == (own or "(missing)")) for colour in colours] for own in COLOURS]


def test_split_uses_only_categories_of_its_training_rows():
    frame = FRAME.assign(colour=["violet", *["red", "green"] * 9, "red"])  # row 0 is tested in the first split
    _, _, splits = tasks.arrays(row(NAME), contents_of(frame))
    assert splits[0].inputs.tolist() == [0, 1, 3]
    assert splits[1].inputs is None


def test_splits_are_those_of_the_file():
    _, _, splits = tasks.arrays(row(NAME), contents_of())
    assert [split.test.tolist() for split in splits] == [[fold, fold + 10] for fold in range(10)]
    assert all(sorted([*split.train, *split.test]) == list(range(20)) for split in splits)


def test_repeats_follow_each_other():
    splits = tasks.published_splits(arff(n_rows=6, n_folds=3, n_repeats=2))
    assert [split.test.tolist() for split in splits] == [[0, 3], [1, 4], [2, 5], [2, 5], [0, 3], [1, 4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rings": [None, *range(19)]}, "target 'rings' is missing or infinite in 1 rows"),
        ({"day": pd.Timestamp("2020-01-01")}, "'day' holds dates"),
    ],
)
def test_tables_without_targets_or_with_dates_are_refused(change, message):
    with pytest.raises(InvalidTable, match=message):
        tasks.arrays(row(NAME), contents_of(FRAME.assign(**change)))


def test_task_with_too_few_splits_is_refused():
    with pytest.raises(InvalidTable, match="has 5 splits, expected at least 10"):
        tasks.arrays(row(NAME), contents_of() | {tasks.SPLITS: arff(n_folds=5)})


def test_suites_hold_every_task_of_the_list():
    rows = tasks.tasks()
    assert [task.suite for task in rows] == ["ctr23"] * 35 + ["tabarena"] * 13
    assert len({task.task for task in rows}) == len({task.data for task in rows}) == 48
    for suite in ("ctr23", "tabarena"):
        assert SUITES[f"openml-{suite}"].datasets() == tuple(task.name for task in rows if task.suite == suite)


def test_equal_origins_are_data_sets_of_the_same_size():
    for task in tasks.tasks():
        for other in task.same_as.split():
            assert other in datasets.names()
            rows = datasets.entry(other).n_rows
            assert rows == task.rows or task.title in ("wine_quality", "miami_housing", "QSAR_fish_toxicity")
