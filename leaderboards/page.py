"""The page: one self-contained HTML file, the same bytes for the same results."""

import os
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leaderboards import ran
from leaderboards.boards import Board, Cell, Row, Sources, board
from leaderboards.figures import DotRow, dot_plot
from leaderboards.formats import counted, prose, visible
from leaderboards.illustrations import Plot, illustrations
from leaderboards.metrics import metric
from leaderboards.published import read_published
from leaderboards.results import Results, read_results
from leaderboards.summary import BOARD, mixtures, per_split, summarise, with_labelled_presets
from leaderboards.ties import standings


class Section(NamedTuple):
    """One data set: facts from its registry entry, and a board with its figures per preset."""

    anchor: str
    suite: str
    name: str
    title: str
    size: str
    notes: tuple[str, ...]
    boards: list[tuple[Board, list[Plot]]]


Column = tuple[Section, dict[str, tuple[Cell, str]]]  # a data set; by method its cell, and what it lacks ("2 failed")


class Overview(NamedTuple):
    """The leading metric of all methods (rows) on all data sets (columns) of one suite and preset that share it."""

    suite: str
    preset: str
    title: str  # of the metric
    methods: list[str]
    columns: list[Column]
    wins: dict[str, int]  # data sets where the method is best or tied
    n_told: int  # data sets where that could be tested


def write_page(results: Path, html: Path) -> Path:
    """Write `html`/index.html, at once or not at all, and return its path."""
    page = html / "index.html"
    html.mkdir(parents=True, exist_ok=True)
    temporary = page.with_name(f".{page.name}.{os.getpid()}.tmp")
    temporary.write_text(render(read_results(results)), encoding="utf-8", newline="\n")
    os.replace(temporary, page)
    return page


def render(results: Results) -> str:
    """The HTML of `results`."""
    cells = with_labelled_presets(results.cells)
    sources = Sources()
    sections = _sections(results.folder, cells, sources)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "prose": prose, "counted": counted}
    return environment.get_template("page.html").render(
        results=results,
        contents=ran.cells_in_words(cells),
        runs=ran.runs(cells),
        provenance=None if cells.empty else ran.provenance(cells),
        mixtures=mixtures(cells),
        overviews=_overviews(sections),
        sections=sections,
        suites=set(cells["suite"]),
        metrics={name for section in sections for made, _ in section.boards for name in made.headline},
        several_presets=len(cells["preset"].unique()) > 1,
        failures=ran.failures(cells),
        sources=sources.entries,
    )


def _sections(folder: Path, cells: pd.DataFrame, sources: Sources) -> list[Section]:
    splits, summary, published = per_split(cells), summarise(cells), read_published()
    told = standings(splits, cells)
    sections = []
    for (suite, dataset), part in summary.groupby(["suite", "dataset"]):
        theirs = published[(published["suite"] == suite) & (published["dataset"] == dataset)]
        boards = []
        for (preset,), rows in part.groupby(["preset"]):
            here = dict(zip(BOARD, (suite, dataset, preset), strict=True))
            made = board(rows, _at(told, here), theirs, sources)
            key = f"plot{len(sections)}-{len(boards)}"
            methods = [row.method for row in made.rows if not row.published]
            plots = [_plot(made, rows, _at(splits, here), theirs, key)]
            plots += illustrations(folder, _at(cells, here), methods, key)
            boards.append((made, [plot for plot in plots if plot]))
        sections.append(Section(f"data{len(sections)}", suite, dataset, *_facts(dataset), boards))
    return sections


def _at(table: pd.DataFrame, where: dict[str, str]) -> pd.DataFrame:
    return table[(table[list(where)] == pd.Series(where)).all(axis=1)]


def _facts(dataset: str) -> tuple[str, str, tuple[str, ...]]:
    """Title, size and notes of a data set; its bare name where the registry does not know it."""
    try:
        import datasets

        entry = datasets.entry(dataset)
    except Exception:  # a stranger's plug-in may raise anything, and a page of numbers must not depend on it
        return dataset, "", ()
    size = [f"{entry.n_rows} rows", f"{entry.n_features} features"]
    if entry.n_classes:
        size.append(f"{entry.n_classes} classes")
    if entry.n_ood:
        size.append(f"{entry.n_ood} out-of-distribution rows")
    return entry.title, ", ".join(size), tuple(entry.notes)


def _plot(made: Board, summary: pd.DataFrame, splits: pd.DataFrame, published: pd.DataFrame, key: str) -> Plot | None:
    """The leading metric of the board's methods, in its order; None where nothing was measured."""
    lead = made.lead
    means = {row.method: row for row in summary[summary["metric"] == lead].itertuples()}
    values = splits[splits["metric"] == lead].groupby("method")["value"].agg(list)
    theirs = published[(published["metric"] == lead) & (published["statistic"] == "mean")]
    rows = []
    for method in dict.fromkeys(row.method for row in made.rows):
        reported = [(row.value, row.stderr) for row in theirs[theirs["method"] == method].itertuples()]
        ours = means.get(method)
        mean, stderr = (ours.mean, ours.stderr) if ours else (float("nan"), float("nan"))
        if method in values.index or reported:
            rows.append(DotRow(visible(method), values.get(method, []), mean, stderr, reported))
    if values.empty:
        return None
    printed = [(visible(row.method), row.cells[lead]) for row in made.rows if not row.published]
    spoken = [f"{name} {cell.value} ± {cell.stderr or 'unknown'}" for name, cell in printed if cell.value]
    title = metric(lead).title
    axis = f"{title}, nats (low is good)" if lead == "nmll" else f"{title} (low is good)"
    return Plot(Markup(dot_plot(rows, axis, key)), f"{title} by method: " + ", ".join(spoken), "")


def _overviews(sections: list[Section]) -> list[Overview]:
    found = {}
    for section in sections:
        for made, _ in section.boards:
            measured = {row.method: row for row in made.rows if not row.published and made.lead in row.cells}
            if measured:
                most = max(row.n + row.n_failed for row in measured.values())
                line = {method: (row.cells[made.lead], _lacking(row, most)) for method, row in measured.items()}
                found.setdefault((made.suite, made.preset, made.lead), []).append((section, line))
    return [_overview(*key, columns) for key, columns in found.items()]


def _lacking(row: Row, most: int) -> str:
    """What makes a mean less than that of the `most` splits which some method was run on."""
    unfinished = f"{row.n} of {most} splits" if row.n + row.n_failed < most else ""
    return ", ".join(filter(None, (unfinished, f"{row.n_failed} failed" if row.n_failed else "")))


def _overview(suite: str, preset: str, lead: str, columns: list[Column]) -> Overview:
    methods = dict.fromkeys(method for _, line in columns for method in line)
    wins, n_told = dict.fromkeys(methods, 0), 0
    for _, line in columns:
        standings_here = {method: cell.standing for method, (cell, _) in line.items()}
        if {"tied", "worse"} & set(standings_here.values()):
            n_told += 1
            for method, standing in standings_here.items():
                wins[method] += standing in ("best", "tied")
    ordered = sorted(methods, key=lambda m: (-wins[m], m))
    return Overview(suite, preset, metric(lead).title, ordered, columns, wins, n_told)
