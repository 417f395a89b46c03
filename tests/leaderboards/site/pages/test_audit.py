"""The page Data audit shows kept facts and what repairing a set changes."""

import pytest
from built_pages import Built

from lockstep_bench import leaderboards

SCORES = {"gp-wine": {"map": 0.9, "vifa": 1.0}, "gp-wine-grouped": {"map": 1.3, "vifa": 1.1}, "gp-yacht": {"map": 0.1}}


@pytest.fixture(scope="module")
def pages(shared_folder, tmp_path_factory):
    rows = [
        {"suite": "uci-gp", "dataset": dataset, "method": method, "preset": "tuned", "split": split, "nmll": value}
        for dataset, scores in SCORES.items()
        for method, value in scores.items()
        for split in range(2)
    ]
    return Built(leaderboards.build(shared_folder(*rows), tmp_path_factory.mktemp("audit")))


def test_all_audited_sets_have_a_row_with_their_facts(pages):
    rows = {words.split()[0]: " ".join(words.split()) for words in pages["data-audit.html"].rows if words.strip()}
    published = [name for name in rows if name.startswith("gp-") and not name.endswith("-grouped")]
    assert len(published) == 31
    assert {"boston", "diabetes", "gp-solar-grouped"} <= rows.keys()
    solar = "gp-solar 1066 10 79.8 79.1 at most 84.0 9.8 8 1 0 0.150 0.835 no: copies of training rows in more"
    assert rows["gp-solar"].startswith(solar)
    assert rows["gp-yacht"].endswith("0.971 1.85 yes")


def test_ranks_change_on_the_repaired_set(pages):
    said = "1 of 1 pair of methods changes order (2 published splits, 2 repaired splits)"
    assert said in pages["data-audit.html"].words


def test_page_is_linked_and_flagged_sets_have_pages(pages):
    assert "data-audit.html" in pages.index.links
    assert "dataset-gp-wine.html" in pages["data-audit.html"].links
    assert "Splits with copies of training rows" in pages["dataset-gp-wine.html"].words


def test_page_of_a_flagged_set_says_why_it_has_no_table(pages):
    said = (
        "There is no table: all 4 cells that were run are on splits that are not ranked. The data audit compares them "
        "with those of gp-wine-grouped , which has the same rows in other splits."
    )
    assert said in pages["dataset-gp-wine.html"].words
    assert "What the tables show" not in str(pages["dataset-gp-wine.html"].tags)
    assert "Splits not ranked" not in pages["dataset-gp-wine-grouped.html"].words


def test_site_without_audited_sets_has_no_page(built):
    assert "data-audit.html" not in built({"suite": "images", "dataset": "mnist", "nmll": 0.1})
