"""HTML of the pages: content, links, escaping, security policy."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leaderboards
from bench.schema import CELLS, TRAINING
from leaderboards.data.results import read_results
from leaderboards.site import content, places
from leaderboards.stats import rank, rank_on_datasets
from leaderboards.stats.placing import AHEAD
from methods import UNRANKED, Card

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Text, attributes and ids of a page; fails where tags do not close in order."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.tags, self.text, self.ids, self.links = [], [], [], [], []
        self.tables = []  # of each table its column headings
        self.rows = []  # of each row its cells' words
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
        if tag == "tr":
            self.rows.append("")
        if tag == "a":
            self.links.append(attrs["href"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if "tr" in self.open:
            self.rows[-1] += f" {data.strip()}"
        if "thead" in self.open and data.strip():
            self.tables[-1].append(data.strip())

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


class Built(dict):
    """Parsed pages by file name."""

    def __init__(self, index):
        super().__init__({path.name: Page(path.read_text(encoding="utf-8")) for path in index.parent.glob("*.html")})
        self.html = {path.name: path.read_text(encoding="utf-8") for path in index.parent.glob("*.html")}

    @property
    def index(self) -> Page:
        return self["index.html"]


@pytest.fixture
def built(folder, tmp_path):
    """Build the site of some cells and return its pages."""
    return lambda *rows: Built(leaderboards.build(folder(*rows), tmp_path / "site"))


@pytest.fixture(scope="module")
def small_site(shared_folder, small_run, tmp_path_factory):
    """The pages of `small_run`, built once."""
    return Built(leaderboards.build(shared_folder(*small_run), tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="module")
def classification_site(shared_folder, classification_run, tmp_path_factory):
    """The pages of `classification_run` beside one row of energy, built once."""
    regression = {"nmll": 2.0, "rmse": 3.0, "coverage_90": 0.9, "fit_seconds": 1.0, "exclusive": True}
    out = shared_folder(regression, *classification_run)
    return Built(leaderboards.build(out, tmp_path_factory.mktemp("classification")))


def test_each_suite_dataset_and_method_has_a_page(small_site):
    assert set(small_site) == {
        *("index.html", "suite-uci.html", "dataset-energy.html", "dataset-wine.html"),
        *("method-vifa.html", "method-mfvi.html", "method-map.html"),
        *("power.html", "replications.html"),
    }


def test_pages_state_facts_of_a_small_run(small_site):
    for page, said in (
        ("index.html", "30 trials, drawn by random search, 5-fold cross-validation"),
        ("index.html", "0123456789ab"),
        ("index.html", "all trials left the finite numbers"),
        ("dataset-energy.html", "Energy efficiency (heating load)"),
        ("dataset-wine.html", "27 % of test rows have an identical twin in train"),
        ("dataset-energy.html", "2 failed"),
        ("dataset-energy.html", "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning. Table 1"),
        ("dataset-energy.html", "mc-dropout"),
        ("dataset-energy.html", "best:"),
        ("dataset-wine.html", "∞"),
        ("suite-uci.html", "Mean rank"),
        ("suite-uci.html", "Difference to map"),
        ("method-mfvi.html", "Mean-field variational inference"),
        ("method-mfvi.html", "2 of 8 cells did not finish: 2 diverged."),
    ):
        assert said in small_site[page].words, (page, said)


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("images", "FPR95 is the share of test images classified as OOD"),
        ("retinopathy", "Networks start from weights trained on ImageNet"),
    ],
)
def test_suite_is_explained_on_its_page(built, suite, said):
    assert said in built({"suite": suite, "dataset": "aptos2019", "nmll": 0.2})[f"suite-{suite}.html"].words


def test_links_resolve_and_ids_are_unique(small_site):
    for name, page in small_site.items():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            target, _, fragment = link.partition("#")
            assert target in small_site or not target, (name, link)
            assert not fragment or fragment in small_site[target or name].ids, (name, link)


def test_the_index_of_a_run_counts_cells_and_reloads(shared_folder, small_run, tmp_path):
    results = shared_folder(*small_run)
    index = leaderboards.build(results, tmp_path, running=(37, 214)).read_text()
    assert "Running: 37 of 214 cells were finished at " in index
    assert '<meta http-equiv="refresh"' in index
    done = leaderboards.build(results, tmp_path).read_text()
    assert "Running" not in done
    assert "refresh" not in done


def test_every_page_is_reached_from_the_index(small_site):
    reached, new = set(), {"index.html"}
    while new:
        reached |= new
        new = {link.partition("#")[0] for name in new for link in small_site[name].links} - reached - {""}
    assert reached == set(small_site)


def test_pages_load_nothing_and_forbid_other_scripts(small_site):
    """Style and script are inline, and the policy names them by hash. No element has a style or handler attribute."""
    for name, html in small_site.html.items():
        page = small_site[name]
        assert "http" not in html.replace("http-equiv", "")
        assert not {"link", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in page.tags}
        assert not [attrs for _, attrs in page.tags if {"style", "src"} & attrs.keys()]
        assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on")]
        assert not re.search(r"@import|url\((?!#)", html)
        policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
        assert policy.startswith("default-src 'none';")
        assert "unsafe" not in policy
        for tag in ("style", "script"):
            (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
            assert f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" in policy


def test_headers_have_scopes_and_figures_descriptions(small_site):
    for page in small_site.values():
        assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
        assert all(attrs["aria-label"] for _, attrs in page.tags if attrs.get("role") == "img")
        assert [tag for tag, _ in page.tags if tag in ("main", "h1")] == ["main", "h1"]
    labels = [attrs["aria-label"] for _, attrs in small_site["dataset-energy.html"].tags if attrs.get("role") == "img"]
    assert labels[0].startswith("NMLL by method: vifa 2.479 ± 0.058, mfvi 2.568")


HOSTILE = "</bdi><script>alert('1')</script>\"x\" \u202eevil $x_1$"


@pytest.mark.parametrize(
    "column", ["method", "dataset", "suite", "preset", "error", "log", "host", "device", "protocol", "versions"]
)
def test_hostile_text_is_escaped(built, column):
    ending = {"status": "failed"} if column in ("error", "log") else {"nmll": 1.0}
    site = built(ending | {column: HOSTILE})
    assert len(site) == 6  # the index, the suite, the data set, the method, power, and replications
    for html in site.html.values():
        assert html.count("<script>") == 1  # our own
        assert "\u202e" not in html
    words = " ".join(page.words for page in site.values())
    assert "alert('1')" in words
    assert "\\u202e" in words


def test_hostile_hyper_parameters_and_diagnostics_are_escaped(built):
    odd = json.dumps({HOSTILE: 1.5})
    space = json.dumps({HOSTILE: {"name": HOSTILE, "attributes": {"choices": [HOSTILE]}}})
    site = built({"nmll": 1.0, "hparams": odd, "diagnostics": odd, "search_space": space})
    assert all(html.count("<script>") == 1 for html in site.html.values())
    assert "alert('1')" in site["method-vifa.html"].words


def test_hostile_reasons_and_file_names_are_escaped(folder, tmp_path):
    out = folder({"nmll": 1.0})
    (out / "cells" / "<script>.parquet").write_text("x")
    entry = {"dataset": HOSTILE, "reason": HOSTILE, "remedy": "run `python -m datasets fetch wine`"}
    (out / "unavailable.json").write_text(json.dumps([entry]))
    html = leaderboards.build(out, tmp_path / "page").read_text(encoding="utf-8")
    assert html.count("<script>") == 1
    assert "\u202e" not in html
    assert "<code>python -m datasets fetch wine</code>" in html
    assert "cells/<script>.parquet" in Page(html).words


def test_skipped_files_are_named(folder, tmp_path):
    out = folder({"nmll": 1.0})
    pq.write_table(pa.table({"x": [1]}), out / "cells" / "strange.parquet")
    page = Page(leaderboards.build(out, tmp_path / "page").read_text(encoding="utf-8"))
    assert "cells/strange.parquet : it is not a result" in page.words


def test_empty_results_give_a_page(tmp_path):
    page = Page(leaderboards.build(tmp_path / "nowhere", tmp_path / "page").read_text(encoding="utf-8"))
    assert "No cell has finished yet." in page.words


def test_failed_cells_give_a_page(built):
    site = built({"status": "failed", "error": "RuntimeError: no"}, {"split": 1, "status": "diverged"})
    assert "0 splits, 2 failed" in site["dataset-energy.html"].words
    assert all("RuntimeError: no" in site[name].words for name in ("index.html", "method-vifa.html"))


def test_same_results_give_same_bytes(folder, small_run, tmp_path):
    out = folder(*small_run)
    first, second = (leaderboards.build(out, tmp_path / name).parent for name in ("a", "b"))
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_only_stale_pages_are_removed(folder, tmp_path):
    out = folder({"nmll": 1.0}, {"nmll": 1.0, "method": "map"})
    site = leaderboards.build(out, tmp_path / "site").parent
    (site / "method-mine.html").write_text("my own notes")
    next(path for path in (out / "cells").iterdir() if pd.read_parquet(path)["method"][0] == "map").unlink()
    leaderboards.build(out, site)
    assert not (site / "method-map.html").exists()
    assert (site / "method-mine.html").read_text() == "my own notes"


def test_published_and_measured_numbers_share_a_table(built):
    nmll = [2.56, 2.60, 2.64]  # mean 2.60, standard error 0.04 / sqrt(3)
    page = built(*({"split": split, "nmll": value} for split, value in enumerate(nmll)))["dataset-energy.html"]
    assert "2.53 ± 0.02" in page.words
    assert f"Δ +{0.07 / np.hypot(0.04 / np.sqrt(3), 0.02):.1f} se" in page.words
    assert "2.13 × 10⁷ ± 2.01 × 10⁷" in page.words


def test_joint_likelihood_gets_no_difference(built):
    rows = ({"method": "slang", "split": split, "nmll": 1.1 + split / 10} for split in range(3))
    page = built(*rows)["dataset-energy.html"]
    assert "joint predictive / N, not per point" in page.words
    assert page.words.count("Δ") == 1  # the number of the VIFA paper
    assert "another protocol" not in page.words
    assert "Not directly comparable with published numbers: " in page.words
    assert page.words.count("joint predictive of all test points divided by their number, not per point") == 1


def test_published_numbers_without_a_column_give_reasons(built):
    rows = ({"suite": "images", "dataset": "cifar10", "method": "map", "split": s, "nmll": 0.4} for s in range(2))
    page = built(*rows)["dataset-cifar10.html"]
    assert "Published numbers that no column holds" in page.words
    assert "against SVHN alone; far_ood_auroc here is a mean over MNIST and SVHN" in page.words
    assert "seconds on the authors' machine" in page.words


def test_mixed_protocols_get_separate_tables(built):
    page = built({"nmll": 1.0}, {"split": 1, "nmll": 2.0, "protocol_hash": "bbbbbbbb"})["dataset-energy.html"]
    assert "paper@aaaaaaaa" in page.words
    assert "paper@bbbbbbbb" in page.words


def test_modified_presets_state_their_changes(built):
    plain = {"protocol": '{"epochs": 120, "folds": 5}', "nmll": 1.0}
    changed = {"preset": "paper-modified", "protocol_hash": "b" * 8, "protocol": '{"epochs": 9, "folds": 5}'}
    site = built(plain, plain | changed)
    assert "paper-modified ( epochs 9 )" in site["index.html"].words
    for page in ("suite-uci.html", "dataset-energy.html"):
        assert site[page].words.count("The preset with epochs 9 .") == 1


def test_quick_preset_comes_last(built):
    presets = {"quick": "b" * 8, "tuned": "a" * 8}
    site = built(*({"preset": preset, "protocol_hash": hash, "nmll": 1.0} for preset, hash in presets.items()))
    for page in ("suite-uci.html", "dataset-energy.html", "method-vifa.html"):
        words = site[page].words.lower()
        assert 0 < words.index("preset tuned") < words.index("preset quick")


def test_one_split_is_too_few_for_tests(built):
    of = [(dataset, method) for dataset in ("energy", "yacht") for method in ("map", "vifa")]
    rows = [{"dataset": d, "method": method, "nmll": 1.0} for d, method in of]
    site = built(*rows)
    assert "Too few splits to test differences" in site["dataset-energy.html"].words
    assert "≈" not in site["dataset-energy.html"].words
    assert "Could be best" not in site["suite-uci.html"].words
    assert 'class="ahead"' not in site.html["suite-uci.html"]
    assert "There are too few common splits for a comparison with map" in site["method-vifa.html"].words


@pytest.fixture(scope="module")
def ranked_site(shared_folder, tmp_path_factory):
    """The pages of four methods with every verdict, and their cells."""
    rng = np.random.default_rng(0)
    levels = {"map": 1.0, "vifa": 0.2, "swag": 0.2, "slang": 1.1}
    rows = [
        {"dataset": d, "method": method, "split": split, "nmll": (nmll := level + 0.1 * rng.normal()), "rmse": nmll**2}
        for d in ("energy", "wine", "yacht")
        for method, level in (levels | {"swag": 3.0 if d == "yacht" else 0.2}).items()
        for split in range(6)
        if (d, method) != ("wine", "slang")
    ]
    rows[3] |= {"status": "failed", "nmll": None, "rmse": None}
    out = shared_folder(*rows)
    return Built(leaderboards.build(out, tmp_path_factory.mktemp("ranked"))), read_results(out).cells


def test_marks_are_the_verdicts_of_rank(ranked_site):
    """Every cell with a mark or a class has the verdict of `rank_on_datasets`, and there are no other marks."""
    site, cells = ranked_site
    verdicts = {
        (dataset, row.method, metric): row.verdict
        for metric in ("nmll", "rmse")
        for dataset, ranking in rank_on_datasets(cells, "uci", "paper", metric, families=False).items()
        for row in ranking.rows
    }
    assert {"best", "could be best", "worse", "failed"} == set(verdicts.values())
    marks = {"best": "★", "could be best": "≈"}
    cell = r'<td class="([\w-]*)" data-method="(\w+)" data-metric="(\w+)"[^>]*>\s*(?:<span class="mark" [^>]*>(.))?'
    n_marks, shown = 0, set()
    for name, html in site.html.items():
        n_marks += html.count('class="mark"')
        for found in re.finditer(cell + r'.*?<a href="(?:dataset-(\w+).html)?#', html, re.DOTALL):
            style, method, metric, mark, dataset = found.groups()
            place = dataset or name.removeprefix("dataset-").removesuffix(".html"), method, metric
            assert (style, mark) == (verdicts[place].replace(" ", "-"), marks.get(verdicts[place])), place
            shown.add(place)
            n_marks -= mark is not None
    assert shown == set(verdicts)
    assert n_marks == 2  # in the legend of the index


def test_remarks_stand_beside_numbers_with_a_legend(built):
    levels = {"constant": 2.0, "map": 2.5, "swag": 1.0, "vifa": 1.5}
    improving = {"vifa": json.dumps({"still_improving": 1.0})}
    site = built(
        *(
            {"dataset": name, "method": method, "split": split, "nmll": level + 0.1 * split, "fit_seconds": 1.0}
            | {"diagnostics": improving.get(method)}
            for name in ("energy", "wine")
            for method, level in levels.items()
            for split in range(2)
        )
    )
    page = site["dataset-wine.html"]
    (of_map,) = [row for row in page.rows if row.split()[:1] == ["map"]]
    assert "no better than predicting the mean" in of_map
    assert "†" in of_map
    (of_vifa,) = [row for row in page.rows if row.split()[:1] == ["vifa"]]
    assert "‡ , still improving" in of_vifa
    (of_swag,) = [row for row in page.rows if row.split()[:1] == ["swag"]]
    assert not {"†", "‡"} & set(of_swag)
    assert any("predicting the training mean" in row for row in page.rows if row.split()[0] == "constant")
    for name in ("dataset-wine.html", "suite-uci.html", "method-vifa.html"):
        assert "‡ still improving: on more than half of the splits" in site[name].words, name


@pytest.mark.parametrize("name", UNRANKED)
def test_reference_lines_have_numbers_and_no_rank(built, name):
    levels = {name: 0.5, "map": 2.5, "swag": 1.0}
    site = built(
        *(
            {"dataset": dataset, "method": method, "split": split, "nmll": level + 0.1 * split}
            for dataset in ("energy", "wine")
            for method, level in levels.items()
            for split in range(2)
        )
    )
    (line,) = [row for row in site["suite-uci.html"].rows if row.split()[:1] == [name]]
    assert "not ranked" in line
    assert "0.55" in line
    assert "%" not in line  # no win rate
    swag = next(row for row in site["suite-uci.html"].rows if row.split()[:1] == ["swag"])
    assert swag.split()[1] == "1.0"  # the mean rank


def test_figures_colour_the_verdicts_of_rank(ranked_site):
    site, cells = ranked_site
    expected = ["ahead" if row.verdict in AHEAD else "behind" for row in rank(cells, "uci", "paper", "nmll").rows]
    assert re.findall('<circle class="(ahead|behind)"', site.html["suite-uci.html"]) == expected


def test_power_settles_what_rank_settles(ranked_site):
    """The first number of a row is for its place, the next for the difference over data sets, then on each of them."""
    site, cells = ranked_site
    places = {row.method: row for row in rank(cells, "uci", "paper", "nmll", families=False).rows}
    on_datasets = rank_on_datasets(cells, "uci", "paper", "nmll", families=False)
    tested = [of_set for of_set in on_datasets.values() if any(row.low < row.high for row in of_set.rows)]
    rows = re.findall(r'<tr class="item" data-method="(\w+)">(.*?)</tr>', site.html["power.html"], re.DOTALL)
    assert [method for method, _ in rows] == list(places)
    for method, html in rows:
        place, *differences = re.findall(r"<td[^>]*title[^>]*>([^<]*)</td>", html)
        assert (place == "settled") == (places[method].verdict in ("best", "worse")), method
        compared = [places[method], *({row.method: row for row in of.rows}.get(method) for of in tested)]
        for answer, row in zip(differences, compared, strict=True):
            assert (answer == "settled") == (row is not None and (row.low > 0 or row.high < 0)), method
    assert "none" in {answer for _, html in rows for answer in re.findall(r">([^<]*)</td>", html)}


def test_ruined_means_show_median_and_farthest_split(built):
    nmll = {"map": [2.2, 2.3, 2.31, 2.4, 13.8], "vifa": [2.2, 2.3, 2.31, 2.4, 2.5]}
    rows = [{"method": m, "split": s, "nmll": v} for m, values in nmll.items() for s, v in enumerate(values)]
    site = built(*rows)
    for page in ("suite-uci.html", "dataset-energy.html", "method-map.html"):
        assert site[page].words.replace(" ,", ",").count("one split 13.8") >= 1, page
    assert "one split" not in site["method-vifa.html"].words


def test_splits_along_features_show_median_and_worst(built):
    values = dict(zip((0, 1, 2, 3, 5), [1.0, 1.1, 1.2, 1.3, 90.0], strict=True))
    of_split = {"suite": "uci-gap", "dataset": "yacht-gap", "method": "mc-dropout"}
    pages = built(*({**of_split, "split": k, "nmll": v, "crps": v / 2} for k, v in {**values, 4: 7.0}.items()))
    page = pages["dataset-yacht-gap.html"]
    (measured,) = [row for row in page.rows if "worst 90.0, split 5" in row]
    assert "1.20" in measured
    assert "worst 45.0, split 5" in measured  # CRPS
    assert "±" not in measured
    assert any("dnnc-r" in row and "3.41" in row for row in page.rows)  # the published median
    assert "NMLL 90.00 on 5, CRPS 45.00 on 5" in page.words
    assert "4 no real gap" in page.words
    assert "Splits with no real gap: 4." in page.words
    assert "worst 90.0" in pages["suite-uci-gap.html"].words
    assert "worst 90.0" in pages["method-mc-dropout.html"].words


def test_unfinished_splits_are_counted(built):
    rows = [{"split": split, "nmll": 1.0 + split} for split in range(3)]
    assert "1 of 3 splits" in built(*rows, {"method": "map", "nmll": 0.5})["suite-uci.html"].words


def test_further_metrics_are_behind_a_switch(classification_site):
    assert ["Method", "NMLL", "Accuracy", "ECE", "OOD AUROC"] in classification_site["dataset-digits-ood.html"].tables
    assert ["Method", "Brier", "Entropy", "OOD FPR95"] in classification_site["dataset-digits-ood.html"].tables
    assert ["Method", "NMLL", "RMSE", "Final fit, s"] in classification_site["dataset-energy.html"].tables
    assert ["Method", "Coverage 90 %"] in classification_site["dataset-energy.html"].tables


def test_calibration_error_has_its_interval(classification_site):
    page = classification_site["dataset-wdbc.html"]
    hints = [attrs["title"] for tag, attrs in page.tags if tag == "td" and "bootstrap" in attrs.get("title", "")]
    assert len(hints) == 2
    assert all("95 % bootstrap interval of a split, on average 0.0400 to 0.0800" in hint for hint in hints)


def test_calibration_error_has_its_expectation_beside_it(built):
    """A method with older rows is neither failed nor without its other numbers."""
    row = {"suite": "images", "dataset": "digits", "task": "multiclass", "nmll": 0.3, "accuracy": 0.9, "ece": 0.05}
    new = row | {"ece_null": 0.031, "ece_null_95": 0.047, "augrc": 0.01}
    page = built(new, row | {"method": "old", "schema_version": 5})["dataset-digits.html"]
    assert "ECE ECE if calibrated" in page.words
    hints = [attrs["title"] for tag, attrs in page.tags if tag == "td" and attrs.get("title")]
    assert any("a calibrated model would have 0.0310 on average, and up to 0.0470 on a split" in hint for hint in hints)
    assert "not measured: the rows are older than this metric" in hints
    assert "because the rows of old are older than these metrics: ECE if calibrated; " in page.words


def test_size_counts_classes_and_ood_rows(classification_site):
    words = classification_site.index.words
    assert "64 features, 5 classes, 896 out-of-distribution rows" in words
    assert "30 features, 2 classes" in words


def test_suite_rows_are_sorted_by_mean_rank(classification_site):
    page = classification_site["suite-classification.html"]
    columns = ["Method", "Mean rank", "Win rate", "Difference to map", "digits-ood", "wdbc"]
    assert page.tables[0] == columns
    vifa, reference = (next(row for row in page.rows if row.split()[:1] == [name]) for name in ("vifa", "map"))
    assert re.search(r"vifa +1.0 +1 to 2 +100 % +−0.100", vifa)  # 0.3 against 0.4 on every split
    assert re.search(r"map +2.0 +1 to 2 +0 %", reference)
    assert page.words.index("vifa 1.0") < page.words.index("map 2.0")


def test_number_links_to_its_cell_details(built, row):
    changes = {"hparams": json.dumps({"lr": 0.0123}), "data_sha256": "feedbeef", "n_trials": 30, "n_trials_failed": 2}
    changes["execution"] = "native"
    page = built(*({"split": split, "nmll": 2.0 + split, **changes} for split in range(3)))["dataset-energy.html"]
    target = f"#{places.fragment('uci', 'paper', 'vifa')}"
    cell = [attrs for tag, attrs in page.tags if tag == "td" and attrs.get("data-metric") == "nmll"]
    assert cell[0]["data-method"] == "vifa"
    assert float(cell[0]["data-value"]) == 3.0
    assert target in page.links
    for said in (
        "python run_all.py --suite uci --datasets energy --methods vifa --splits 0-2 --preset paper --seed 0",
        "0.01230",
        "feedbeef",
        "30, 6 failed in all",
        "side by side in compiled loops",
        "aaaaaaaa",
        "torch 2.6.0",
    ):
        assert said in page.words


def test_cell_details_have_the_reference_posteriors_noise(built):
    noise = [json.dumps({"kind": "nuts", "r_hat": 1.001, "rel_cov_noise": value}) for value in (0.12, 0.15)]
    rows = [{"split": split, "nmll": 1.0, "rel_cov": 0.3, "reference": text} for split, text in enumerate(noise)]
    words = built(*rows)["dataset-energy.html"].words
    assert "Reference posterior nuts" in words
    assert "the reference's own sampling noise makes 0.1200 to 0.1500" in words


def test_many_methods_take_one_line_each(built):
    """Medians are in tooltips, and splits are counted once and where they differ."""
    rows = [{"method": f"m{i:02}", "split": split, "nmll": 1.0 + i} for i in range(20) for split in range(5)]
    rows[6] |= {"status": "failed", "nmll": None}
    site = built(*rows)
    html, words = site.html["dataset-energy.html"], site["dataset-energy.html"].words
    assert "m00 ≈" in words
    assert "m01 4 splits, 1 failed" in words
    assert "5 splits unless stated" in words
    assert "5 splits, median 1.0" in html
    assert "median 1.0" not in words


def test_missing_figures_are_explained(built):
    words = built({"nmll": 1.0, "task": "regression", "coverage_90": 0.9})["dataset-energy.html"].words
    assert "There are no PIT figures and curves of risk against coverage: they need predictions of single" in words


def test_methods_that_did_not_pass_their_check_are_marked(built):
    outcomes = {"passes": "passed", "fails": "failed", "unknown": "not checked", "vifa": None}
    site = built(*({"method": name, "nmll": 1.0, "checked": outcome} for name, outcome in outcomes.items()))
    words = site["dataset-energy.html"].words
    assert "fails failed its check" in words
    assert "unknown not checked" in words
    assert "python -m methods check unknown tests whether" in site["method-unknown.html"].words
    assert all("methods check" not in site[f"method-{name}.html"].words for name in ("passes", "vifa"))


def test_formula_of_an_outside_method_is_that_of_its_docstring(built, monkeypatch):
    described = Card("theirs", "Theirs", idea="They do it.", formula_text="a + b,\n  c")
    monkeypatch.setattr(content, "card", lambda name: described)
    site = built({"method": "theirs", "nmll": 1.0})
    assert "They do it." in site["method-theirs.html"].words
    assert "a + b,\n  c</pre>" in site.html["method-theirs.html"]


@pytest.mark.slow
def test_pages_of_large_sites_stay_small(row, tmp_path):
    """33 methods, 16 data sets, 20 splits, in one file as `publish` writes them."""
    rng = np.random.default_rng(0)
    rows = [
        row(
            dataset=f"set-{d}", method=f"method-number-{m}", split=s, task="regression", nmll=rng.normal(), seed=0,
            rmse=rng.gamma(9), fit_seconds=rng.gamma(9), tune_seconds=rng.gamma(9), coverage_50=0.5, coverage_80=0.8,
            coverage_90=0.9, coverage_95=0.95, n_trials=30, n_trials_failed=0,
            hparams=json.dumps({"lr": rng.uniform(), "prior_precision": rng.uniform(), "noise_precision": 1.5}),
        )
        for d in range(16) for m in range(33) for s in range(20)
    ]  # fmt: skip
    (tmp_path / "results" / "cells").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=CELLS), tmp_path / "results" / "cells" / "uci.parquet")
    site = leaderboards.build(tmp_path / "results", tmp_path / "site").parent
    sizes = {path.name: path.stat().st_size for path in site.iterdir()}
    assert len(sizes) == 3 + 1 + 16 + 33
    assert max(sizes.values()) < 2_000_000, sizes


def test_method_page_shows_recorded_training(folder, tmp_path):
    out = folder({"nmll": 2.0})
    path = out / "training" / "uci" / "energy" / "vifa" / "paper-aaaaaaaa" / "split00-seed0.parquet"
    path.parent.mkdir(parents=True)
    rows = [{"update": update, "name": "elbo", "value": -1.0 / update} for update in range(1, 21)]
    pq.write_table(pa.Table.from_pylist(rows, schema=TRAINING), path)
    page = Built(leaderboards.build(out, tmp_path / "site"))["method-vifa.html"]
    assert "elbo against the updates of the final fit" in page.words
