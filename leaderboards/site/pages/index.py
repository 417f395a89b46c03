"""The index: the overall ranking, the suites, how to read the pages, and what was run."""

from typing import Any, NamedTuple

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages import dataset as dataset_page
from lockstep_bench.leaderboards.site.pages import findings
from lockstep_bench.leaderboards.site.pages.overview import overview
from lockstep_bench.leaderboards.site.pages.replications import tally
from lockstep_bench.leaderboards.site.pages.suite import boards_of, families_of, leading
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.wording import run_facts
from lockstep_bench.leaderboards.wording.mixtures import mixtures, revisions_in_words

TOP, PRESETS = 5, 2  # methods that a card names, and presets that it shows unfolded


class PresetCard(NamedTuple):
    """Summary of a suite's results under one preset.

    Attributes:
        preset: label of the preset.
        changes: how a modified preset differs from the original (`Site.changes`).
        cells: numbers of cells by status, as in "400 finished, 2 diverged".
        metric: title of the leading metric.
        standings: standings of the methods by that metric.
    """

    preset: str
    changes: str
    cells: str
    metric: str
    standings: Standings


class SuiteCard(NamedTuple):
    """Summary of one suite."""

    name: str
    n_methods: int
    datasets: list[str]
    presets: list[PresetCard]


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `index.html`."""
    cells = site.cells
    return {
        "results": site.results,
        "contents": run_facts.cells_in_words(cells),
        "provenance": None if cells.empty else run_facts.provenance(cells),
        "runs": run_facts.runs(cells),
        "revisions": revisions_in_words(cells, site.results.rechecks),
        "mixtures": [mixture.sentence for mixture in mixtures(cells, site.results.choices)],
        "answer": findings.answer() if findings.has_findings(site.results.folders) else "",
        "overview": overview(site),
        "tally": tally(site.replications),
        "cards": sorted((suite_card(site, name) for name in site.suites), key=lambda card: -len(card.presets)),
        "datasets": {suite: [(name, dataset_page.facts(name)) for name in names] for suite, names in new_sets(site)},
        "methods": site.methods,
        "families": families_of(site, site.methods),
        "failures": site.failures,
        "metrics": {name for made in site.boards.values() for name in made.headline},
        "TOP": TOP,
        "PRESETS": PRESETS,
    }


def suite_card(site: Site, suite: str) -> SuiteCard:
    """Return the summary of one suite."""
    columns = ["suite", "preset", "dataset", "method", "status", "seed", "protocol"]
    cells = site.cells.loc[site.cells["suite"] == suite, columns]
    words = {run.preset: run.cells for run in run_facts.runs(cells)}
    presets = []
    for preset in site.presets(suite):
        lead = leading(boards_of(site, suite, preset))
        standings = site.standings(suite, preset, lead)
        presets.append(PresetCard(preset, site.changes(suite, preset), words[preset], metric(lead).phrase, standings))
    return SuiteCard(
        suite,
        cells["method"].nunique(),
        sorted(cells["dataset"].unique()),
        presets,
    )


def new_sets(site: Site) -> list[tuple[str, list[str]]]:
    """Return each suite with those of its data sets that no suite before it has, in alphabetical order."""
    pairs = {
        (str(suite), str(name))
        for suite, name in site.cells[["suite", "dataset"]].drop_duplicates().itertuples(index=False)
    }
    left, found = set(site.datasets), []
    for suite in site.suites:
        names = sorted(name for name in left if (suite, name) in pairs)
        left -= set(names)
        if names:
            found.append((suite, names))
    return found
