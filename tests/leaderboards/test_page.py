"""The page, as a browser gets it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leaderboards

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Text, attributes and ids of a page; fails where tags do not close in order."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.tags, self.text, self.ids, self.links = [], [], [], [], []
        self.tables = []  # of each table its column headings
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "table":
            self.tables.append([])
        if tag == "a":
            self.links.append(attrs["href"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if "thead" in self.open and data.strip():
            self.tables[-1].append(data.strip())

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


@pytest.fixture
def built(folder, tmp_path):
    """Build the page of some cells and return its HTML."""

    def build(*rows: dict) -> str:
        return leaderboards.build(folder(*rows), tmp_path / "page").read_text(encoding="utf-8")

    return build


def test_a_small_run(built, small_run):
    page = Page(built(*small_run))
    for said in (
        "30 trials, drawn by random search, 5-fold cross-validation",
        "Energy efficiency (heating load)",
        "27 % of test rows have an identical twin in train",
        "2 failed",
        "all trials left the finite numbers",
        "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning. Table 1",
        "mc-dropout",
        "0123456789ab",
        "∞",
        "best mean:",
    ):
        assert said in page.words, said


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("images", "FPR95 is the share of test images taken for such where 95 % of those are found"),
        ("retinopathy", "Networks start from weights trained on ImageNet"),
    ],
)
def test_a_suite_is_explained_where_it_was_run_and_nowhere_else(built, small_run, suite, said):
    assert f"Suite {suite}" not in Page(built(*small_run)).words
    words = Page(built({"suite": suite, "dataset": "aptos2019", "nmll": 0.2})).words
    assert f"Suite {suite} :" in words
    assert said in words


def test_links_lead_somewhere_and_ids_are_unique(built, small_run):
    page = Page(built(*small_run))
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_nothing_is_loaded_from_anywhere(built, small_run):
    html = built(*small_run)
    page = Page(html)
    assert "http" not in html.replace("http-equiv", "")
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    references = {value for _, attrs in page.tags for name, value in attrs.items() if name in ("href", "src")}
    assert all(reference.startswith("#") for reference in references)
    assert not re.search(r"@import|url\((?!#)", html)
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_headers_have_a_scope_and_figures_have_words(built, small_run):
    page = Page(built(*small_run))
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
    images = [attrs for _, attrs in page.tags if attrs.get("role") == "img"]
    assert len(images) == 2
    assert images[0]["aria-label"].startswith("NMLL by method: vifa 2.479 ± 0.042, mfvi 2.568")


HOSTILE = "</bdi><script>alert('1')</script>\"x\" \u202eevil $x_1$"


@pytest.mark.parametrize(
    "column", ["method", "dataset", "suite", "preset", "error", "host", "device", "protocol", "versions"]
)
def test_hostile_text_stays_text(built, column):
    ending = {"status": "failed"} if column == "error" else {"nmll": 1.0}
    html = built(ending | {column: HOSTILE})
    page = Page(html)
    assert "<script" not in html
    assert "\u202e" not in html
    assert "alert('1')" in page.words
    assert "\\u202e" in page.words


def test_hostile_reasons_and_file_names_stay_text(folder, tmp_path):
    out = folder({"nmll": 1.0})
    (out / "cells" / "<script>.parquet").write_text("x")
    entry = {"dataset": HOSTILE, "reason": HOSTILE, "remedy": "run `python -m datasets fetch wine`"}
    (out / "unavailable.json").write_text(json.dumps([entry]))
    html = leaderboards.build(out, tmp_path / "page").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "\u202e" not in html
    assert "<code>python -m datasets fetch wine</code>" in html
    assert "cells/<script>.parquet" in Page(html).words


def test_files_that_were_left_out_are_named(folder, tmp_path):
    out = folder({"nmll": 1.0})
    pq.write_table(pa.table({"x": [1]}), out / "cells" / "strange.parquet")
    page = Page(leaderboards.build(out, tmp_path / "page").read_text(encoding="utf-8"))
    assert "cells/strange.parquet : not a result file" in page.words


def test_nothing_finished_yet(tmp_path):
    page = Page(leaderboards.build(tmp_path / "nowhere", tmp_path / "page").read_text(encoding="utf-8"))
    assert "Nothing has been finished yet." in page.words


def test_everything_failed(built):
    page = Page(built({"status": "failed", "error": "RuntimeError: no"}, {"split": 1, "status": "diverged"}))
    assert "0 splits, 2 failed" in page.words
    assert "RuntimeError: no" in page.words


def test_the_same_results_give_the_same_bytes(folder, small_run, tmp_path):
    out = folder(*small_run)
    first, second = (leaderboards.build(out, tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in first.parent.iterdir()] == ["index.html"]


def test_published_and_measured_stand_beside_each_other(built):
    nmll = [2.56, 2.60, 2.64]  # mean 2.60, standard error 0.04 / sqrt(3)
    page = Page(built(*({"split": split, "nmll": value} for split, value in enumerate(nmll))))
    assert "2.53 ± 0.02" in page.words
    assert f"Δ +{0.07 / np.hypot(0.04 / np.sqrt(3), 0.02):.1f} se" in page.words
    assert "2.13 × 10⁷ ± 2.01 × 10⁷" in page.words


def test_a_joint_likelihood_gets_no_difference(built):
    page = Page(built(*({"method": "slang", "split": split, "nmll": 1.1 + split / 10} for split in range(3))))
    assert "joint predictive / N, not per point" in page.words
    assert page.words.count("Δ") == 2  # the explanation, and the number of the VIFA paper


def test_mixed_protocols_get_tables_of_their_own(built):
    page = Page(built({"nmll": 1.0}, {"split": 1, "nmll": 2.0, "protocol_hash": "bbbbbbbb"}))
    assert "paper@aaaaaaaa" in page.words
    assert "paper@bbbbbbbb" in page.words


def test_mixed_code_is_said(built):
    page = Page(built({"nmll": 1.0}, {"split": 1, "nmll": 2.0, "code_revision": "fedcba9876543210"}))
    assert "Results of different code revisions stand side by side in: energy (paper)." in page.words


def test_two_splits_are_too_few(built):
    rows = [{"method": method, "split": split, "nmll": 1.0} for method in ("map", "vifa") for split in range(2)]
    page = Page(built(*rows))
    assert "Too few splits to tell ties" in page.words
    assert "tied with the best" not in page.words
    assert "Best or tied" not in page.words


def test_a_method_that_is_behind_is_shown_to_be(built):
    rows = [{"split": split, "nmll": 1.0 + split} for split in range(3)]
    page = Page(built(*rows, {"method": "map", "nmll": 0.5}))
    assert "1 of 3 splits" in page.words


def test_a_board_has_the_headline_of_its_task_and_no_empty_columns(built, classification_run):
    regression = {"nmll": 2.0, "rmse": 3.0, "coverage_90": 0.9, "fit_seconds": 1.0, "exclusive": True}
    tables = Page(built(regression, *classification_run)).tables
    assert ["Method", "NMLL", "Accuracy", "Brier", "ECE", "OOD AUROC"] in tables  # digits-ood
    assert ["Method", "Entropy", "OOD FPR95"] in tables  # its other measures
    assert ["Method", "NMLL", "Accuracy", "Brier", "ECE", "AUROC"] in tables  # wdbc
    assert ["Method", "Entropy"] in tables
    assert ["Method", "NMLL", "RMSE", "Coverage 90 %", "Final fit, s"] in tables  # energy


def test_the_calibration_error_comes_with_its_interval(built, classification_run):
    page = Page(built(*classification_run))
    hints = [attrs["title"] for tag, attrs in page.tags if tag == "td" and "bootstrap" in attrs.get("title", "")]
    assert len(hints) == 4
    assert all("95 % bootstrap interval of a split, on average 0.0400 to 0.0800" in hint for hint in hints)


def test_a_calibration_error_without_an_interval_is_shown_too(built):
    assert "0.0500" in Page(built({"nmll": 0.3, "ece": 0.05}, {"method": "map", "nmll": 0.3, "ece": 0.06})).words


def test_the_size_of_a_classification_set_counts_classes_and_ood_rows(built, classification_run):
    words = Page(built(*classification_run)).words
    assert "64 features, 5 classes, 896 out-of-distribution rows" in words
    assert "30 features, 2 classes" in words


def test_the_overview_has_a_row_for_each_method_sorted_by_its_wins(built, classification_run):
    page = Page(built(*classification_run))
    assert page.tables[0] == ["Method", "Best or tied", "digits-ood", "wdbc"]
    overview = page.words[page.words.index("Best or tied") : page.words.index("Handwritten digits 0-4")]
    assert re.search(r"vifa 2 of 2 .* map 0 of 2 ", overview)


def test_many_methods_take_one_line_each(built):
    """Medians are in tooltips, and splits are counted once and where they differ."""
    rows = [{"method": f"m{i:02}", "split": split, "nmll": 1.0 + i} for i in range(20) for split in range(3)]
    rows[4] |= {"status": "failed", "nmll": None}
    html = built(*rows)
    page = Page(html)
    assert "m00 ★" in page.words
    assert "m01 2 splits, 1 failed" in page.words
    assert "3 splits, if not said" in page.words
    assert "3 splits, median 1.0" in html
    assert "median 1.0" not in page.words
