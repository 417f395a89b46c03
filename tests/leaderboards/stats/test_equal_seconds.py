"""Budgets of one protocol are a series, whatever each method did with its seconds."""

import json

import pandas as pd

from lockstep_bench.leaderboards.stats.equal_seconds import BudgetSeries, series_of


def cell(preset: str, suite: str = "uci", **protocol) -> dict:
    return {"suite": suite, "preset": preset, "protocol": json.dumps({"epochs": 2000, "folds": 3} | protocol)}


def test_presets_differing_only_in_seconds_form_a_series():
    rows = [
        cell("tuned-100s", budget_seconds=100, trials=90, max_minibatches=5000),
        cell("tuned-1s", budget_seconds=1, trials=7, max_minibatches=300),
        cell("tuned-1s", budget_seconds=1, trials=1, sampler="centre", max_minibatches=100),
    ]
    assert series_of(pd.DataFrame(rows)) == [BudgetSeries("uci", {1: "tuned-1s", 100: "tuned-100s"})]


def test_networks_and_suites_form_separate_series():
    rows = [
        cell("tuned-1s", budget_seconds=1),
        cell("tuned-modified-1s", budget_seconds=1, hidden="16,16"),
        cell("tuned-1s", suite="uci-gap", budget_seconds=1),
    ]
    found = series_of(pd.DataFrame(rows))
    assert [(one.suite, one.presets) for one in found] == [
        ("uci", {1: "tuned-1s"}),
        ("uci", {1: "tuned-modified-1s"}),
        ("uci-gap", {1: "tuned-1s"}),
    ]


def test_rows_without_time_budget_are_in_no_series():
    assert series_of(pd.DataFrame([cell("tuned", trials=30)])) == []
