"""Numbers of pages and what is said of them: medians, calibration, details of cells."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from built_pages import Built

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.site import addresses, content
from lockstep_bench.methods import Card
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.schema import CLASSIFICATION, LATER, TRAINING

# Methods of which the first three were run on ten splits, the others on two, and their levels of NMLL.
LEVELS = {"map": 1.0, "swag": 1.0, "slang": 5.0, "vifa": 0.5, "constant": 9.0}
TIMED = {"nmll": 1.0, "exclusive": True, "tune_seconds": 2.69, "fit_seconds": 0.112}
TUNED = {"hparams": json.dumps({"lr": 0.0123}), "data_sha256": "feedbeef", "n_trials": 30, "n_trials_failed": 2}


def of_reference(noise: float) -> dict:
    reference = {"kind": "nuts", "r_hat": 1.001, "rel_cov_noise": noise}
    return {"nmll": 1.0, "rel_cov": 0.3, "reference": json.dumps(reference)}


@pytest.fixture(scope="module")
def several(shared_folder, tmp_path_factory):
    """The pages of a site on which each data set has the rows of another test, built once."""
    rng = np.random.default_rng(0)
    rows = {
        "energy": [TUNED | {"split": split, "nmll": 2.0 + split, "execution": "native"} for split in range(3)],
        "wine": [of_reference(noise) | {"split": split} for split, noise in enumerate((0.12, 0.15))],
        "yacht": [
            {"method": method, "split": split, "nmll": level + 0.01 * rng.normal() + (split > 1)}
            for method, level in LEVELS.items()
            for split in range(10 if method in ("map", "swag", "slang") else 2)
        ],
        "power": [TIMED, TIMED | {"method": "fixed", "tune_seconds": None}],
        "kin8nm": [{"nmll": 1.0, "task": "regression", "coverage_90": 0.9}],
    }
    out = shared_folder(*(row | {"dataset": name} for name, of_set in rows.items() for row in of_set))
    return Built(leaderboards.build(out, tmp_path_factory.mktemp("several")))


def test_outlier_dominated_means_show_median_and_farthest_split(built):
    nmll = {"map": [2.2, 2.3, 2.31, 2.4, 13.8], "vifa": [2.2, 2.3, 2.31, 2.4, 2.5]}
    rows = [{"method": m, "split": s, "nmll": v} for m, values in nmll.items() for s, v in enumerate(values)]
    site = built(*rows)
    for page in ("suite-uci.html", "dataset-energy.html", "method-map.html"):
        assert site[page].words.replace(" ,", ",").count("one split 13.8") >= 1, page
    assert "one split" not in site["method-vifa.html"].words


def test_scores_on_gaps_are_median_and_worst_split_instead_of_mean(built):
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


def test_metrics_without_a_value_have_no_column(built):
    """A row that failed has a NMLL in the summary, without a value."""
    failed = {"method": "map", "status": "failed", "rel_cov": None}
    page = built({"rel_cov": 0.3, "nmll": None}, failed | {"nmll": None})["dataset-energy.html"]
    assert not any("NMLL" in headings for headings in page.tables)
    assert any("Covariance, relative distance" in headings for headings in page.tables)


def test_caption_fits_the_number_of_splits(built):
    rows = [{"nmll": 1.0, "dataset": "strange"}] + [{"nmll": 1.0 + split, "split": split} for split in range(3)]
    site = built(*rows)
    assert "● measured on one split." in site["dataset-strange.html"].words
    assert "● measured, mean ± standard error, single splits as faint dots" in site["dataset-energy.html"].words


def test_page_counts_unfinished_splits(built):
    rows = [{"split": split, "nmll": 1.0 + split} for split in range(3)]
    assert "1 of 3 splits" in built(*rows, {"method": "map", "nmll": 0.5})["suite-uci.html"].words


@pytest.mark.parametrize("alone", [True, False])
def test_suite_has_no_table_of_times_if_none_was_measured_alone(built, alone):
    row = {"nmll": 1.0, "rmse": 2.0, "tune_seconds": 3.0, "fit_seconds": 1.0, "exclusive": alone}
    assert ("Wall-clock seconds" in built(row)["suite-uci.html"].words) == alone


@pytest.mark.parametrize(("size", "dense"), [(9, False), (10, True)])
def test_table_of_ten_data_sets_is_dense(built, size, dense):
    page = built(*({"dataset": f"own-{n}", "nmll": 1.0} for n in range(size)))["suite-uci.html"]
    assert ("overview dense" in [attrs.get("class") for tag, attrs in page.tags if tag == "table"]) == dense


def test_further_metrics_can_be_expanded_in_groups(classification_site):
    tables, method = classification_site["dataset-digits-ood.html"].tables, ["Method", "3 splits"]
    assert [*method, "NMLL", "Accuracy", "ECE", "OOD AUROC"] in tables
    assert tables[1:4] == [[*method, "Brier"], [*method, "Entropy"], [*method, "OOD FPR95"]]
    assert "Other metrics Scores 1 metric" in classification_site["dataset-digits-ood.html"].words
    tables, method = classification_site["dataset-energy.html"].tables, ["Method", "1 split"]
    assert [*method, "NMLL", "RMSE", "Tuning + fit, s"] in tables
    assert [*method, "Coverage 90\N{NO-BREAK SPACE}%"] in tables
    assert [*method, "Final fit, s"] in tables


def test_calibration_error_is_shown_with_its_interval(classification_site):
    page = classification_site["dataset-wdbc.html"]
    hints = [attrs["title"] for tag, attrs in page.tags if tag == "td" and "bootstrap" in attrs.get("title", "")]
    assert len(hints) == 2
    assert all("95 % bootstrap interval of a split, on average 0.0400 to 0.0800" in hint for hint in hints)


def test_calibration_error_is_shown_with_its_expectation(built):
    """A method with older rows is neither failed nor without its other numbers."""
    row = {"suite": "images", "dataset": "digits", "task": "multiclass", "nmll": 0.3, "accuracy": 0.9, "ece": 0.05}
    later = dict.fromkeys(set(LATER) & set(CLASSIFICATION), 0.02)
    new = row | later | {"ece_null": 0.031, "ece_null_95": 0.047, "augrc": 0.01}
    page = built(new, row | {"method": "old"})["dataset-digits.html"]
    assert "ECE ECE if calibrated" in page.words
    hints = [attrs["title"] for tag, attrs in page.tags if tag == "td" and attrs.get("title")]
    assert any("a calibrated model would have 0.0310 on average, and up to 0.0470 on a split" in hint for hint in hints)
    assert "not measured: the rows are older than this metric" in hints
    assert "because the rows of old are older than these metrics: ECE if calibrated; " in page.words


def test_data_set_description_counts_classes_and_ood_rows(classification_site):
    words = classification_site.index.words
    assert "64 features, 5 classes, 896 out-of-distribution rows" in words
    assert "30 features, 2 classes" in words


def test_suite_rows_are_sorted_by_mean_rank(classification_site):
    page = classification_site["suite-classification.html"]
    columns = ["Method", "Mean rank", "Win rate", "Difference to map, nats", "digits-ood", "wdbc"]
    assert page.tables[0] == columns
    vifa, reference = (next(row for row in page.rows if row.split()[:1] == [name]) for name in ("vifa", "map"))
    assert re.search(r"vifa +1.0 +1 to 2 +100 % +−0.100", vifa)  # 0.3 against 0.4 on every split
    assert re.search(r"map +2.0 +1 to 2 +0 %", reference)
    assert page.words.index("vifa 1.0") < page.words.index("map 2.0")


def test_each_number_links_to_its_runs_details(several):
    page = several["dataset-energy.html"]
    target = f"#{addresses.fragment('uci', 'paper', 'vifa')}"
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


def test_run_details_show_sampling_noise_of_reference_posterior(several):
    words = several["dataset-wine.html"].words
    assert "Reference posterior nuts" in words
    assert "due to the reference's own sampling noise 0.1200 to 0.1500" in words


def test_large_tables_use_one_line_per_method(built):
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


def test_methods_with_fewer_splits_get_a_separate_table(several):
    """Marks and means of both tables rest on the same splits: ten of the first three methods, two of the others."""
    page = several["dataset-yacht.html"]
    names = [attrs["data-method"] for tag, attrs in page.tags if tag == "tr" and attrs.get("class") == "item"]
    assert names[2:] == ["slang", "vifa", "constant"]
    boards = [attrs["data-board"] for tag, attrs in page.tags if tag == "table" and "data-board" in attrs]
    assert boards == ["uci/yacht/paper", "uci/yacht/paper/fewer"]
    means = {name: next(row for row in page.rows if row.split()[:1] == [name]) for name in LEVELS}
    assert "1.8" in means["map"]
    assert "0.49" in means["vifa"]
    assert "Method 2 splits NMLL" in page.words
    for sentence in (
        "All pairs of 3 methods are compared by corrected t tests over 10 splits.",
        "1 method was run on 2 of 10 splits, and is compared on these with all methods that were run on them, 4 in "
        "number.",
    ):
        assert sentence in page.words


def test_displayed_cost_is_tuning_plus_final_fit(several):
    """The parts are in the tooltip and in the details."""
    page = several["dataset-power.html"]
    assert ["Method", "1 split", "NMLL", "Tuning + fit, s"] in page.tables
    hints = {
        attrs["data-method"]: attrs["title"]
        for tag, attrs in page.tags
        if attrs.get("data-metric") == "total_seconds" and tag == "td"
    }
    assert hints["vifa"].endswith("Tuning, s 2.69, Final fit, s 0.112")
    assert hints["fixed"].endswith("; Final fit, s 0.112")
    assert ["Split", "NMLL", "Tuning, s", "Final fit, s"] in page.tables
    assert "2.80" in page.words


def test_page_explains_missing_figures(several):
    words = several["dataset-kin8nm.html"].words
    assert "There are no PIT figures and curves of risk against coverage: they need predictions of single" in words


def test_coverage_of_methods_without_a_rank_has_no_figure(several):
    assert "mean over data sets: vifa 90 %" not in several.html["suite-uci.html"]
    assert any(link.startswith("dataset-kin8nm.html") for link in several["suite-uci.html"].links)


def test_methods_failing_conformance_checks_are_marked(built):
    outcomes = {"passes": "passed", "fails": "failed", "unknown": "not checked", "vifa": None}
    site = built(*({"method": name, "nmll": 1.0, "checked": outcome} for name, outcome in outcomes.items()))
    words = site["dataset-energy.html"].words
    assert "fails failed its check" in words
    assert "unknown not checked" in words
    assert "python -m methods check unknown tests whether" in site["method-unknown.html"].words
    assert all("methods check" not in site[f"method-{name}.html"].words for name in ("passes", "vifa"))


def test_third_party_formula_is_taken_from_the_docstring(built, monkeypatch):
    described = Card("theirs", "Theirs", idea="They do it.", formula_text="a + b,\n  c")
    monkeypatch.setattr(content, "card", lambda name: described)
    site = built({"method": "theirs", "nmll": 1.0})
    assert "They do it." in site["method-theirs.html"].words
    assert "a + b,\n  c</pre>" in site.html["method-theirs.html"]


@pytest.mark.slow
def test_pages_of_large_sites_stay_small_in_bytes(row, tmp_path):
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


def test_method_page_shows_recorded_training_curves(folder, tmp_path):
    out = folder({"nmll": 2.0})
    path = out / "training" / "uci" / "energy" / "vifa" / "paper-aaaaaaaa" / "split00-seed0.parquet"
    path.parent.mkdir(parents=True)
    rows = [{"update": update, "name": "elbo", "value": -1.0 / update} for update in range(1, 21)]
    pq.write_table(pa.Table.from_pylist(rows, schema=TRAINING), path)
    page = Built(leaderboards.build(out, tmp_path / "site"))["method-vifa.html"]
    assert "elbo against the updates of the final fit" in page.words
