"""The papers' numbers."""

import math

import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.estimators import ESTIMATORS
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.leaderboards.data.published import (
    FOLLOWED,
    THESIS,
    VIFA,
    apart,
    difference,
    read_published,
)
from lockstep_bench.leaderboards.metrics import MEASURED, metric
from lockstep_bench.methods.catalogue import registry
from lockstep_bench.shared.method_names import registered
from lockstep_bench.shared.papers.entries import entries


def test_all_published_numbers_have_citable_sources():
    table = read_published()
    assert len(table) == 353 + 2 * 490 + 4 * 23  # of nnuncert a mean and a median each, of LAIR-Net four methods
    assert table["source"].nunique() == 9
    assert not table["source"].str.contains(r"^\d{3}|_|\.txt$").any()
    assert not table.duplicated(["source", "table", "suite", "dataset", "method", "metric", "statistic"]).any()


def test_sampled_published_numbers_equal_those_in_papers():
    table = read_published().set_index(["source", "dataset", "method", "metric", "statistic"])
    vifa = "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning"
    assert table.loc[(vifa, "energy", "vifa", "nmll", "mean"), "value"].item() == 2.53
    assert table.loc[(vifa, "energy", "slang", "nmll", "median"), "value"].item() == 1.19


def test_nnuncert_numbers_are_means_and_medians_over_features():
    """PBP's CRPS on the six features in results/uci/gap/yacht_test.csv at commit 2b02060."""
    table = read_published().set_index(["suite", "dataset", "method", "metric", "statistic"])
    assert table.loc[("uci-gap", "yacht-gap", "pbp", "crps", "median"), "value"].item() == 0.6811
    mean = table.loc[("uci-gap", "yacht-gap", "pbp", "crps", "mean")]
    assert (mean["value"].item(), mean["stderr"].item(), mean["n"].item()) == (0.6937, 0.02, 6)
    dropout = table.xs(("uci-tail", "boston-tail", "mc-dropout", "mean"), level=[0, 1, 2, 4])["incomparable"]
    assert {name for name, reason in dropout.items() if not reason} == {"rmse"}


def test_published_rows_name_registered_methods_or_a_reason():
    table = read_published()
    for suite, rows in table.groupby("suite"):
        assert set(rows["dataset"]) <= set(SUITES[suite].datasets())
    known = table["method"].isin({*registry.names(), *ESTIMATORS}) & table["metric"].isin(MEASURED)
    assert table.loc[~known & (table["incomparable"] == ""), ["table", "method", "metric"]].empty


@pytest.mark.parametrize("paper", dict.fromkeys(entry.paper for entry in entries()))
def test_every_table_of_a_replicated_paper_has_an_entry(paper):
    table = read_published()
    named = {entry.table for entry in entries() if entry.paper == paper}
    assert paper in set(table["source"])
    assert set(table.loc[table["source"] == paper, "table"]) <= named


def test_replications_use_only_registered_names():
    for entry in entries():  # of those without runs, nothing else reads the names
        runs_methods = {method for run in entry.runs for method in run.methods}
        used = {*entry.methods.values(), *runs_methods}
        named = {registered(name.removeprefix("ensemble:")) for name in used}
        assert named <= {*registry.names(), *ESTIMATORS}, entry.name
        assert set(entry.datasets.values()) <= set(datasets.names()), entry.name


def test_published_methods_called_missing_are_really_missing():
    table = read_published()
    lacking = table[table["incomparable"].str.contains("no method here")]
    assert not lacking["method"].isin({*registry.names(), *ESTIMATORS}).any()


def test_every_published_metric_has_a_title():
    assert [name for name in set(read_published()["metric"]) if metric(name).title == name] == []


def test_vi_mean_of_unlu_is_not_tomczaks_learned_mean():
    # Tomczak et al. infer a prior mean; Unlu and Aitchison's VI (Mean) predicts with the posterior's.
    table = read_published()
    theirs = table[table["source"].str.startswith("Unlu") & (table["table"] == "Table 1")]
    by_method = theirs.groupby("method")["incomparable"].agg(lambda reasons: (reasons != "").all())
    assert by_method.to_dict() == {
        "map": False,
        "mfvi": True,
        "mfvi-at-its-mean": True,
        "variational-laplace-tempered": False,
    }


def test_difference_is_measured_in_joint_standard_errors():
    assert difference(2.6, 0.03, 2.5, 0.04) == pytest.approx(2.0)
    assert math.isnan(difference(2.6, math.nan, 2.5, 0.04))
    assert math.isnan(difference(2.6, 0.0, 2.5, 0.0))


@pytest.mark.parametrize(
    ("source", "suite", "preset", "n", "their_n", "words"),
    [
        (VIFA, "uci", "paper", 20, 20, ""),
        (VIFA, "uci", "paper@aaaaaaaa", 20, math.nan, ""),
        (VIFA, "uci", "paper", 5, 20, "5 splits here, 20 there"),
        (VIFA, "uci", "quick", 20, 20, "preset quick follows no paper"),
        (VIFA, "uci", "paper-modified", 20, 20, "preset paper-modified follows no paper"),
        (THESIS, "uci", "paper", 10, 10, "another protocol"),
        (VIFA, "images", "paper", 1, math.nan, "another protocol"),
    ],
)
def test_differing_protocols_make_published_numbers_incomparable(source, suite, preset, n, their_n, words):
    assert apart(source, suite, preset, n, their_n) == words


def test_sources_of_suite_protocols_have_published_numbers():
    pairs = set(read_published()[["suite", "source"]].itertuples(index=False, name=None))
    for suite, sources in FOLLOWED.items():
        assert suite in SUITES
        assert {(suite, source) for source in sources} <= pairs
