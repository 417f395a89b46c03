"""Columns of the table at the top of the index: each has a heading, and a text for each method."""

from math import nan, pi, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.site.strengths import NOMINAL
from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.stats.schemes import splits_of, without_flagged
from lockstep_bench.leaderboards.tables import ranking_numbers
from lockstep_bench.leaderboards.wording.commands import changes
from lockstep_bench.leaderboards.wording.formats import counted, decimals_for, difference_in_words, number, visible

ACCURACY = ("rmse", "accuracy")  # shown beside the leading metric, the first that was measured
SECONDS = "total_seconds"
BLOCKS = {"fold_kind": "block"}  # what protocols differ in, one of which validates in gaps too


class VerdictColumn(NamedTuple):
    """A column of the table at the top of the index.

    Attributes:
        title: heading of the column.
        meaning: explanation of the column in one sentence.
        texts: printed text for each method; methods without a number are left out.
    """

    title: str
    meaning: str
    texts: dict[str, str]


def columns(site: Site, suite: str, preset: str, standings: Standings) -> list[VerdictColumn]:
    """Return the columns that have numbers.

    Args:
        site: all results.
        suite: name of the suite.
        preset: label of the preset.
        standings: standings by the leading metric.
    """
    made = [
        _rank(standings),
        _accuracy(site, suite, preset),
        _coverage(site, suite, preset, standings),
        _gap(site, suite, preset),
        _seconds(site, suite, preset, standings),
        _failures(site, suite, preset),
    ]
    return [column for column in made if column]


def _rank(standings: Standings) -> VerdictColumn:
    title = metric(standings.table.metric).title
    texts = {
        row.method: f"{number(row.mean_rank, 1)} ({row.rank_low} to {row.rank_high})" for row in standings.families.rows
    }
    meaning = "Mean rank over data sets among these families, with its confidence set (95 % for all methods together)."
    return VerdictColumn(f"{title} rank", meaning, texts)


def _accuracy(site: Site, suite: str, preset: str) -> VerdictColumn | None:
    """Return the column of RMSE or accuracy against the reference; None without one."""
    measured = set(_of(site.summary[site.summary["n"] > 0], suite, preset)["metric"].unique())
    name = next((name for name in ACCURACY if name in measured), None)
    if name is None:
        return None
    found = site.standings(suite, preset, name)
    if not found.reference:
        return None
    title, over = metric(name).title, counted(len(found.families.datasets), "data set")
    how = "geometric mean of the ratios" if found.unit == "relative" else "mean difference"
    texts = {method: _difference(row, found.unit) for method, row in found.changes.items()}
    meaning = f"{title} against {visible(found.reference)}, {how} over {over}{_where_failed(found)}."
    return VerdictColumn(title, meaning, texts | {found.reference: "0"})


def _where_failed(standings: Standings) -> str:
    """Return an explanation of numbers in brackets, if any difference has one; "" otherwise."""
    failed = any(0 < row.n_compared < row.n_datasets for row in standings.changes.values())
    return " (in brackets: of a method that failed on some)" if failed else ""


def _difference(row: Ranked, unit: str) -> str:
    """Return the difference to the reference, with the number of its data sets where the method failed on some."""
    fewer = f" (over {row.n_compared})" if 0 < row.n_compared < row.n_datasets else ""
    return ranking_numbers.difference(row, unit) + fewer


def _coverage(site: Site, suite: str, preset: str, standings: Standings) -> VerdictColumn | None:
    """Return the column of coverage errors of the ranked methods that have them on all data sets."""
    of_methods = {
        row.method: site.coverage[key]
        for row in standings.families.rows
        if (key := (suite, preset, row.method)) in site.coverage
    }
    measured = {name for part in of_methods.values() for name in part.index}
    names = [name for name in standings.families.datasets if name in measured]
    errors = {
        method: 100 * (part.loc[names] - NOMINAL)
        for method, part in of_methods.items()
        if names and set(names) <= set(part.index)
    }
    if not errors:
        return None
    cells = _of(site.cells, suite, preset, "dataset", "split", "n_train", "n_test")
    cells = without_flagged(cells[cells["dataset"].isin(names)])
    by_chance = np.mean([_by_chance(part) for _, part in cells.groupby("dataset")])
    meaning = (
        "How far the share of test points inside 90 % intervals, mean over splits, is from 90 %, in percentage points, "
        f"mean over {counted(len(names), 'data set')}; in brackets the mean with its sign, below 0 for intervals that "
        f"are too narrow. A calibrated model has about {number(float(by_chance), 1)}."
    )
    texts = {
        method: f"{number(float(error.abs().mean()), 1)} ({difference_in_words(round(float(error.mean()), 1), '', 1)})"
        for method, error in errors.items()
    }
    return VerdictColumn("Coverage error, points", meaning, texts)


def _by_chance(cells: pd.DataFrame) -> float:
    """Return the mean absolute coverage error, in percentage points, of a calibrated model on a data set.

    The splits' test parts hold n different rows at most, and the error of a share of n independent rows is normal with
    the variance c (1 - c) / n for a nominal coverage c, whose mean absolute value is sqrt(2 / pi) standard deviations.
    """
    rows = cells[["n_train", "n_test"]].max()
    n = min(rows.sum(skipna=False), cells["split"].nunique() * rows["n_test"])
    return 100 * sqrt(2 / pi * NOMINAL * (1 - NOMINAL) / n) if n > 0 else nan


def _gap(site: Site, suite: str, preset: str) -> VerdictColumn | None:
    """Return the column of differences on the gap splits of the same data sets and protocol; None without results."""
    elsewhere = next((other for other in site.suites if _has_gaps_of(site, other, suite)), None)
    if elsewhere is None:
        return None
    protocol = site.protocol(suite, preset)
    changed = {label: changes(site.protocol(elsewhere, label), protocol) for label in site.presets(elsewhere)}
    label = next((label for wanted in (BLOCKS, {}) for label in changed if changed[label] == wanted), None)
    if label is None:
        return None
    found = site.standings(elsewhere, label, "nmll")
    if not found.reference:
        return None
    meaning = (
        f"NMLL minus that of {visible(found.reference)} where test points lie in a gap of the training data (suite "
        f"{elsewhere}, preset {label}), in nats: median over splits, mean over "
        f"{counted(len(found.families.datasets), 'data set')}{_where_failed(found)}."
    )
    texts = {method: _difference(row, found.unit) for method, row in found.changes.items()}
    return VerdictColumn(f"In gaps, {found.unit}" if found.unit else "In gaps", meaning, texts | {found.reference: "0"})


def _has_gaps_of(site: Site, other: str, suite: str) -> bool:
    """Return whether a suite has data sets of another one that test in gaps."""
    plain = set(site.cells.loc[site.cells["suite"] == suite, "dataset"])
    splits = map(splits_of, site.cells.loc[site.cells["suite"] == other, "dataset"].unique())
    return any(each.scheme == "gaps" and each.rows_of in plain for each in splits)


def _seconds(site: Site, suite: str, preset: str, standings: Standings) -> VerdictColumn | None:
    """Return the column of times of the ranked methods that have them on all timed data sets."""
    ranked = [row.method for row in standings.families.rows]
    rows = _of(site.summary, suite, preset)
    rows = rows[(rows["metric"] == SECONDS) & (rows["mean"] > 0) & rows["method"].isin(ranked)]
    times = rows.pivot_table("mean", "method", "dataset").dropna()
    if times.empty:
        return None
    cells = _of(site.cells, suite, preset, SECONDS, "host")
    n_hosts = cells.loc[cells[SECONDS].notna(), "host"].nunique()
    meaning = (
        "Seconds of tuning and final fit of a split, with nothing else on the device; mean over "
        f"{counted(times.shape[1], 'data set')}{f', on {n_hosts} machines' if n_hosts > 1 else ''}."
    )
    seconds = {str(name): float(s) for name, s in times.mean(axis=1).items()}
    return VerdictColumn(
        metric(SECONDS).title, meaning, {name: number(s, decimals_for(s)) for name, s in seconds.items()}
    )


def _failures(site: Site, suite: str, preset: str) -> VerdictColumn:
    cells = without_flagged(_of(site.cells, suite, preset, "dataset", "split", "method", "status"))
    counts = (cells["status"] != "ok").groupby(cells["method"]).agg(["sum", "size"])
    texts = {str(name): f"{bad} of {n}" for name, bad, n in counts.itertuples(name=None)}
    return VerdictColumn("Failed", "Cells that failed or diverged.", texts)


def _of(rows: pd.DataFrame, suite: str, preset: str, *columns: str) -> pd.DataFrame:
    """Return the rows of a suite and preset, with the given columns or all."""
    chosen = (rows["suite"] == suite) & (rows["preset"] == preset)
    return rows.loc[chosen, list(columns)] if columns else rows[chosen]
