"""Metrics that rows are too old to have are named in words."""

from lockstep_bench.bench.schema import REGRESSION, SCHEMA_VERSION, SINCE
from lockstep_bench.leaderboards.wording.missing_metrics import older_rows

OLD = {"schema_version": min(SINCE.values()) - 1, "coverage_90": 0.9}


def test_rows_of_this_version_lack_nothing(cells):
    assert older_rows(cells({"coverage_90": 0.9}, {"method": "map", "accuracy": 0.8})) == ""


def test_metrics_of_the_task_alone_are_named(cells):
    sentence = older_rows(cells(OLD))
    assert sentence.startswith("Not measured, because all rows are older than these metrics: Interval score 50 %; ")
    assert sentence.count(";") + 1 == len(SINCE.keys() & REGRESSION.keys())


def test_methods_with_older_rows_are_named(cells):
    newer = OLD | {"method": "map", "schema_version": SCHEMA_VERSION}
    assert "because the rows of vifa are older" in older_rows(cells(OLD, newer))
    many = [OLD | {"method": f"m{number}"} for number in range(7)]
    assert "because the rows of 7 methods are older" in older_rows(cells(newer, *many))


def test_suites_without_these_metrics_get_no_sentence(cells):
    assert older_rows(cells({"schema_version": 3, "rel_mean": 0.1}, OLD | {"status": "failed"})) == ""
