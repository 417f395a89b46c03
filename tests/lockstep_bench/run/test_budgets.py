"""Cells under budgets of seconds, with measurements that are made up."""

import sys

import pytest

from lockstep_bench.bench.costs.budgets import Rates
from lockstep_bench.bench.costs.line import Line
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.experiment.resolved import resolve
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.run import budgets
from lockstep_bench.run.options import How, Options, What, Where
from lockstep_bench.run.request import request_of

SPEEDS = {"map": 1e-5, "mfvi": 1e-4}  # seconds of an update of a trial


@pytest.fixture
def measured(monkeypatch) -> list[str]:
    """The names of the methods that are measured, at made-up speeds."""
    names: list[str] = []

    def measure_each(function, cells, workers, keep, *given, limit, on_progress):
        for cell in cells:
            names.append(cell.method)
            keep(cell, Rates(Line(0, SPEEDS[cell.method]), Line(0, 0), 397))

    monkeypatch.setattr(budgets, "measure_each", measure_each)
    return names


@pytest.fixture
def cells(tmp_path):
    """`cells(how)`: the cells of two methods on two splits, and the results folder."""

    def cells(budget="1,10", suite="uci", dataset="diabetes", methods="map,mfvi"):
        what = What(suite=suite, methods=methods, datasets=dataset, splits="0-1")
        request = request_of(Options(what=what, how=How(budget_seconds=budget), where=Where(out=tmp_path / "results")))
        results = Results(request.out)
        return budgets.with_budgets(request, resolve(request.requests, None, fetch=False), results).cells, results

    return cells


def test_each_method_is_timed_once_for_all_budgets(measured, cells):
    found, _ = cells()
    assert sorted(measured) == ["map", "mfvi"]
    assert len(found) == 8
    assert len({cell.protocol.hash for cell in found}) == 2


def test_slower_method_gets_fewer_trials_and_minibatches(measured, cells):
    found, _ = cells("1")
    by_method = {cell.method: cell.protocol for cell in found}
    for name, protocol in by_method.items():
        assert 0.8 < protocol.trials * protocol.max_minibatches * SPEEDS[name] <= 1
    assert by_method["mfvi"].trials < by_method["map"].trials


def test_resumed_run_keeps_its_trials_and_minibatches(measured, cells, monkeypatch, result_of):
    found, results = cells("1")
    first = next(cell for cell in found if cell.method == "map")
    results.write(result_of(first))
    monkeypatch.setitem(SPEEDS, "map", 1.0)
    measured.clear()
    again, _ = cells("1")
    assert measured == ["mfvi"]
    assert {cell.protocol for cell in again if cell.method == "map"} == {first.protocol}


def test_non_tabular_suites_refuse_time_budgets(measured, cells):
    with pytest.raises(InvalidRequest, match="suites of tables"):
        cells(suite="factor-analysis", dataset=None, methods="batch-svd")


def test_method_that_cannot_be_timed_gets_minimal_training(monkeypatch, cells, capsys):
    monkeypatch.setattr(budgets, "measure_each", lambda *arguments, **options: None)
    monkeypatch.setattr(budgets.display, "err", budgets.display.CommandConsole(file=sys.stderr))
    found, _ = cells("1")
    assert {(cell.protocol.sampler, cell.protocol.max_minibatches) for cell in found} == {("centre", 100)}
    told = " ".join(capsys.readouterr().err.split())
    assert "map on diabetes could not be measured" in told
    assert "mfvi on diabetes could not be measured" in told
