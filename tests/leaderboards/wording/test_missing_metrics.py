"""Metrics that rows are too old to have are named in words."""

from lockstep_bench.leaderboards.wording.missing_metrics import older_rows
from lockstep_bench.shared.schema import LATER, REGRESSION

OLD = {"coverage_90": 0.9}
NEW = OLD | dict.fromkeys(set(LATER) & set(REGRESSION), 0.5)


def test_rows_with_all_task_metrics_give_no_note(cells):
    classifier = {"method": "map", "accuracy": 0.8} | dict.fromkeys(set(LATER) - set(REGRESSION), 0.5)
    assert older_rows(cells(NEW)) == ""
    assert older_rows(cells(classifier)) == ""


def test_note_names_only_metrics_of_the_task(cells):
    sentence = older_rows(cells(OLD))
    assert sentence.startswith("Not measured, because all rows are older than these metrics: Interval score 50 %; ")
    assert sentence.count(";") + 1 == len(set(LATER) & set(REGRESSION))


def test_note_names_methods_lacking_newer_metrics(cells):
    newer = NEW | {"method": "map"}
    assert "because the rows of vifa are older" in older_rows(cells(OLD, newer))
    many = [OLD | {"method": f"m{number}"} for number in range(7)]
    assert "because the rows of 7 methods are older" in older_rows(cells(newer, *many))


def test_suites_without_these_metrics_get_no_note(cells):
    assert older_rows(cells({"rel_mean": 0.1}, OLD | {"status": "failed"})) == ""
