"""The page of one method: its description, and its results on every data set."""

import json
import os
from collections.abc import Mapping
from math import isnan
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.data.frames import as_object
from lockstep_bench.leaderboards.figures.dots import DotRow, dot_plot
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.figures.sparks import Panel, grid
from lockstep_bench.leaderboards.metrics import HEADLINE_OF_MEDIANS, Metric, metric
from lockstep_bench.leaderboards.site import cell_details
from lockstep_bench.leaderboards.site.content import Key, Site
from lockstep_bench.leaderboards.site.costs import Cost, cost
from lockstep_bench.leaderboards.site.kept import digest_of, packed
from lockstep_bench.leaderboards.site.pages.compare import rivals
from lockstep_bench.leaderboards.site.pages.suite import boards_of, leading
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.site.strengths import RUNTIME, Measured, measured
from lockstep_bench.leaderboards.site.studies import Tuning, training, tuning
from lockstep_bench.leaderboards.stats.remarks import legend
from lockstep_bench.leaderboards.tables.boards import BoardRow
from lockstep_bench.leaderboards.wording.formats import difference_in_words, visible
from lockstep_bench.leaderboards.wording.formulas import formula

NO_COVERAGE = pd.Series(dtype=float)
MOST_STUDIES = 150  # read per suite and preset: each takes a hundredth of a second


class MethodSection(NamedTuple):
    """The section of a method's page with its results in one suite and preset.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        columns: metrics of the table, by name.
        rows: the method's row of each data set's board, by data set.
        hparams: for each hyper-parameter, tuples (data set, chosen values, search range, importance).
        measured: sentences on strengths and weaknesses.
        cost: seconds of tuning and final fit; None if no cell has a time.
        plot: figure of the differences to the reference method, by data set; None if there are none.
        tuning_curves: figure of the best objective so far against the number of trials; None without studies.
        training_curves: a figure for each diagnostic that the method records during training.
        legend: explanations of the signs beside numbers.
    """

    suite: str
    preset: str
    columns: dict[str, Metric]
    rows: list[tuple[str, BoardRow]]
    hparams: dict[str, list[tuple[str, str, str, str]]]
    measured: Measured
    cost: Cost | None
    plot: Plot | None
    tuning_curves: Plot | None
    training_curves: list[Plot]
    legend: list[str]


def context(site: Site, method: str) -> dict[str, Any]:
    """Return the variables of the template `method.html`."""
    card = site.card(method)
    rows_of = site.rows_of_method(method)
    sections = [section(site, method, *pair, rows_of) for pair in pairs_of(site, method)]
    titles = {name: shown.title for part in sections for name, shown in part.columns.items()}
    return {
        "method": method,
        "about": card,
        "formula": formula(card.objective) if card.objective else "",
        "sections": sections,
        "preset_options": [(preset, preset) for preset in dict.fromkeys(part.preset for part in sections)],
        "metric_options": list(titles.items()),
        "failures": [failure for failure in site.failures if failure.method == method],
        "rivals": rivals(site, method),
        "relatives": relatives(site, method),
    }


def depends_on(site: Site, method: str, shared: Mapping[str, object]) -> str:
    """Return a digest of everything that the page of a method is made of, besides the code; "" if it is not known.

    Args:
        site: all results.
        method: name of the method.
        shared: variables that the templates of all pages get.
    """
    tables = [folder / table for folder in site.results.folders for table in ("studies", "training")]
    if any(map(os.path.isdir, tables)):
        return ""  # files of single cells, of which the page has curves
    parts, digests = [], site.row_digests["method"]
    for suite, preset in pairs_of(site, method):
        boards = boards_of(site, suite, preset)
        lead, coverage = leading(boards), site.coverage.get((suite, preset, method), NO_COVERAGE)
        of_metrics = []
        for name in (lead, RUNTIME):
            found = site.standings(suite, preset, name)
            standing, places = found.by_method.get(method), found.places.get(method)
            shown = standing and standing._replace(n_best=0, wins=0.0)  # which the page does not show
            others = len(found.by_method), len(found.families.rows), found.tested, found.reference
            compared = [(name in found.table.methods, digests.get(name)) for name in (method, found.reference)]
            of_metrics.append((shown, places, others, compared))
        headline = sorted({name for made in boards for name in made.headline})
        rows = [
            (
                dataset,
                row.n,
                row.n_failed,
                [(name, row.numbers[name].shown) for name in headline if name in row.numbers],
            )
            for dataset, row in site.measured_of[suite, preset, method]
        ]
        parts.append((suite, preset, lead, headline, of_metrics, coverage.to_dict(), site.changes(suite, preset), rows))
    return digest_of(
        shared, site.card(method), relatives(site, method), rivals(site, method), digests[method], packed(parts)
    )


def pairs_of(site: Site, method: str) -> list[tuple[str, str]]:
    """Return the pairs (suite, preset) with results of a method, in the order of its page."""
    pairs = [(suite, preset) for suite, preset, name in site.measured_of if name == method]
    return sorted(pairs, key=lambda pair: (site.suites.index(pair[0]), *site.preset_order(*pair)))


def relatives(site: Site, method: str) -> list[str]:
    """Return the other methods of a method's family."""
    return [other for other in site.families.get(site.card(method).family, []) if other != method]


def section(
    site: Site, method: str, suite: str, preset: str, rows_of: dict[Key, list[cell_details.Row]]
) -> MethodSection:
    """Return the section of one suite and preset; `rows_of` is the result of `Site.rows_of_method`."""
    boards = [made for key, made in site.boards.items() if (key[0], key[2]) == (suite, preset)]
    rows = site.measured_of[suite, preset, method]
    headline = {name for made in boards for name in made.headline}
    having = {name for name in headline if any(name in row.cells and row.cells[name].value for _, row in rows)}
    columns = [name for name in HEADLINE_OF_MEDIANS if name in having]
    cells = {dataset: rows_of[suite, dataset, preset] for dataset, _ in rows}
    lead = leading(boards)
    studies = tunings(cells, MOST_STUDIES // len(site.methods))
    by_metric = {name: site.standings(suite, preset, name) for name in (lead, RUNTIME)}
    return MethodSection(
        suite,
        preset,
        {name: metric(name) for name in columns},
        rows,
        chosen(cells, studies),
        measured(
            method,
            lead,
            by_metric,
            site.coverage.get((suite, preset, method), NO_COVERAGE),
            [row["status"] for cell_rows in cells.values() for row in cell_rows],
        ),
        cost(site, suite, preset, method),
        differences(site, suite, preset, method, by_metric[lead]),
        curves(studies),
        training_curves(cells),
        legend(row.cells[name].remark for _, row in rows for name in columns if name in row.cells),
    )


def tunings(cells: dict[str, list[cell_details.Row]], most: int) -> dict[str, Tuning]:
    """Return the tuning of the first split of each data set, for at most `most` data sets (but at least one)."""
    studies: dict[str, Tuning] = {}
    for dataset, rows in cells.items():
        if len(studies) < max(most, 1) and (study := tuning(rows[0])):
            studies[dataset] = study
    return studies


def curves(studies: dict[str, Tuning]) -> Plot | None:
    """Return the figure of the best objective so far against the number of trials; None without studies."""
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
        "trial's (top) to the last's (bottom). A line that still falls at its right end needed more trials.",
    )


def training_curves(cells: dict[str, list[cell_details.Row]]) -> list[Plot]:
    """Return a figure for each recorded diagnostic, such as the ELBO, against the update number of the final fit.

    The first split of each data set is shown. The vertical axis covers the middle 90 % of the recorded values, so that
    the first updates do not compress all others.
    """
    panels: dict[str, list[Panel]] = {}
    for dataset, rows in cells.items():
        for name, points in training(rows[0]).items():
            updates, values = np.array(points).T
            low, high = np.quantile(values, [0.05, 0.95])
            heights = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
            line = list(zip((updates / updates[-1]).tolist(), heights.tolist(), strict=True))
            span = f"{cell_details.printed(values[0])} to {cell_details.printed(values[-1])}"
            panels.setdefault(name, []).append(Panel(visible(dataset), span, line, []))
    return [
        Plot(
            grid(drawn),
            f"{visible(name)} along training: " + ", ".join(f"{panel.title} from {panel.note}" for panel in drawn),
            f"Training, first split: {visible(name)} against the updates of the final fit, with the values at the "
            "first and the last recorded update. The highest and the lowest 5 % of the values are cut.",
        )
        for name, drawn in panels.items()
    ]


def differences(site: Site, suite: str, preset: str, method: str, standings: Standings) -> Plot | None:
    """Return the figure of differences to the reference method by data set; None for metrics compared by ratio.

    There is no figure of a single difference either.
    """
    reference, table, unit = standings.reference, standings.table, standings.unit
    if (
        method == reference
        or not {method, reference} <= set(table.methods)
        or unit == "relative"
        or isinstance(table.goal, float)
    ):
        return None
    by_split = (table.observed[method] - table.observed[reference]).dropna()
    values: dict[str, list[float]] = {}
    for dataset, value in zip(by_split.index.get_level_values("dataset"), by_split.tolist(), strict=True):
        values.setdefault(dataset, []).append(value)
    lines = [
        DotRow(visible(dataset), values[dataset], row.difference, (row.high - row.low) / 2, [])
        for dataset, row in standings.places.get(method, {}).items()
        if not isnan(row.difference)
    ]
    if sum(len(line.values) for line in lines) < 2:
        return None
    lines.sort(key=lambda line: line.mean, reverse=table.goal == "high")
    title, in_unit = metric(table.metric).title, f", {unit}" if unit else ""
    spoken = ", ".join(f"{line.label} {difference_in_words(line.mean, unit)}" for line in lines)
    shown = (
        "mean with its 95 % interval, which allows for the rows that splits share, and single splits as faint dots"
        if any(len(line.values) > 1 for line in lines)
        else "one split"
    )
    plot = Plot(
        dot_plot(lines, f"{title} against {reference}{in_unit}", zero=True),
        f"Difference in {title} to {reference} by data set: {spoken}",
        f"{title} minus that of {reference} on each data set ({standings.better}): {shown}.",
    )
    return plot._replace(caption=f"{plot.caption} Arrows mark values off the scale.") if plot.has_arrows else plot


def chosen(
    cells: dict[str, list[cell_details.Row]], studies: dict[str, Tuning]
) -> dict[str, list[tuple[str, str, str, str]]]:
    """Return for each hyper-parameter the tuples (data set, chosen values, search range, importance), as texts."""
    by_name: dict[str, list[tuple[str, str, str, str]]] = {}
    for dataset, rows in cells.items():
        settings = [as_object(row["hparams"]) for row in rows]
        spaces = [as_object(text) for text in dict.fromkeys(row["search_space"] for row in rows)]
        for name in dict.fromkeys(name for setting in settings for name in setting):
            values = [setting[name] for setting in settings if name in setting]
            ranges = dict.fromkeys(_range(space[name]) for space in spaces if name in space)
            importance = studies[dataset].importances.get(name) if dataset in studies else None
            share = "" if importance is None else f"{100 * importance:.0f} %"
            by_name.setdefault(name, []).append((dataset, _in_words(values), "; ".join(ranges), share))
    return by_name


def _in_words(values: list[Any]) -> str:
    if not all(isinstance(value, int | float) for value in values):
        return ", ".join(sorted(set(map(str, values))))
    low, middle, high = (cell_details.printed(float(v)) for v in (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _range(distribution: Any) -> str:
    """Return an Optuna distribution, given as JSON, in words."""
    if isinstance(distribution, str):
        distribution = as_object(distribution)
    try:
        attributes = distribution["attributes"]
        if "choices" in attributes:
            return "one of " + ", ".join(map(str, attributes["choices"]))
        scale = ", log scale" if attributes.get("log") else ""
        return f"{attributes['low']:g} to {attributes['high']:g}{scale}"
    except (AttributeError, LookupError, TypeError, ValueError):
        return json.dumps(distribution)
