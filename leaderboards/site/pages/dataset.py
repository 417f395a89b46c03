"""The page of one data set: a table and figures per suite and preset, and what is behind every number."""

from typing import NamedTuple

import numpy as np

from leaderboards.data.fingerprints import BOARD
from leaderboards.figures.dots import DotRow, dot_plot
from leaderboards.figures.illustrations import illustrations
from leaderboards.figures.plots import Plot
from leaderboards.metrics import metric
from leaderboards.site.cell_details import Opened, opened
from leaderboards.site.content import Key, Site
from leaderboards.site.pages.suite import families
from leaderboards.tables.boards import Board
from leaderboards.wording.formats import visible
from leaderboards.wording.mixtures import mixtures


class Section(NamedTuple):
    """One suite and preset."""

    suite: str
    preset: str
    changes: str  # see `Site.changes`
    board: Board
    dots: Plot | None  # None where nothing finished
    plots: list[Plot]
    unseen: list[str]  # figures that are not there, and why
    mixtures: list[str]  # which rows it uses and why, and what stands side by side
    opened: list[Opened]


class Facts(NamedTuple):
    """A data set's registry entry, for people."""

    title: str
    size: str
    origin: str
    licence: str
    notes: tuple[str, ...]


def context(site: Site, dataset: str) -> dict:
    """What the template `dataset.html` shows."""
    sections = [section(site, key, made) for key, made in site.boards.items() if key[1] == dataset]
    return {
        "dataset": dataset,
        "facts": facts(dataset),
        "sections": sections,
        "preset_options": [(preset, preset) for preset in dict.fromkeys(one.preset for one in sections)],
        "metric_options": list({name: of.title for one in sections for name, of in one.board.headline.items()}.items()),
        "families": families(site, {one.method for section in sections for one in section.opened}),
        "sources": site.sources.entries,
    }


def section(site: Site, key: Key, made: Board) -> Section:
    """The section of one board."""
    suite, _, preset = key
    cells = site.cells_of[key]
    order = [row.method for row in made.rows if not row.published]
    plots, unseen = illustrations(cells, order, "plot" + "".join(c for c in preset if c.isalnum()))
    return Section(
        suite,
        preset,
        site.changes(suite, preset),
        made,
        dots(site, key, made) if key in site.splits_of else None,
        plots,
        unseen,
        mixtures_of(site, key),
        [opened(site.rows_of[key][method], list(made.headline), site.original(suite, preset)) for method in order],
    )


def mixtures_of(site: Site, key: Key) -> list[str]:
    """What `mixtures` says of one board."""
    suite, dataset, label = key
    cells = site.cells_of[key]
    board = {(suite, dataset, label.partition("@")[0], protocol) for protocol in cells["protocol_hash"]}
    own = [choice for choice in site.results.choices if choice[: len(BOARD)] in board]
    return [f"{mixture.text}." for mixture in mixtures(cells, own)]


def dots(site: Site, key: Key, made: Board) -> Plot:
    """The leading metric of the board's methods, in its order."""
    lead = made.lead
    summary, splits = site.summary_of[key], site.splits_of[key]
    of_lead = summary[summary["metric"] == lead]
    means = dict(zip(of_lead["method"], zip(of_lead["mean"], of_lead["stderr"], strict=True), strict=True))
    values = splits[splits["metric"] == lead].groupby("method")["value"].agg(list)
    theirs = site.published_of(key)
    theirs = theirs[(theirs["metric"] == lead) & (theirs["statistic"] == "mean")]
    reported: dict[str, list[tuple[float, float]]] = {}
    for method, value, stderr in theirs[["method", "value", "stderr"]].itertuples(index=False, name=None):
        reported.setdefault(method, []).append((value, stderr))
    rows = []
    for method in dict.fromkeys(row.method for row in made.rows):
        if method in values.index or method in reported:
            mean, stderr = means.get(method, (np.nan, np.nan))
            rows.append(DotRow(visible(method), values.get(method, []), mean, stderr, reported.get(method, [])))
    spoken = [
        f"{visible(row.method)} {cell.value} ± {cell.stderr or 'unknown'}"
        for row in made.rows
        if not row.published and (cell := row.cells[lead]).value
    ]
    title = metric(lead).title
    axis = f"{title}, nats (low is good)" if lead == "nmll" else f"{title} (low is good)"
    return Plot(dot_plot(rows, axis), f"{title} by method: " + ", ".join(spoken), "")


def facts(dataset: str) -> Facts:
    """What the registry says of a data set; its bare name where it does not know it."""
    try:
        import datasets

        entry = datasets.entry(dataset)
        size = [f"{entry.n_rows} rows", f"{entry.n_features} features"]
        if entry.n_classes:
            size.append(f"{entry.n_classes} classes")
        if entry.n_ood:
            size.append(f"{entry.n_ood} out-of-distribution rows")
        origin, licence = str(getattr(entry, "origin", "")), str(getattr(entry, "licence", ""))
        return Facts(str(entry.title), ", ".join(size), origin, licence, tuple(map(str, entry.notes)))
    except Exception:  # a stranger's plug-in may raise anything, and a page of numbers must not depend on it
        return Facts(dataset, "", "", "", ())
