"""The page of one data set: a table and figures for each suite and preset, and the details behind every number."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.data.details import any_of
from lockstep_bench.leaderboards.data.fingerprints import BOARD
from lockstep_bench.leaderboards.data.frames import DETAILS, records
from lockstep_bench.leaderboards.figures.dots import DotRow, dot_plot
from lockstep_bench.leaderboards.figures.illustrations import illustrations
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.metrics import PARTS, grouped, metric
from lockstep_bench.leaderboards.site import addresses
from lockstep_bench.leaderboards.site.cell_details import CellDetails, Row, cell_details, printed
from lockstep_bench.leaderboards.site.content import Key, Site
from lockstep_bench.leaderboards.site.kept import digest_of, states
from lockstep_bench.leaderboards.site.pages.answers import on_dataset
from lockstep_bench.leaderboards.site.pages.parts import OF_NUMBER, PagePart, Rendered, placed
from lockstep_bench.leaderboards.site.pages.suite import families_of
from lockstep_bench.leaderboards.stats.first_predictions import published_path
from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.leaderboards.stats.summary import Moments
from lockstep_bench.leaderboards.tables.boards import Board
from lockstep_bench.leaderboards.wording.formats import counted, visible
from lockstep_bench.leaderboards.wording.missing_metrics import older_rows
from lockstep_bench.leaderboards.wording.mixtures import mixtures

AXES: dict[str | float | None, str] = {"low": "low is good", "high": "high is good"}
OTHERS = ""  # the name of a part that is about no single method


class DatasetSection(NamedTuple):
    """The section of a data set's page about one suite and preset.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        changes: how a modified preset differs from the original (`Site.changes`).
        board: the tables of all methods.
        dots: dot plots by metric, the leading metric first; empty if no result finished.
        plots: further figures.
        not_shown: sentences on metrics and figures that are missing, and why.
        mixtures: sentences on rows that contradict each other or differ in provenance.
        cells: details behind the numbers, for each method.
        others: rendered tables of all other metrics; None if there are none, or before rendering.
        details: `cells`, rendered.
        where: for each method, the continuation page that has its details; "" for this page.
    """

    suite: str
    preset: str
    changes: str
    board: Board
    dots: dict[str, Plot]
    plots: list[Plot]
    not_shown: list[str]
    mixtures: list[str]
    cells: list[CellDetails]
    others: PagePart | None = None
    details: Sequence[PagePart] = ()
    where: Mapping[str, str] = MappingProxyType({})

    @property
    def all_parts(self) -> list[PagePart]:
        """The rendered parts, in the order of the page."""
        return [*([self.others] if self.others else []), *self.details]


class Facts(NamedTuple):
    """The registry's description of a data set, as printed."""

    title: str
    size: str
    origin: str
    licence: str
    notes: tuple[str, ...]


def context(site: Site, dataset: str) -> dict[str, Any]:
    """Return the variables of the template `dataset.html`."""
    sections = [section(site, key, made) for key, made in site.boards.items() if key[1] == dataset]
    titles = {name: shown.title for part in sections for name, shown in part.board.headline.items()}
    first = sections[0] if sections else None
    title = facts(dataset).title
    return {
        "dataset": dataset,
        "facts": facts(dataset),
        "sections": sections,
        "counterpart": counterpart(dataset, site.datasets),
        "n_cells": int((site.cells["dataset"] == dataset).sum()),
        "answer": on_dataset(site, first.board, first.suite, first.preset, title) if first else "",
        "preset_options": [(preset, preset) for preset in dict.fromkeys(part.preset for part in sections)],
        "metric_options": list(titles.items()),
        "families": families_of(site, {cell.method for part in sections for cell in part.cells}),
        "sources": _cited(site, sections),
    }


def counterpart(dataset: str, datasets: Sequence[str]) -> str:
    """Return which of `datasets` has the same rows as a data set, in other splits; "" for none."""
    return next(
        (name for name in datasets if dataset == splits_of(name).rows_of or name == splits_of(dataset).rows_of), ""
    )


def _cited(site: Site, sections: Sequence[DatasetSection]) -> list[tuple[int, str, str, str]]:
    """Return the sources that the tables of a page cite, each with its number, table and note."""
    boards = [part.board for part in sections]
    cells = [cell for made in boards for row in made.rows if row.published for cell in row.cells.values()]
    numbers = {n for cell in cells for n in cell.sources} | {one.source for made in boards for one in made.unmatched}
    return [(number, *site.sources.entries[number - 1]) for number in sorted(numbers)]


def section(site: Site, key: Key, made: Board) -> DatasetSection:
    """Return the section of one board (suite, data set and preset)."""
    suite, dataset, preset = key
    cells, rows = site.cells_of[key], site.rows_on_board(key)
    order, names = [row.method for row in made.rows if not row.published], list(made.headline)
    detailed = [part for name in names for part in PARTS.get(name, (name,))]
    flagged = splits_of(dataset).flagged
    original, worst = site.original(suite, preset), worst_splits(site, key, names)
    plots, missing_figures = illustrations(cells, order, "plot" + "".join(c for c in preset if c.isalnum()))
    return DatasetSection(
        suite,
        preset,
        site.changes(suite, preset),
        made,
        dots(site, key, made),
        plots,
        [*filter(None, [older_rows(cells)]), *missing_figures],
        mixtures_of(site, key),
        [_details(site, key, rows[method], detailed, flagged, original, worst.get(method, {})) for method in order],
    )


def depends_on(site: Site, dataset: str, shared: Mapping[str, object]) -> str:
    """Return a digest of everything that the pages of a data set are made of, besides the code; "" if it is not known.

    Args:
        site: all results.
        dataset: name of the data set.
        shared: variables that the templates of all pages get.
    """
    boards = {key: made for key, made in site.boards.items() if key[1] == dataset}
    longer = site.results.longer
    longer = longer[longer["dataset"] == dataset]
    cells = site.folders[site.folders["dataset"] == dataset]
    if any_of("bands", cells):
        return ""  # the figure also has the training points
    beside = [
        place
        for folder, suite in dict.fromkeys(cells[["folder", "suite"]].itertuples(index=False, name=None))
        for place in (
            *(Path(folder) / table / suite / dataset for table in (*DETAILS, "predictions")),
            published_path(Path(folder), suite, dataset),
        )
    ]
    return digest_of(
        shared,
        facts(dataset),
        splits_of(dataset),
        counterpart(dataset, site.datasets),
        site.row_digests["dataset"][dataset],
        [
            (key, made.sentence, site.original(key[0], key[2]), site.changes(key[0], key[2]))
            for key, made in boards.items()
        ],
        [site.card(method) for method in sorted({row.method for made in boards.values() for row in made.rows})],
        site.sources.entries,
        pd.util.hash_pandas_object(longer, index=False).to_numpy().tobytes() if len(longer) else b"",
        [choice for choice in site.results.choices if choice.dataset == dataset],
        states(beside),
    )


def with_parts(dataset: str, sections: Sequence[DatasetSection], rendered: Rendered) -> list[DatasetSection]:
    """Return the sections with their parts rendered, and assigned to this page or to continuation pages.

    Args:
        dataset: name of the data set.
        sections: results of `section`.
        rendered: macros of `parts.html`.
    """
    page, parts, rest = addresses.dataset_page(dataset), [], 0
    for made in sections:
        rest += OF_NUMBER * len(made.board.rows) * len(made.board.headline)
        key, board = (made.suite, made.preset), made.board
        usual = board.n_splits()
        if board.others:
            tables = rendered("others", *key, board, grouped(board.others), dataset, page)
            parts.append(PagePart(*key, OTHERS, tables))
        parts += [PagePart(*key, cell.method, rendered("details", *key, cell, usual)) for cell in made.cells]
    by_section = {
        key: list(some) for key, some in groupby(placed(page, parts, rest), lambda part: (part.suite, part.preset))
    }
    return [_with_parts(made, by_section.get((made.suite, made.preset), [])) for made in sections]


def _with_parts(made: DatasetSection, parts: Sequence[PagePart]) -> DatasetSection:
    others = next((part for part in parts if part.name == OTHERS), None)
    details = [part for part in parts if part.name != OTHERS]
    return made._replace(others=others, details=details, where={part.name: part.page for part in details})


def _details(
    site: Site,
    key: Key,
    rows: list[Row],
    names: list[str],
    flagged: Mapping[int, str],
    original: str | None,
    worst: dict[str, str],
) -> CellDetails:
    suite, dataset, label = key
    method = rows[0]["method"]
    hashes = dict.fromkeys(row["protocol_hash"] for row in rows)
    keys = [(suite, dataset, method, label.partition("@")[0], protocol_hash) for protocol_hash in hashes]
    longer = [training for key_of_longer in keys for training in site.longer_of.get(key_of_longer, [])]
    details = cell_details(rows, names, flagged, original, longer)
    return details._replace(facts=details.facts | worst)


def worst_splits(site: Site, key: Key, names: list[str]) -> dict[str, dict[str, str]]:
    """Return for each method a fact {"Worst splits": text}, if its values are medians over splits; else {}."""
    rows = site.summary_of[key]
    rows = rows[rows["by_median"] & (rows["worst_split"] >= 0)]
    by_metric: dict[str, dict[str, str]] = {}
    for row in records(rows, Moments):
        said = f"{metric(row.metric).title} {printed(row.worst)} on {row.worst_split}"
        by_metric.setdefault(row.method, {})[row.metric] = said
    worst = {method: [said[name] for name in names if name in said] for method, said in by_metric.items()}
    return {method: {"Worst splits": ", ".join(parts)} for method, parts in worst.items() if parts}


def mixtures_of(site: Site, key: Key) -> list[str]:
    """Return the sentences of `wording.mixtures` about one board."""
    suite, dataset, label = key
    cells = site.cells_of[key]
    board = {(suite, dataset, label.partition("@")[0], protocol) for protocol in cells["protocol_hash"]}
    choices = [choice for choice in site.results.choices if choice[: len(BOARD)] in board]
    return [f"{mixture.text}." for mixture in mixtures(cells, choices)]


def dots(site: Site, key: Key, made: Board) -> dict[str, Plot]:
    """Return a dot plot for each metric, the leading metric first; only the leading metric's shows single splits.

    There is none if no cell has finished.
    """
    directed = [name for name, shown in made.headline.items() if name != made.lead and shown.goal in AXES]
    splits = site.splits_on(key)
    if splits.empty:
        return {}
    rows = site.summary_of[key], splits, site.published_of(key)
    return {name: _dots(*rows, made, name) for name in (made.lead, *directed)}


def _dots(summary: pd.DataFrame, splits: pd.DataFrame, published: pd.DataFrame, made: Board, name: str) -> Plot:
    """Return the figure of one metric, with methods in the board's order."""
    of_metric = summary[summary["metric"] == name]
    means = {row.method: (row.typical, np.nan if row.by_median else row.stderr) for row in records(of_metric, Moments)}
    if name == made.lead:
        values = splits[splits["metric"] == name].groupby("method")["value"].agg(list).to_dict()
    else:
        values = {method: [mean] for method, (mean, _) in means.items()}
    statistic = "median" if made.by_median else "mean"
    published = published[(published["metric"] == name) & (published["statistic"] == statistic)]
    reported: dict[str, list[tuple[float, float]]] = {}
    for method, value, stderr in published[["method", "value", "stderr"]].itertuples(index=False, name=None):
        reported.setdefault(method, []).append((value, stderr))
    n_splits = {row.method: row.n for row in made.rows if not row.published}
    rows = []
    for method in dict.fromkeys(row.method for row in made.rows):
        if method in values or method in reported:
            mean, stderr = means.get(method, (np.nan, np.nan))
            label = visible(method)
            if method in made.fewer:
                label += f", {counted(n_splits[method], 'split')}"
            rows.append(DotRow(label, values.get(method, []), mean, stderr, reported.get(method, [])))
    spoken = [
        f"{visible(row.method)} {cell.value}" + ("" if made.by_median else f" ± {cell.stderr or 'unknown'}")
        for row in made.rows
        if not row.published and (cell := row.cells[name]).value
    ]
    shown = metric(name)
    unit = ", nats" if name == "nmll" else ""
    axis = f"{shown.title}{unit} ({AXES[shown.goal]})"
    measured = "median over splits" if made.by_median else "mean ± standard error"
    caption = "" if name == made.lead else f"{shown.title}, {measured}{'; hollow: published' if reported else ''}."
    return Plot(dot_plot(rows, axis), f"{shown.title} by method: " + ", ".join(spoken), caption)


def facts(dataset: str) -> Facts:
    """Return the registry's description of a data set; only its name if it is not registered."""
    try:
        from lockstep_bench import datasets

        entry = datasets.entry(dataset)
        size = [f"{entry.n_rows} rows", counted(entry.n_features, "feature")]
        if entry.n_classes:
            size.append(f"{entry.n_classes} classes")
        if entry.n_ood:
            size.append(f"{entry.n_ood} out-of-distribution rows")
        origin, licence = str(getattr(entry, "origin", "")), str(getattr(entry, "licence", ""))
        notes = (*map(str, entry.notes), *entry.flags_in_words)
        return Facts(str(entry.title), ", ".join(size), origin, licence, notes)
    except Exception:  # a plug-in may raise anything, and a page of numbers must not depend on it
        return Facts(dataset, "", "", "", ())
