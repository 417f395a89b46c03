"""Predictions of first splits, from a run's folder and from a publication."""

import pyarrow as pa
import pyarrow.parquet as pq

from lockstep_bench.leaderboards.stats.first_predictions import first_splits, published_path
from lockstep_bench.shared.schema import cell_key, predictions_schema


def test_first_split_with_readable_predictions_is_used(tmp_path, row, cells):
    schema = predictions_schema(1)
    rows = [row(method=method, split=split) for method in ("a", "b", "c") for split in (0, 1)]
    for one in rows:
        if one["method"] == "c":
            continue
        names = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
        path = tmp_path / "predictions" / f"{cell_key(*(one[name] for name in names))}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {"row": [0], "ood": [False], "y": [one["split"]], "mean": [[0.0]], "variance": [[1.0]], "nll": [0.0]}
        pq.write_table(pa.Table.from_pydict(columns, schema=schema), path)
        if (one["method"], one["split"]) == ("b", 0):
            path.write_bytes(b"spoilt")
    found = first_splits(cells(*rows).assign(folder=str(tmp_path)))
    assert {method: one.y.tolist() for method, one in found.items()} == {"a": [0.0], "b": [1.0]}


def test_unreadable_published_predictions_count_as_missing(tmp_path, row, cells):
    path = published_path(tmp_path, "uci", "energy")
    path.parent.mkdir(parents=True)
    for content in (b"spoilt", b""):
        path.write_bytes(content)
        assert first_splits(cells(row()).assign(folder=str(tmp_path))) == {}
    pq.write_table(pa.table({"method": ["vifa"]}), path)
    assert first_splits(cells(row()).assign(folder=str(tmp_path))) == {}


def test_data_set_names_cannot_escape_the_folder(tmp_path):
    path = published_path(tmp_path, "../../x", "/etc/..")
    assert path.parent.parent == tmp_path / "predictions"
