"""The entries of `shared.papers`, against the published numbers that they are compared with."""

import pytest

from lockstep_bench.leaderboards.data.published import read_published
from lockstep_bench.leaderboards.replications.rows import canonical
from lockstep_bench.shared.papers.entries import entries

ENTRIES = {entry.name: entry for entry in entries()}


@pytest.fixture(scope="module")
def published():
    return dict(list(read_published().groupby(["source", "table"])))


@pytest.mark.parametrize("name", ENTRIES)
def test_every_name_mapping_matches_a_published_name(name, published):
    entry = ENTRIES[name]
    numbers = published.get((entry.paper, entry.table))
    named = {"method": {*entry.methods, *entry.of}, "dataset": {*entry.datasets}}
    named["metric"] = {*entry.metrics, *entry.ratios}
    for column, names in named.items():
        assert names <= (set() if numbers is None else set(numbers[column])), f"{entry.table} has no such {column}"


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.runs and not entry.unavailable])
def test_every_runnable_replication_judges_a_number_or_claim(name, published):
    entry = ENTRIES[name]
    numbers = published.get((entry.paper, entry.table))
    planned = {(d, canonical(m)) for each in entry.runs for d in each.datasets for m in each.methods}
    places = set() if numbers is None else set(zip(numbers["dataset"], numbers["method"], strict=True))
    met = {(entry.datasets.get(d, d), canonical(entry.methods.get(m, m))) for d, m in places} & planned
    assert met or entry.claims
