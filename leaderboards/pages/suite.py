"""The page of one suite: per preset its standings over all data sets, and every method on every data set."""

from typing import NamedTuple

from leaderboards.boards import Board, Cell, Row
from leaderboards.metrics import HEADLINE, Metric, metric
from leaderboards.ran import Run, failures, runs
from leaderboards.site import Site


class Grid(NamedTuple):
    """One metric of all methods (rows) on all data sets (columns).

    Attributes:
        wins: of each method, data sets where it is best or tied.
        n_told: data sets where that could be tested.
        lines: by method and data set its cell, and what the cell lacks ("2 failed").
    """

    name: str
    metric: Metric
    datasets: list[str]
    methods: list[str]
    wins: dict[str, int]
    n_told: int
    lines: dict[str, dict[str, tuple[Cell, str]]]


class Section(NamedTuple):
    """One preset."""

    preset: str
    run: Run
    lead: str
    grids: list[Grid]


def context(site: Site, suite: str) -> dict:
    """What the template `suite.html` shows."""
    cells = site.cells[site.cells["suite"] == suite]
    ran = {run.preset: run for run in runs(cells)}
    boards = {preset: boards_of(site, suite, preset) for preset in site.presets(suite)}
    sections = [Section(preset, ran[preset], leading(some), grids(some)) for preset, some in boards.items()]
    return {
        "suite": suite,
        "sections": sections,
        "preset_options": [(preset, preset) for preset in boards],
        "metric_options": list({one.name: one.metric.title for section in sections for one in section.grids}.items()),
        "dataset_options": [(name, name) for name in sorted(cells["dataset"].unique())],
        "n_datasets": cells["dataset"].nunique(),
        "n_methods": cells["method"].nunique(),
        "failures": failures(cells),
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
    return dict(sorted({card.family or card.name: card.family_title or card.title for card in cards}.items(),
                       key=lambda pair: pair[1].lower()))


def grids(boards: list[Board]) -> list[Grid]:
    """A grid for each headline metric, the leading one first."""
    first = leading(boards)
    names = [first, *(name for name in HEADLINE if name != first)]
    return [grid(name, having) for name in names if (having := [one for one in boards if name in one.headline])]


def grid(name: str, boards: list[Board]) -> Grid:
    """One metric over the boards that have it."""
    lines: dict[str, dict[str, tuple[Cell, str]]] = {}
    n_told, wins = 0, {}
    for made in boards:
        measured = [row for row in made.rows if not row.published and name in row.cells]
        most = max((row.n + row.n_failed for row in measured), default=0)
        standings = {row.cells[name].standing for row in measured}
        told = bool({"tied", "worse"} & standings)
        n_told += told
        for row in measured:
            cell = row.cells[name]
            lines.setdefault(row.method, {})[made.dataset] = (cell, _lacking(row, most))
            wins[row.method] = wins.get(row.method, 0) + (told and cell.standing in ("best", "tied"))
    methods = sorted(lines, key=lambda method: (-wins[method], method))
    return Grid(name, metric(name), [made.dataset for made in boards], methods, wins, n_told, lines)


def _lacking(row: Row, most: int) -> str:
    """What makes a mean less than that of the `most` splits which some method was run on."""
    unfinished = f"{row.n} of {most} splits" if row.n + row.n_failed < most else ""
    return ", ".join(filter(None, (unfinished, f"{row.n_failed} failed" if row.n_failed else "")))
