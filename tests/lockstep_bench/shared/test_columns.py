"""Columns of results that came after `shared.schema`."""

from lockstep_bench.shared import schema
from lockstep_bench.shared.columns import CELLS, LATER, METRICS, TABLES


def test_columns_of_later_suites_follow_the_other_metrics():
    first = schema.CELLS.names.index("nmll")
    assert CELLS.names[first : first + len(METRICS)] == list(METRICS)
    assert [name for name in CELLS.names if name not in LATER] == schema.CELLS.names
    assert all(CELLS.field(name) == schema.CELLS.field(name) for name in schema.CELLS.names)
    assert all(CELLS.field(name).nullable for name in LATER)
    assert (*schema.TABLES, "regrets", "simple_regrets", "learning") == TABLES
