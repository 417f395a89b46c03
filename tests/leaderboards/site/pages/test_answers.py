"""Answer lines say in plain words which methods are or could be the best; pages link to the documentation."""

from types import SimpleNamespace

import pytest

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.answers import answer, over_datasets


def rows(**verdicts):
    return [SimpleNamespace(method=method, verdict=verdict.replace("_", " ")) for method, verdict in verdicts.items()]


@pytest.mark.parametrize(
    ("ranking", "words"),
    [
        (rows(swag="best", map="worse"), "`swag` is the best"),
        (rows(swag="could_be_best", vifa="could_be_best", map="worse"), "`swag` and `vifa` could be the best"),
        (rows(swag="undecided", map="undecided"), "undecided"),
        (rows(swag="failed", map="undecided"), "undecided"),
    ],
)
def test_answer_names_the_best_methods_or_none(ranking, words):
    assert answer(ranking) == words


@pytest.mark.parametrize("documents", ["", "docs/index.html"])
def test_pages_link_to_the_documentation_beside_them(built, monkeypatch, documents):
    monkeypatch.setenv("DOCUMENTS", documents)
    pages = built({"nmll": 1.0}).html
    assert all(('<a href="docs/index.html">Documentation</a>' in html) == bool(documents) for html in pages.values())


def test_data_sets_are_counted_for_each_metric(folder):
    """Answers of a suite whose metrics are known on different data sets, as those of decisions, count each apart."""
    rows = [
        {"dataset": dataset, "method": method, "split": split, "nmll": nmll + 0.01 * split, "rmse": rmse}
        for dataset, rmse in (("boston", 1.0), ("energy", 1.0), ("yacht", None))
        for method, nmll in (("map", 1.0), ("vifa", 2.0))
        for split in range(3)
    ]
    site = Site(read_results(folder(*rows)))
    assert "over 2 to 3 data sets" in over_datasets(site, "uci", "paper", ("nmll", "rmse"))
    assert "over 3 data sets" in over_datasets(site, "uci", "paper", ("nmll",))
