"""Properties of results that readers may rely on."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lockstep_bench.shared.schema import CELLS, COSTS, METRICS, SCHEMA_VERSION, predictions_schema


@pytest.mark.parametrize("name", [*METRICS, *COSTS])
def test_metric_and_cost_columns_are_nullable(name):
    field = CELLS.field(name)
    assert field.type == pa.float64()
    assert field.nullable


def test_schema_columns_have_unique_names():
    assert len(set(CELLS.names)) == len(CELLS.names)


@pytest.mark.parametrize("name", ["suite", "dataset", "method", "split", "preset", "seed", "protocol_hash", "status"])
def test_every_row_has_cell_key_and_status(name):
    assert not CELLS.field(name).nullable


def test_row_of_a_failed_cell_fits_the_schema():
    values = {pa.string(): "text", pa.int32(): SCHEMA_VERSION, pa.int64(): 2**63 - 1}
    values[pa.timestamp("us", tz="UTC")] = datetime.now(UTC)
    row = {field.name: values[field.type] for field in CELLS if not field.nullable}
    table = pa.Table.from_pylist([row], schema=CELLS)
    table.validate(full=True)
    assert table["nmll"].null_count == 1
    assert table["seed"][0].as_py() == 2**63 - 1


def test_predictions_schema_stores_all_samples_per_point():
    """Lists of one fixed length, in single precision; the rest in double."""
    schema = predictions_schema(3)
    for name in ("mean", "variance"):
        assert schema.field(name).type == pa.list_(pa.float32(), 3)
    assert schema.field("y").type == schema.field("nll").type == pa.float64()
    assert [field.name for field in schema if field.nullable] == ["y", "nll"]
    row = {"row": 7, "ood": False, "y": 0.5, "mean": [1, 2, 3], "variance": [1, 1, 1], "nll": 0.1}
    assert pa.Table.from_pylist([row], schema=schema).to_pylist() == [row]
    with pytest.raises(pa.ArrowInvalid):
        pa.Table.from_pylist([row | {"mean": [1, 2]}], schema=schema)


def test_predictions_schema_stores_class_probabilities_of_each_posterior_draw():
    schema = predictions_schema(2, n_classes=3)
    row = {"row": 7, "ood": False, "y": 1.0, "log_probs": [-1, -2, -3, -4, -5, -6], "nll": 0.1}
    unlabelled = row | {"ood": True, "y": None, "nll": None}
    assert pa.Table.from_pylist([row, unlabelled], schema=schema).to_pylist() == [row, unlabelled]
    with pytest.raises(pa.ArrowInvalid):
        pa.Table.from_pylist([row | {"log_probs": [-1, -2, -3]}], schema=schema)
