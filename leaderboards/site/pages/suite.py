"""The page of one suite: per preset its standings over all data sets, and every method on every data set."""

from typing import NamedTuple

from leaderboards.figures.plots import Plot
from leaderboards.metrics import HEADLINE, Metric, metric
from leaderboards.site.content import Site
from leaderboards.site.pages.overall import figures, matrix
from leaderboards.site.standings import Standings, change_in_words
from leaderboards.tables.boards import Board, Cell, Row
from leaderboards.wording.ran import Run, runs


class Grid(NamedTuple):
    """One metric of all methods (rows) on all data sets (columns).

    Attributes:
        methods: in the order of their mean ranks.
        lines: by method and data set its cell, and what the cell lacks ("2 failed").
    """

    name: str
    metric: Metric
    datasets: list[str]
    methods: list[str]
    standings: Standings
    lines: dict[str, dict[str, tuple[Cell, str]]]


class Section(NamedTuple):
    """One preset."""

    preset: str
    changes: str  # see `Site.changes`
    run: Run
    grids: list[Grid]
    plots: list[Plot]
    unseen: list[str]  # figures that are not there, and why
    matrix: list[tuple[str, list[tuple[str, float, int]]]]  # by method, against each: (rival, win rate, data sets)


def context(site: Site, suite: str) -> dict:
    """What the template `suite.html` shows."""
    cells = site.cells[site.cells["suite"] == suite]
    ran = {run.preset: run for run in runs(cells)}
    boards = {preset: boards_of(site, suite, preset) for preset in site.presets(suite)}
    sections = []
    for place, (preset, some) in enumerate(boards.items()):
        made = grids(site, suite, preset, some)
        found, unseen = figures(site, suite, preset, made[0], f"plot{place}")
        sections.append(Section(preset, site.changes(suite, preset), ran[preset], made, found, unseen, matrix(made[0])))
    return {
        "suite": suite,
        "sections": sections,
        "preset_options": [(preset, preset) for preset in boards],
        "metric_options": list({one.name: one.metric.title for section in sections for one in section.grids}.items()),
        "dataset_options": [(name, name) for name in sorted(cells["dataset"].unique())],
        "n_datasets": cells["dataset"].nunique(),
        "n_methods": cells["method"].nunique(),
        "failures": [one for one in site.failures if one.suite == suite],
        "in_words": change_in_words,
        "families": families(site, cells["method"].unique()),
    }


def boards_of(site: Site, suite: str, preset: str) -> list[Board]:
    """The boards of one suite and preset."""
    return [made for key, made in site.boards.items() if key[0] == suite and key[2] == preset]


def leading(boards: list[Board]) -> str:
    """The metric that most of the boards are ordered by."""
    leads = [made.lead for made in boards]
    return max(dict.fromkeys(leads), key=leads.count)


def families(site: Site, names) -> dict[str, str]:
    """Families of methods and their titles, by title."""
    cards = [site.card(name) for name in names]
    return dict(
        sorted(
            {card.family or card.name: card.family_title or card.title for card in cards}.items(),
            key=lambda pair: pair[1].lower(),
        )
    )


def grids(site: Site, suite: str, preset: str, boards: list[Board]) -> list[Grid]:
    """A grid for each headline metric, the leading one first."""
    first = leading(boards)
    names = [first, *(name for name in HEADLINE if name != first)]
    found = [(name, having) for name in names if (having := [one for one in boards if name in one.headline])]
    return [grid(site, suite, preset, name, having) for name, having in found]


def grid(site: Site, suite: str, preset: str, name: str, boards: list[Board]) -> Grid:
    """One metric over the boards that have it."""
    lines: dict[str, dict[str, tuple[Cell, str]]] = {}
    for made in boards:
        measured = [row for row in made.rows if not row.published and name in row.cells]
        most = max((row.n + row.n_failed for row in measured), default=0)
        for row in measured:
            lines.setdefault(row.method, {})[made.dataset] = (row.cells[name], _lacking(row, most))
    standings = site.standings(suite, preset, name)
    methods = [*standings.lines, *sorted(lines.keys() - standings.lines.keys())]
    return Grid(name, metric(name), [made.dataset for made in boards], methods, standings, lines)


def _lacking(row: Row, most: int) -> str:
    """What makes a mean less than that of the `most` splits which some method was run on."""
    unfinished = f"{row.n} of {most} splits" if row.n + row.n_failed < most else ""
    return ", ".join(filter(None, (unfinished, f"{row.n_failed} failed" if row.n_failed else "")))
