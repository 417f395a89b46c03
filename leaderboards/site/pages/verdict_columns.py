"""Columns of the table with which the index begins: each has a heading, and a text for each method."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards.metrics import metric
from leaderboards.site.content import Site
from leaderboards.site.standings import Standings
from leaderboards.tables import places
from leaderboards.wording.formats import counted, decimals_for, number, visible

NOMINAL = 0.9
ACCURACY = ("rmse", "accuracy")  # shown beside the leading metric, the first that was measured
SECONDS = "fit_seconds"
GAP, BLOCKS = "-gap", "-blocks"  # endings of the suite with gaps, and of the preset whose folds are blocks


class Column(NamedTuple):
    """A column.

    Attributes:
        title: its heading.
        meaning: one sentence.
        texts: by method what is printed; methods without a number are left out.
    """

    title: str
    meaning: str
    texts: dict[str, str]


def columns(site: Site, suite: str, preset: str, standings: Standings) -> list[Column]:
    """Return the columns for which there are numbers.

    Args:
        site: all results.
        suite: name of the suite.
        preset: label of the preset.
        standings: by the leading metric.
    """
    made = [
        _rank(standings),
        _accuracy(site, suite, preset),
        _coverage(site, suite, preset),
        _gap(site, suite, preset),
        _seconds(site, suite, preset),
        _failures(site, suite, preset),
    ]
    return [column for column in made if column]


def _rank(standings: Standings) -> Column:
    title = metric(standings.table.metric).title
    texts = {
        row.method: f"{number(row.mean_rank, 1)} ({row.rank_low} to {row.rank_high})" for row in standings.families.rows
    }
    meaning = "Mean rank over data sets among these families, with the ranks that the results leave open."
    return Column(f"{title} rank", meaning, texts)


def _accuracy(site: Site, suite: str, preset: str) -> Column | None:
    """Return the column of RMSE or accuracy, relative to the reference where there is one."""
    measured = set(_of(site.splits, suite, preset)["metric"])
    name = next((name for name in ACCURACY if name in measured), None)
    if name is None:
        return None
    found = site.standings(suite, preset, name)
    if not found.reference:
        return None
    texts = {row.method: places.difference(row, found.unit) for row in found.variants.rows}
    over = counted(len(found.variants.datasets), "data set")
    meaning = f"{metric(name).title} less that of {visible(found.reference)}, mean over {over}."
    return Column(metric(name).title, meaning, texts | {found.reference: "0"})


def _coverage(site: Site, suite: str, preset: str) -> Column | None:
    """Return the column of coverage errors."""
    of_methods = {key[2]: part for key, part in site.coverage.items() if key[:2] == (suite, preset)}
    if not of_methods:
        return None
    most = max(map(len, of_methods.values()))
    everywhere = {name: part for name, part in of_methods.items() if len(part) == most}
    errors = {name: 100 * float(np.abs(part - NOMINAL).mean()) for name, part in everywhere.items()}
    meaning = (
        "How far the share of test points inside 90 % intervals is from 90 %, in percentage points; mean over "
        f"{counted(most, 'data set')}."
    )
    return Column("Coverage error", meaning, {name: number(error, 1) for name, error in errors.items()})


def _gap(site: Site, suite: str, preset: str) -> Column | None:
    """Return the column of differences in the suite whose test points lie in gaps."""
    elsewhere = suite + GAP
    wanted = (preset + BLOCKS, preset)
    label = next((name for name in wanted if elsewhere in site.suites and name in site.presets(elsewhere)), None)
    if label is None:
        return None
    found = site.standings(elsewhere, label, "nmll")
    if not found.reference:
        return None
    meaning = (
        f"NMLL less that of {visible(found.reference)} where test points lie in a gap of the training data (suite "
        f"{elsewhere}, preset {label}), in nats: median over splits, mean over "
        f"{counted(len(found.variants.datasets), 'data set')}."
    )
    texts = {row.method: places.difference(row, found.unit) for row in found.variants.rows}
    return Column("In gaps", meaning, texts | {found.reference: "0"})


def _seconds(site: Site, suite: str, preset: str) -> Column | None:
    """Return the column of times."""
    rows = _of(site.summary, suite, preset)
    rows = rows[(rows["metric"] == SECONDS) & (rows["mean"] > 0)]
    if rows.empty:
        return None
    times = rows.pivot_table("mean", "method", "dataset").dropna()
    seconds = {str(name): float(s) for name, s in np.exp(np.log(times).mean(axis=1)).items()}
    meaning = (
        "Seconds of a final fit on a device that did nothing else, geometric mean over "
        f"{counted(times.shape[1], 'data set')}."
    )
    return Column("Fit, s", meaning, {name: number(s, decimals_for(s)) for name, s in seconds.items()})


def _failures(site: Site, suite: str, preset: str) -> Column:
    cells = _of(site.cells, suite, preset)
    counts = cells.assign(bad=cells["status"] != "ok").groupby("method")["bad"].agg(["sum", "size"])
    texts = {str(name): f"{bad} of {n}" for name, bad, n in counts.itertuples(name=None)}
    return Column("Failed", "Cells that failed or diverged.", texts)


def _of(rows: pd.DataFrame, suite: str, preset: str) -> pd.DataFrame:
    return rows[(rows["suite"] == suite) & (rows["preset"] == preset)]
