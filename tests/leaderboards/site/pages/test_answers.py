"""Answer lines say in plain words which methods are or could be the best; pages link to the documentation."""

from types import SimpleNamespace

import pytest

from lockstep_bench.leaderboards.site.pages.answers import answer


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
