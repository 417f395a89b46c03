"""Rechecks beside results: what they vouch for, and files that are none."""

import math
from datetime import UTC, datetime

import pytest

from lockstep_bench.leaderboards.data.rechecks import (
    DIFFERENT,
    EQUAL,
    NOT_RUN,
    WITHIN,
    Again,
    Recheck,
    read_rechecks,
    write_rechecks,
)
from lockstep_bench.leaderboards.data.results import read_results

CELL = Again("uci", "energy", "vifa", "paper", "aaaaaaaa", 0, 0, "nmll", 1.0, 1.0, 0.1, "a-1", "a-2", EQUAL)


def ended(day: int, *outcomes: str) -> Recheck:
    cells = tuple(CELL._replace(outcome=outcome) for outcome in outcomes)
    return Recheck(datetime(2026, 1, day, tzinfo=UTC).isoformat(), "0123456789abcdef", 5, 7, cells)


def vouched(out) -> list:
    cells = read_results(out).cells.sort_values("split")
    return [None if text != text else text for text in cells["rechecked"]]


@pytest.fixture
def out(folder):
    """Rows of the first and the ninth of January, and one of an earlier engine."""
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 9, 1)]
    rows = [{"split": split, "nmll": 1.0, "finished_at": day} for split, day in enumerate(days)]
    return folder(*rows[:2], rows[2] | {"execution": None})


def test_agreeing_recheck_confirms_only_rows_it_could_draw(out):
    assert vouched(out) == [None, None, None]
    write_rechecks([ended(5, EQUAL, WITHIN)], out)
    assert vouched(out) == ["2026-01-05 by code 0123456789", None, None]


@pytest.mark.parametrize("outcomes", [(EQUAL, DIFFERENT), (NOT_RUN,), ()])
def test_disagreeing_recheck_revokes_earlier_confirmations(out, outcomes):
    write_rechecks([ended(7, *outcomes), ended(5, EQUAL)], out)
    assert vouched(out) == [None, None, None]
    assert [recheck.date for recheck in read_rechecks(out)] == ["2026-01-05", "2026-01-07"]


def test_written_rechecks_are_read_back_unchanged(tmp_path):
    odd = CELL._replace(new=None, kept=math.inf, kept_identity=None, outcome=NOT_RUN, problem="kein Netz ∞")
    recheck = ended(5)._replace(cells=(odd,))
    write_rechecks([recheck], tmp_path)
    assert read_rechecks(tmp_path) == [recheck]


@pytest.mark.parametrize("text", ["", "[1]", '[{"cells": []}]', '[{"finished_at": "soon"}]', "[" * 10_000])
def test_invalid_recheck_file_is_skipped(out, text):
    (out / "rechecks.json").write_text(text)
    found = read_results(out)
    assert [(file.path, file.reason) for file in found.skipped] == [("rechecks.json", "not a JSON list of rechecks")]
    assert vouched(out) == [None, None, None]


def test_recheck_confirms_no_rows_of_other_folders(out, tmp_path, row):
    write_rechecks([ended(5, EQUAL)], out)
    alone = read_results(out, tmp_path)
    assert alone.cells["rechecked"].notna().sum() == 1
