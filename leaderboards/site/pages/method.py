"""The page of one method: what it is, and how it fared on every data set."""

import json
from math import isnan
from statistics import median
from typing import NamedTuple

import pandas as pd

from leaderboards.figures.dots import DotRow, dot_plot
from leaderboards.figures.plots import Plot
from leaderboards.figures.sparks import Panel, grid
from leaderboards.metrics import HEADLINE, Metric, metric
from leaderboards.site import cell_details
from leaderboards.site.content import Site, place_of
from leaderboards.site.measured import RUNTIME, Measured, measured
from leaderboards.site.pages.suite import leading
from leaderboards.site.standings import Standings, change_in_words
from leaderboards.site.studies import Tuning, tuning
from leaderboards.tables.boards import Row
from leaderboards.wording.formats import visible
from leaderboards.wording.formulas import formula

MOST_STUDIES = 150  # that a site reads of one suite and preset: each takes a hundredth of a second
SIGNS = {"low": 1.0, "high": -1.0}  # of the reference's value less the method's, where that is an improvement


class Section(NamedTuple):
    """One suite and preset: the method's row of each data set's table."""

    suite: str
    preset: str
    columns: dict[str, Metric]
    rows: list[tuple[str, Row]]  # (data set, its row)
    hparams: dict[str, list[tuple[str, str, str, str]]]  # name -> (data set, chosen values, range, importance)
    measured: Measured
    plot: Plot | None
    tuned: Plot | None


def context(site: Site, method: str) -> dict:
    """What the template `method.html` shows."""
    card = site.card(method)
    keys = [key for key, rows in site.rows_of.items() if method in rows]
    places = sorted({(suite, preset) for suite, _, preset in keys}, key=lambda place: (place[0], place_of(place[1])))
    sections = [section(site, method, *place) for place in places]
    return {
        "method": method,
        "about": card,
        "formula": formula(card.objective) if card.objective else "",
        "sections": sections,
        "preset_options": [(preset, preset) for preset in dict.fromkeys(one.preset for one in sections)],
        "metric_options": list({name: of.title for one in sections for name, of in one.columns.items()}.items()),
        "failures": [one for one in site.failures if one.method == method],
        "relatives": [
            one for one in site.methods if one != method and card.family and site.card(one).family == card.family
        ],
    }


def section(site: Site, method: str, suite: str, preset: str) -> Section:
    """The section of one suite and preset."""
    rows = []
    for key, made in site.boards.items():
        if (key[0], key[2]) == (suite, preset):
            rows += [(made.dataset, row) for row in made.rows if row.method == method and not row.published]
    having = {name for _, row in rows for name, cell in row.cells.items() if cell.value}
    cells = {dataset: site.rows_of[suite, dataset, preset][method] for dataset, _ in rows}
    lead = leading([made for key, made in site.boards.items() if (key[0], key[2]) == (suite, preset)])
    studies = tunings(cells, MOST_STUDIES // len(site.methods))
    by_metric = {name: site.standings(suite, preset, name) for name in (lead, RUNTIME)}
    return Section(
        suite,
        preset,
        {name: metric(name) for name in HEADLINE if name in having},
        rows,
        chosen(cells, studies),
        measured(
            method,
            lead,
            by_metric,
            site.coverage.get((suite, preset, method), pd.Series(dtype=float)),
            [row["status"] for some in cells.values() for row in some],
        ),
        differences(site, suite, preset, method, by_metric[lead]),
        curves(studies),
    )


def tunings(cells: dict[str, list[cell_details.Row]], most: int) -> dict[str, Tuning]:
    """The study of the first split of each data set, of `most` data sets (one at least) that have one."""
    found: dict[str, Tuning] = {}
    for dataset, rows in cells.items():
        if len(found) < max(most, 1) and (one := tuning(rows[0])):
            found[dataset] = one
    return found


def curves(studies: dict[str, Tuning]) -> Plot | None:
    """How the best objective so far fell with the trials; None without a study."""
    if not studies:
        return None
    panels, spoken = [], []
    for dataset, study in studies.items():
        first, last = study.best[0], study.best[-1]
        span = (first - last) or 1.0
        steps = len(study.best) - 1
        line = [(place / steps, (value - last) / span) for place, value in enumerate(study.best)]
        panels.append(
            Panel(visible(dataset), f"{cell_details.printed(first)} to {cell_details.printed(last)}", line, [])
        )
        spoken.append(f"{visible(dataset)} from {cell_details.printed(first)} to {cell_details.printed(last)}")
    return Plot(
        grid(panels, [(0.0, 0.0), (1.0, 0.0)]),
        "Best validation objective over the trials: " + ", ".join(spoken),
        "Tuning, first split: the best validation objective so far against the number of trials, from the first "
        "trial's (top) to the last's (bottom). A line that still falls at its right end wanted more trials.",
    )


def differences(site: Site, suite: str, preset: str, method: str, standings: Standings) -> Plot | None:
    """The method against the reference on each data set, split by split; only of differences, not of ratios."""
    against = standings.against
    if against is None or method == against.reference or against.unit == "times" or standings.table.goal not in SIGNS:
        return None
    table = standings.table
    pair = table.observed.loc[table.considered, [against.reference, method]].dropna()
    own = against.by_dataset[against.by_dataset["method"] == method].set_index("dataset")
    sign = SIGNS[table.goal]
    lines = []
    for dataset, part in pair.groupby(level="dataset"):
        values = (sign * (part[against.reference] - part[method])).tolist()
        lines.append(DotRow(visible(dataset), values, own.loc[dataset, "improvement"], own.loc[dataset, "stderr"], []))
    if not lines:
        return None
    lines.sort(key=lambda line: (isnan(line.mean), -line.mean))
    title, unit = metric(table.metric).title, f", {against.unit}" if against.unit else ""
    spoken = ", ".join(f"{line.label} {change_in_words(line.mean, against.unit)}" for line in lines)
    return Plot(
        dot_plot(lines, f"improvement in {title} over {against.reference}{unit} (above 0 is better)", zero=True),
        f"Improvement in {title} over {against.reference} by data set: {spoken}",
        f"Improvement over {against.reference} on each data set: mean ± standard error of the paired differences, "
        "single splits faint; arrows point to what is off the scale.",
    )


def chosen(
    cells: dict[str, list[cell_details.Row]], studies: dict[str, Tuning]
) -> dict[str, list[tuple[str, str, str, str]]]:
    """What tuning chose, by hyper-parameter and data set: median (lowest to highest), its range, its importance."""
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    for dataset, rows in cells.items():
        settings = [cell_details.as_object(row["hparams"]) for row in rows]
        spaces = [cell_details.as_object(text) for text in dict.fromkeys(row["search_space"] for row in rows)]
        for name in dict.fromkeys(name for one in settings for name in one):
            values = [one[name] for one in settings if name in one]
            ranges = dict.fromkeys(_range(space[name]) for space in spaces if name in space)
            importance = studies[dataset].importances.get(name) if dataset in studies else None
            share = "" if importance is None else f"{100 * importance:.0f} %"
            found.setdefault(name, []).append((dataset, _in_words(values), "; ".join(ranges), share))
    return found


def _in_words(values: list) -> str:
    if not all(isinstance(value, int | float) for value in values):
        return ", ".join(sorted(set(map(str, values))))
    low, middle, high = (cell_details.printed(float(v)) for v in (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _range(distribution: object) -> str:
    """An Optuna distribution, as a row has it in JSON, in words."""
    if isinstance(distribution, str):
        distribution = cell_details.as_object(distribution)
    attributes = distribution.get("attributes", {}) if isinstance(distribution, dict) else {}
    if "choices" in attributes:
        return "one of " + ", ".join(map(str, attributes["choices"]))
    if {"low", "high"} <= attributes.keys():
        scale = ", log scale" if attributes.get("log") else ""
        return f"{attributes['low']:g} to {attributes['high']:g}{scale}"
    return json.dumps(distribution)
