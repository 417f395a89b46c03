"""The page of one suite: for each preset, the standings over all data sets, and the results of all methods."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.metrics import HEADLINE_OF_MEDIANS, Metric, metric
from lockstep_bench.leaderboards.site import addresses
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.answers import over_datasets
from lockstep_bench.leaderboards.site.pages.overall import figures, matrix
from lockstep_bench.leaderboards.site.pages.parts import MOST, PagePart, Rendered, placed
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.stats.remarks import legend
from lockstep_bench.leaderboards.tables.boards import Board, BoardRow
from lockstep_bench.leaderboards.tables.cells import BoardCell
from lockstep_bench.leaderboards.wording.run_facts import RunWords, runs
from lockstep_bench.methods import is_ranked


class Grid(NamedTuple):
    """A table of one metric: all methods (rows) on all data sets (columns).

    Attributes:
        name: name of the metric.
        metric: title, direction and meaning of the metric.
        datasets: names of the data sets, in the order of the columns.
        methods: names of the methods, in the order of their mean ranks.
        standings: standings of the methods by this metric.
        rows: for each method and data set, the entry, and what is missing from it, such as "2 failed".
        legend: explanations of the signs beside numbers.
        plots: figures of the metric.
        missing_figures: sentences on figures that cannot be drawn, and why.
    """

    name: str
    metric: Metric
    datasets: list[str]
    methods: list[str]
    standings: Standings
    rows: dict[str, dict[str, tuple[BoardCell, str]]]
    legend: list[str]
    plots: list[Plot]
    missing_figures: list[str]

    @property
    def compared(self) -> list[str]:
        """Methods of the first table: those with standings, then references without a rank; all if none has any."""
        references = [name for name in self.methods if not is_ranked(name) and name not in self.standings.by_method]
        return [*self.standings.by_method, *references] if self.standings.by_method else self.methods

    @property
    def elsewhere(self) -> list[str]:
        """Methods of the second table, which has no ranks: those that were not run on all compared splits."""
        compared = set(self.compared)
        return [name for name in self.methods if name not in compared]

    @property
    def datasets_elsewhere(self) -> list[str]:
        """Data sets of the second table: those on which any of its methods was run."""
        elsewhere = self.elsewhere
        return [name for name in self.datasets if any(name in self.rows[method] for method in elsewhere)]

    @property
    def fewer(self) -> bool:
        """True if some method was run on fewer splits of a data set than others."""
        return any(ranking.fewer for ranking in self.standings.on_datasets.values())


class SuiteSection(NamedTuple):
    """The section of a suite's page about one preset.

    Attributes:
        preset: label of the preset.
        changes: how a modified preset differs from the original (`Site.changes`).
        run: protocol, seeds and counts of cells, in words.
        grids: one table per metric, the leading metric first.
        matrix: for each method, tuples (rival, win rate by the leading metric, number of data sets).
        parts: `grids`, rendered.
    """

    preset: str
    changes: str
    run: RunWords
    grids: list[Grid]
    matrix: list[tuple[str, list[tuple[str, float, int]]]]
    parts: Sequence[PagePart] = ()


def with_parts(suite: str, sections: Sequence[SuiteSection], rendered: Rendered) -> list[SuiteSection]:
    """Return the sections with their grids rendered, and assigned to this page or to continuation pages.

    All grids of the first section stay in this page if it can hold them, and of each other section the first one.

    Args:
        suite: name of the suite.
        sections: sections of one suite, not yet rendered.
        rendered: macros of `parts.html`.
    """
    parts = [
        [PagePart(suite, made.preset, table.name, rendered("grid", suite, made.preset, table)) for table in made.grids]
        for made in sections
    ]
    first = 1 if sum(len(part.html) for part in parts[0]) > MOST else len(parts[0])
    kept = [parts[0][:first], *(some[:1] for some in parts[1:])]
    others = [part for some, here in zip(parts, kept, strict=True) for part in some[len(here) :]]
    further = placed(addresses.suite_page(suite), others, sum(len(part.html) for here in kept for part in here))
    return [
        made._replace(parts=[*here, *(part for part in further if part.preset == made.preset)])
        for made, here in zip(sections, kept, strict=True)
    ]


def context(site: Site, suite: str) -> dict[str, Any]:
    """Return the variables of the template `suite.html`."""
    columns = ["suite", "preset", "dataset", "method", "status", "seed", "protocol"]
    cells = site.cells.loc[site.cells["suite"] == suite, columns]
    run_of = {run.preset: run for run in runs(cells)}
    boards = {preset: boards_of(site, suite, preset) for preset in site.presets(suite)}
    sections = []
    for place, (preset, of_preset) in enumerate(boards.items()):
        tables = grids(site, suite, preset, of_preset, f"plot{place}")
        wins = matrix(tables[0].standings)
        sections.append(SuiteSection(preset, site.changes(suite, preset), run_of[preset], tables, wins))
    titles = {table.name: table.metric.title for section in sections for table in section.grids}
    return {
        "suite": suite,
        "answer": over_datasets(site, suite, sections[0].preset, [grid.name for grid in sections[0].grids]),
        "sections": sections,
        "preset_options": [(preset, preset) for preset in boards],
        "titles": titles,
        "dataset_options": [(name, name) for name in sorted(cells["dataset"].unique())],
        "n_datasets": cells["dataset"].nunique(),
        "n_methods": cells["method"].nunique(),
        "failures": [failure for failure in site.failures if failure.suite == suite],
        "families": families_of(site, cells["method"].unique()),
    }


def boards_of(site: Site, suite: str, preset: str) -> list[Board]:
    """Return the boards of one suite and preset."""
    return [made for key, made in site.boards.items() if key[0] == suite and key[2] == preset]


def leading(boards: list[Board]) -> str:
    """Return the leading metric of most of the boards."""
    leads = [made.lead for made in boards]
    return max(dict.fromkeys(leads), key=leads.count)


def families_of(site: Site, methods: Iterable[str]) -> dict[str, str]:
    """Return the families of the given methods -> their titles, ordered by title."""
    cards = [site.card(name) for name in methods]
    return dict(
        sorted(
            {card.family or card.name: card.family_title or card.title for card in cards}.items(),
            key=lambda pair: pair[1].lower(),
        )
    )


def grids(site: Site, suite: str, preset: str, boards: list[Board], key: str) -> list[Grid]:
    """Return a grid for each headline metric with a value, the leading one first; `key` is as in `overall.figures`."""
    first = leading(boards)
    names = [first, *(name for name in HEADLINE_OF_MEDIANS if name != first)]
    with_metric = {name: [board for board in boards if name in board.headline] for name in names}
    known = {name: having for name, having in with_metric.items() if name == first or _with_value(having, name)}
    return [grid(site, suite, preset, name, having, name == first, key) for name, having in known.items()]


def _with_value(boards: list[Board], name: str) -> bool:
    """Return whether any method has a value of the metric, as no method has a time if none was measured alone."""
    cells = (row.cells.get(name) for made in boards for row in made.rows if not row.published)
    return any(isfinite(cell.amount) for cell in cells if cell)


def grid(site: Site, suite: str, preset: str, name: str, boards: list[Board], leads: bool, key: str) -> Grid:
    """Return the grid of one metric over the boards that have it; `leads` and `key` are as in `overall.figures`."""
    rows: dict[str, dict[str, tuple[BoardCell, str]]] = {}
    for made in boards:
        measured = [row for row in made.rows if not row.published and name in row.cells]
        most = max((row.n + row.n_failed for row in measured), default=0)
        for row in measured:
            rows.setdefault(row.method, {})[made.dataset] = (row.cells[name], _missing(row, most))
    standings = site.standings(suite, preset, name)
    methods = [*standings.by_method, *sorted(rows.keys() - standings.by_method.keys())]
    signs = legend(cell.remark for cells in rows.values() for cell, _ in cells.values())
    drawn = figures(site, suite, preset, standings, leads, key)
    return Grid(name, metric(name), [made.dataset for made in boards], methods, standings, rows, signs, *drawn)


def _missing(row: BoardRow, most: int) -> str:
    """Return the number of `most` splits that a mean does not include, and how many failed, in words."""
    unfinished = f"{row.n} of {most} splits" if row.n + row.n_failed < most else ""
    return ", ".join(filter(None, (unfinished, f"{row.n_failed} failed" if row.n_failed else "")))
