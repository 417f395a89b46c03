"""The first page: what this is, what was run, who is ahead, how to read it."""

from typing import NamedTuple

from leaderboards import ran
from leaderboards.fingerprints import in_words, side_by_side
from leaderboards.pages import dataset as dataset_page
from leaderboards.pages.suite import Grid, boards_of, families, grids
from leaderboards.site import Site

AHEAD = 5  # methods that a card names


class SuiteCard(NamedTuple):
    """A suite in short: one entry of `best` per preset, of methods with the data sets where they are best or tied."""

    name: str
    n_methods: int
    datasets: list[str]
    presets: dict[str, tuple[str, Grid | None]]  # name -> (cells in words, its leading metric)


def context(site: Site) -> dict:
    """What the template `index.html` shows."""
    cells = site.cells
    return {
        "results": site.results,
        "contents": ran.cells_in_words(cells),
        "provenance": None if cells.empty else ran.provenance(cells),
        "runs": ran.runs(cells),
        "mixtures": in_words(site.results.choices) + side_by_side(cells),
        "cards": [suite_card(site, name) for name in site.suites],
        "datasets": [(name, dataset_page.facts(name), suites) for name, suites in _suites_of_datasets(site)],
        "methods": site.methods,
        "families": families(site, site.methods),
        "failures": ran.failures(cells),
        "metrics": {name for made in site.boards.values() for name in made.headline},
        "sources": site.sources.entries,
        "AHEAD": AHEAD,
    }


def suite_card(site: Site, suite: str) -> SuiteCard:
    """One suite in short."""
    cells = site.cells[site.cells["suite"] == suite]
    presets = {run.preset: (run.cells, grids(boards_of(site, suite, run.preset))) for run in ran.runs(cells)}
    return SuiteCard(
        suite,
        cells["method"].nunique(),
        sorted(cells["dataset"].unique()),
        {preset: (words, made[0] if made else None) for preset, (words, made) in presets.items()},
    )


def _suites_of_datasets(site: Site) -> list[tuple[str, list[str]]]:
    pairs = site.cells[["dataset", "suite"]].drop_duplicates()
    return [(name, sorted(part["suite"])) for name, part in pairs.groupby("dataset")]
