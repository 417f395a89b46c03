"""Cells that are drawn, run again and compared with what is kept."""

import json
import math

import pandas as pd
import pytest
from typer.testing import CliRunner

from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.data.rechecks import DIFFERENT, EQUAL, NOT_RUN, WITHIN, read_rechecks
from lockstep_bench.leaderboards.rechecks import judging
from lockstep_bench.leaderboards.rechecks.drawing import LONGEST_SECONDS, drawn, population
from lockstep_bench.leaderboards.rechecks.judging import judged, recheck
from lockstep_bench.leaderboards.rechecks.running import NotRun


def split(number: int, nmll: float | None, **columns) -> dict:
    return {"split": number, "nmll": nmll, **columns}


def again(table: pd.DataFrame, **changes) -> dict:
    return table.iloc[0].to_dict() | changes


@pytest.mark.parametrize(
    ("new", "outcome"), [(1.0, EQUAL), (1.5, WITHIN), (-2.0, WITHIN), (4.1, DIFFERENT), (math.nan, DIFFERENT)]
)
def test_noise_is_three_standard_deviations_over_splits(cells, new, outcome):
    table = cells(split(0, 1.0), split(1, 2.0), split(2, 3.0), split(3, 90.0, method="map"))
    result = judged(table.iloc[0].to_dict(), again(table, nmll=new), table)
    assert (result.outcome, result.noise, result.kept) == (outcome, 3.0, 1.0)


@pytest.mark.parametrize(("new", "outcome"), [(2.0, EQUAL), (2.19, WITHIN), (1.79, DIFFERENT), (math.inf, DIFFERENT)])
def test_with_few_splits_noise_is_ten_percent(cells, new, outcome):
    table = cells(split(0, 2.0), split(1, 50.0))
    assert judged(table.iloc[0].to_dict(), again(table, nmll=new), table).outcome == outcome


def test_gap_and_tail_splits_give_no_noise_estimate(cells):
    table = cells(*(split(number, 10.0**number, dataset="yacht-gap") for number in range(4)))
    assert judged(table.iloc[0].to_dict(), again(table), table).noise == 0.1


@pytest.mark.parametrize(
    ("others", "outcome"), [((10.0, 30.0, 20.0, 40.0), WITHIN), ((30.8, 30.9, 31.0, 30.7), DIFFERENT)]
)
def test_other_seeds_estimate_noise_if_splits_cannot(cells, others, outcome):
    table = cells(*(split(number, 15.6, dataset="yacht-tail") for number in range(4)))
    given = iter((30.8, *others))
    ran = []

    def run(row):
        ran.append(row["seed"])
        return row | {"nmll": next(given)}

    (cell,) = recheck(table, 1, 0, run=run, tell=lambda cell: None).cells
    assert cell.outcome == outcome
    assert ran == [0, 1, 2, 3, 4]


def test_distances_to_the_reference_posterior_are_preferred(cells):
    table = cells({"nmll": 1.0, "rel_cov": 0.5})
    result = judged(table.iloc[0].to_dict(), again(table, nmll=9.0), table)
    assert (result.metric, result.outcome) == ("rel_cov", EQUAL)


def test_reproduced_infinite_number_counts_as_equal(cells):
    table = cells(split(0, math.inf))
    assert judged(table.iloc[0].to_dict(), again(table), table).outcome == EQUAL


def test_draw_takes_every_suite_before_repeating_one(cells):
    many = [{"dataset": f"d{number}", "nmll": 1.0} for number in range(50)]
    table = population(cells(*many, {"suite": "toy", "nmll": 1.0}, {"suite": "images", "nmll": 1.0}))
    for seed in range(5):
        chosen = drawn(table, 5, seed)
        assert set(chosen["suite"][:3]) == {"uci", "toy", "images"}
        assert list(chosen["suite"][3:]) == ["uci", "uci"]
        assert not chosen.index.has_duplicates
    assert drawn(table, 5, 1).equals(drawn(table.iloc[:], 5, 1))
    assert not drawn(table, 5, 1).equals(drawn(table, 5, 2))
    assert len(drawn(table, 99, 0)) == 52


def test_draw_excludes_old_failed_and_long_cells(cells):
    table = cells(
        split(0, 1.0, execution=None),
        split(1, None, status="failed"),
        split(2, 1.0, tune_seconds=LONGEST_SECONDS, fit_seconds=1.0),
        split(3, 1.0, tune_seconds=1.0),
    )
    assert list(population(table)["split"]) == [3]


def test_recheck_agrees_only_if_every_cell_agrees(cells):
    table = cells(split(0, 1.0), split(1, 1.0))

    def all_but_one(row):
        if row["split"] == 1:
            raise NotRun("no data")
        return row

    ignored = lambda cell: None  # noqa: E731
    assert recheck(table, 2, 0, run=dict, tell=ignored).agreed
    failed = recheck(table, 2, 0, run=all_but_one, tell=ignored)
    assert not failed.agreed
    assert {(cell.outcome, cell.problem) for cell in failed.cells} == {(EQUAL, ""), (NOT_RUN, "no data")}
    assert not recheck(table.iloc[:0], 2, 0, run=dict, tell=ignored).agreed


@pytest.mark.parametrize(("new", "code"), [(1.0, 0), (7.0, 1)])
def test_recheck_command_prints_and_stores_the_outcome(folder, monkeypatch, new, code):
    out = folder(split(0, 1.0), split(1, 2.0))
    (out / "rechecks.json").write_text("[]")

    def run(row):
        return row | {"nmll": new if row["split"] == 0 else row["nmll"]}

    monkeypatch.setattr(judging, "run_again", run)
    monkeypatch.setattr(recheck, "__defaults__", (run, print))
    said = CliRunner().invoke(app, ["recheck", str(out), "--seed", "5"])
    assert said.exit_code == code, said.output
    (kept,) = read_rechecks(out)
    assert (kept.agreed, kept.draw, kept.drawn_from, len(kept.cells)) == (code == 0, 5, 2, 2)
    assert "2 of 2 rows (seed 5) run again by code 0123456789ab" in " ".join(said.stdout.split())
    assert len(json.loads((out / "rechecks.json").read_text())) == 1


def test_recheck_refuses_a_folder_without_drawable_results(folder):
    said = CliRunner().invoke(app, ["recheck", str(folder(split(0, 1.0, execution=None)))])
    assert said.exit_code == 2
    assert "no cell to draw" in said.stderr
