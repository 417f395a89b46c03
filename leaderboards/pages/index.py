"""The first page: what this is, what was run, who is ahead, how to read it."""

from typing import NamedTuple

from leaderboards import ran
from leaderboards.fingerprints import in_words, side_by_side
from leaderboards.metrics import metric
from leaderboards.pages import dataset as dataset_page
from leaderboards.pages.overview import overview
from leaderboards.pages.suite import boards_of, families, leading
from leaderboards.site import Site
from leaderboards.standings import Standings, change_in_words

AHEAD = 5  # methods that a card names


class SuiteCard(NamedTuple):
    """A suite in short."""

    name: str
    n_methods: int
    datasets: list[str]
    presets: dict[str, tuple[str, str, Standings]]  # name -> (cells in words, its leading metric, who is ahead)


def context(site: Site) -> dict:
    """What the template `index.html` shows."""
    cells = site.cells
    return {
        "results": site.results,
        "contents": ran.cells_in_words(cells),
        "provenance": None if cells.empty else ran.provenance(cells),
        "runs": ran.runs(cells),
        "mixtures": in_words(site.results.choices) + side_by_side(cells),
        "overview": overview(site),
        "in_words": change_in_words,
        "cards": [suite_card(site, name) for name in site.suites],
        "datasets": [(name, dataset_page.facts(name), suites) for name, suites in _suites_of_datasets(site)],
        "methods": site.methods,
        "families": families(site, site.methods),
        "failures": site.failures,
        "metrics": {name for made in site.boards.values() for name in made.headline},
        "sources": site.sources.entries,
        "AHEAD": AHEAD,
    }


def suite_card(site: Site, suite: str) -> SuiteCard:
    """One suite in short."""
    cells = site.cells[site.cells["suite"] == suite]
    presets = {}
    for run in ran.runs(cells):
        lead = leading(boards_of(site, suite, run.preset))
        presets[run.preset] = run.cells, metric(lead).title, site.standings(suite, run.preset, lead)
    return SuiteCard(
        suite,
        cells["method"].nunique(),
        sorted(cells["dataset"].unique()),
        presets,
    )


def _suites_of_datasets(site: Site) -> list[tuple[str, list[str]]]:
    pairs = site.cells[["dataset", "suite"]].drop_duplicates()
    return [(name, sorted(part["suite"])) for name, part in pairs.groupby("dataset")]
