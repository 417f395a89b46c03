"""Rankings: their parts, and the kept rows against SciPy, statsmodels, and baycomp."""

from math import inf, isnan, nan
from pathlib import Path

import baycomp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.stats import paired
from lockstep_bench.leaderboards.stats.comparable import comparable_on_each, request
from lockstep_bench.leaderboards.stats.ranking import rank, rank_on_datasets
from lockstep_bench.leaderboards.stats.runs import Runs
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
from lockstep_bench.methods import UNRANKED


def rows_of(values: dict[str, dict[str, list]], metric: str = "nmll", **columns) -> list[dict]:
    """Return rows of data set -> method -> values per split; a value None is a failed split."""
    return [
        {"dataset": dataset, "method": method, "split": split, "n_train": 90, "n_test": 10, **columns}
        | ({"status": "failed"} if value is None else {metric: value})
        for dataset, methods in values.items()
        for method, by_split in methods.items()
        for split, value in enumerate(by_split)
    ]


def by_method(ranking) -> dict:
    return {row.method: row for row in ranking.rows}


def board(levels: dict[str, float], n_datasets: int, n_splits: int, noise: float = 0.1) -> dict:
    rng = np.random.default_rng(0)  # of each board, so that tests do not depend on their order
    return {
        f"d{d}": {m: list(level + noise * rng.normal(size=n_splits)) for m, level in levels.items()}
        for d in range(n_datasets)
    }


def test_clear_winner_gets_the_verdict_best(cells):
    levels = {"map": 2.0, "vifa": 3.0, "swag": 1.0}
    ranking = rank(cells(*rows_of(board(levels, 8, 3, 0.01))), "uci", "paper", "nmll")
    assert [(row.method, row.verdict, row.rank_low, row.rank_high) for row in ranking.rows] == [
        ("swag", "best", 1, 1),
        ("map", "worse", 2, 2),
        ("vifa", "worse", 3, 3),
    ]
    assert ranking.rows[0].p_best > 0.95


def test_subsamples_of_a_set_count_as_one(cells):
    """Three sizes of each of eight sets give the verdicts, intervals and probabilities of the eight means."""
    rng = np.random.default_rng(0)
    levels = {"map": 2.0, "vifa": 2.0, "swag": 1.9}
    bases = ["kin8nm", "naval", "power", "protein", "gp-pumadyn32nm", "gp-pol", "gp-elevators", "gp-bike"]
    nested, means = {}, {}
    for base in bases:
        losses = {m: level + 0.1 * rng.normal() + 0.001 * rng.normal(size=3) for m, level in levels.items()}
        for number, size in enumerate((50, 100, 200)):
            nested[f"{base}-n{size}"] = {method: [values[number]] for method, values in losses.items()}
        means[base] = {method: [values.mean()] for method, values in losses.items()}
    found, expected = (rank(cells(*rows_of(values)), "uci", "paper", "nmll") for values in (nested, means))
    assert found.notes[0].startswith("The 24 data sets have the rows of 8.")
    assert not expected.notes
    for one, other in zip(found.rows, expected.rows, strict=True):
        assert (one.n_datasets, other.n_datasets) == (24, 8)
        alike = ("method", "verdict", "rank_low", "rank_high", "n_compared", "p_best")
        assert all(getattr(one, name) == getattr(other, name) for name in alike)
        for name in ("difference", "low", "high", "detectable", "verdict_detectable"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), nan_ok=True)


def test_fewer_than_six_sets_have_no_verdicts_however_many_subsamples(cells):
    names = [f"{base}-n{size}" for base in ("kin8nm", "power") for size in (50, 100, 200, 500)]
    ranking = rank(cells(*rows_of({name: {"map": [2.0], "swag": [1.0]} for name in names})), "uci", "paper", "nmll")
    assert {row.verdict for row in ranking.rows} == {"undecided"}
    assert any(note.startswith("No verdicts over 2 data sets") for note in ranking.notes)


def test_differences_have_the_sign_of_the_metric(cells):
    accuracy = {"d1": {"map": [0.8, 0.8], "swag": [0.9, 0.9]}, "d2": {"map": [0.7], "swag": [0.9]}}
    ranking = rank(cells(*rows_of(accuracy, "accuracy")), "uci", "paper", "accuracy")
    swag = by_method(ranking)["swag"]
    assert swag.mean_rank == 1
    assert swag.difference == pytest.approx(0.15)
    assert swag.low < swag.difference < swag.high
    assert isnan(by_method(ranking)["map"].difference)


def test_coverages_are_compared_by_distance_to_nominal_value(cells):
    coverage = {"d1": {"map": [0.99, 0.99], "swag": [0.94, 0.94]}, "d2": {"map": [0.91], "swag": [0.96]}}
    ranking = rank(cells(*rows_of(coverage, "coverage_95")), "uci", "paper", "coverage_95")
    assert by_method(ranking)["swag"].difference == pytest.approx(-0.03)
    assert "Differences are of the distance to 0.95: below 0 is nearer than map." in ranking.notes


def test_ratio_metrics_have_relative_differences(cells):
    rmse = {"d1": {"map": [1.0], "swag": [0.5]}, "d2": {"map": [100.0], "swag": [50.0]}}
    ranking = rank(cells(*rows_of(rmse, "rmse")), "uci", "paper", "rmse")
    assert ranking.unit == "relative"
    assert by_method(ranking)["swag"].difference == pytest.approx(-0.5)


def test_single_data_set_is_ranked_by_its_splits(cells):
    values = board({"map": 1.0, "swag": 2.0, "vifa": 1.0, "slang": 1.0}, 1, 6)
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll")
    assert ranking == rank_on_datasets(cells(*rows_of(values)), "uci", "paper", "nmll")["d0"]
    assert by_method(ranking)["swag"].verdict == "worse"
    assert by_method(ranking)["swag"].n_splits == 6


@pytest.mark.parametrize("n_datasets", [1, 6])
def test_skipping_power_analysis_keeps_the_verdicts(cells, n_datasets):
    rows = cells(*rows_of(board({"swag": 1.0, "mfvi": 2.0, "map": 2.01, "vifa": 3.0}, n_datasets, 6)))
    whole, brief = (rank(rows, "uci", "paper", "nmll", power=power) for power in (True, False))
    further = dict.fromkeys(("p_best", "needed", "verdict_detectable", "verdict_needed"), 0.0)
    without_further = ([str(row._replace(**further)) for row in ranking.rows] for ranking in (brief, whole))
    assert len(set(map(tuple, without_further))) == 1  # as text, in which NaN is equal to NaN
    assert all(np.isnan(row.p_best) for row in brief.rows)


@pytest.mark.parametrize("n_datasets", [1, 6])
def test_skipping_odds_keeps_all_other_numbers(cells, n_datasets):
    rows = cells(*rows_of(board({"swag": 1.0, "mfvi": 2.0, "map": 2.01, "vifa": 3.0}, n_datasets, 6)))
    whole, brief = (rank(rows, "uci", "paper", "nmll", odds=odds) for odds in (True, False))
    unknown = {"p_best": nan, "verdict_needed": nan}
    assert [str(row._replace(**unknown)) for row in whole.rows] == list(map(str, brief.rows))


def test_skipping_tests_keeps_ranks_and_differences(cells):
    rows = cells(*rows_of(board({"swag": 1.0, "mfvi": 2.0, "map": 2.01, "vifa": 3.0}, 6, 6)))
    whole, untested = (rank(rows, "uci", "paper", "nmll", tests=tests).rows for tests in (True, False))
    of_tests = {"rank_low": 1, "rank_high": 4, "verdict": "undecided"}
    unknown = dict.fromkeys(("p_best", "verdict_detectable", "verdict_needed"), nan)
    assert [str(row._replace(**of_tests, **unknown)) for row in whole] == list(map(str, untested))


def test_single_split_leaves_every_method_undecided(cells):
    ranking = rank(cells(*rows_of({"d": {"map": [1.0], "swag": [2.0]}})), "uci", "paper", "nmll")
    assert [row.verdict for row in ranking.rows] == ["undecided", "undecided"]
    assert [(row.rank_low, row.rank_high) for row in ranking.rows] == [(1, 2), (1, 2)]
    assert isnan(ranking.rows[1].low)


def test_splits_sharing_one_test_set_are_not_tested(cells):
    values = {"mnist": {"map": [1.0, 1.1, 1.2], "swag": [2.0, 2.2, 2.1]}}
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll")
    assert {row.verdict for row in ranking.rows} == {"undecided"}
    assert ranking.notes == ["Not tested by splits, as all splits have the same test rows: mnist."]


def test_failures_count_against_a_method_and_absences_do_not(cells):
    values = board({"map": 1.0, "swag": 0.5, "vifa": 2.0}, 8, 2)
    values["d0"]["swag"][1] = None
    del values["d1"]["vifa"]
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll", methods=["map", "swag", "vifa"])
    swag, vifa = by_method(ranking)["swag"], by_method(ranking)["vifa"]
    assert (swag.verdict, swag.n_failed, swag.n_splits, swag.n_datasets) == ("failed", 1, 14, 7)
    assert swag.mean_rank == pytest.approx((6 * 1 + 3) / 7)
    assert swag.difference == pytest.approx(-0.5, abs=0.1)
    assert (swag.n_compared, vifa.n_compared) == (6, 7)
    assert vifa.mean_rank == pytest.approx((6 * 3 + 2) / 7)
    assert ranking.notes == [
        "Data sets left out: d1 (not run: vifa).",
        "Failed: swag (1 of 14 splits: d0 1). A method ranks last where it failed and cannot be called best; its "
        "difference is over the other data sets.",
    ]


def test_missing_cells_matter_only_on_their_data_set(cells):
    values = board({"map": 1.0, "swag": 0.5, "vifa": 9.0}, 3, 5)
    del values["d1"]["vifa"]
    rankings = rank_on_datasets(cells(*rows_of(values)), "uci", "paper", "nmll")
    assert {dataset: sorted(by_method(ranking)) for dataset, ranking in rankings.items()} == {
        "d0": ["map", "swag", "vifa"],
        "d1": ["map", "swag"],
        "d2": ["map", "swag", "vifa"],
    }
    assert by_method(rankings["d0"])["vifa"].verdict == "worse"


@pytest.fixture
def with_fewer() -> dict:
    """Four methods on 20 splits of a data set, one of which leads, and two variants on the first five."""
    levels = {"map": 1.0, "swag": 0.9, "mfvi": 1.02, "slang": 1.03, "swag-diag": 0.9, "mfvi-mean": 5.0}
    values = board(levels, 2, 20, 0.02)
    for variant in ("swag-diag", "mfvi-mean"):
        values["d0"][variant] = values["d0"][variant][:5]
        del values["d1"][variant]
    return values


def test_method_with_fewer_splits_does_not_affect_others(cells, with_fewer):
    full = {dataset: {m: v for m, v in methods.items() if len(v) == 20} for dataset, methods in with_fewer.items()}
    found, alone = (
        rank_on_datasets(cells(*rows_of(values)), "uci", "paper", "nmll", families=False)["d0"]
        for values in (with_fewer, full)
    )
    places = [found.rows, alone.rows]
    assert str(places[0]) == str(places[1])  # as text, in which NaN is equal to NaN
    assert {row.verdict for row in found.rows} == {"best", "worse"}
    assert [(row.method, row.verdict, row.n_splits) for row in found.fewer] == [
        ("swag-diag", "could be best", 5),
        ("mfvi-mean", "worse", 5),
    ]
    assert (found.fewer[1].rank_low, found.fewer[1].rank_high, found.fewer[1].mean_rank) == (6, 6, 6)


def test_every_pair_of_methods_is_tested_once(cells, with_fewer):
    """Six pairs of the methods with all splits on each set, and in a family of their own nine with a variant."""
    boards = comparable_on_each(request(Runs.of(cells(*rows_of(with_fewer)), "uci", "paper"), "nmll", families=False))
    n_pairs = [(int(np.triu(part.tested, 1).sum()), part.fewer) for part in boards]
    assert n_pairs == [(6, False), (9, True), (6, False)]


def test_ranking_lists_methods_with_fewer_splits_separately(cells, with_fewer):
    ranking = rank(cells(*rows_of({"d0": with_fewer["d0"]})), "uci", "paper", "nmll", families=False)
    assert [row.method for row in ranking.fewer] == ["swag-diag", "mfvi-mean"]
    assert ranking.notes == [
        "2 methods were run on 5 of 20 splits, and are compared on these with all methods that were run on them, 6 in "
        "number."
    ]


@pytest.mark.parametrize(
    ("failed", "n_compared", "note"),
    [
        (["d0"], 2, "No differences on d0: map has no value on some split."),
        (["d0", "d2"], 1, "No differences on d0, d2: map has no value on some split."),
        (["d0", "d1", "d2"], 0, "No differences: map has no value on some split."),
    ],
)
def test_no_differences_are_taken_where_the_reference_failed(cells, failed, n_compared, note):
    values = board({"map": 1.0, "swag": 0.5}, 3, 2)
    for dataset in failed:
        values[dataset]["map"][0] = None
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll")
    swag = by_method(ranking)["swag"]
    assert (swag.n_compared, isnan(swag.difference)) == (n_compared, n_compared == 0)
    assert note in ranking.notes


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        ({"d0": [1]}, "1 of 12 splits: d0 1"),
        ({"d0": [0, 1]}, "2 of 12 splits: d0 0 and 1"),
        ({"d0": [0, 1, 2], "d2": [3]}, "4 of 12 splits: d0 0–2, d2 3"),
    ],
)
def test_failed_splits_are_named_in_notes(cells, failed, words):
    values = board({"map": 1.0, "swag": 0.5}, 3, 4)
    for dataset, splits in failed.items():
        for split in splits:
            values[dataset]["swag"][split] = None
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll")
    assert f"swag ({words})" in " ".join(ranking.notes)


def test_reference_method_need_not_be_ranked(cells):
    values = board({"map": 1.0, "swag": 0.5, "vifa": 2.0}, 3, 2)
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll", methods=["swag", "vifa"])
    assert [row.method for row in ranking.rows] == ["swag", "vifa"]
    assert ranking.rows[0].difference == pytest.approx(-0.5, abs=0.2)
    assert max(row.rank_high for row in ranking.rows) == 2


def test_variants_of_a_family_share_one_place(cells):
    values = board({"map": 3.0, "swag": 1.0, "swa": 1.1, "swag-diag": 1.2, "vifa": 4.0}, 6, 2, 0.01)
    rows = [row | {"validation_nmll": {"swa": 0.0}.get(row["method"], 1.0)} for row in rows_of(values)]
    ranking = rank(cells(*rows), "uci", "paper", "nmll")
    assert [(row.method, row.family, row.mean_rank) for row in ranking.rows] == [
        ("swa", "swag", 1),
        ("map", "map", 2),
        ("vifa", "vifa", 3),
    ]
    assert ranking.notes == ["One method of each family, by validation score; 5 variants were run."]
    assert len(rank(cells(*rows), "uci", "paper", "nmll", families=False).rows) == 5


def test_infinite_values_rank_last_without_interval(cells):
    values = {f"d{d}": {"map": [1.0, 1.0], "swag": [1.0, inf]} for d in range(3)}
    swag = by_method(rank(cells(*rows_of(values)), "uci", "paper", "nmll"))["swag"]
    assert (swag.mean_rank, swag.difference) == (2, inf)
    assert isnan(swag.low)


def test_ties_share_ranks_and_stay_undecided(cells):
    values = {f"d{d}": {"map": [1.0, 2.0], "swag": [1.0, 2.0]} for d in range(9)}
    ranking = rank(cells(*rows_of(values)), "uci", "paper", "nmll")
    assert [(row.mean_rank, row.verdict, row.p_best) for row in ranking.rows] == [(1.5, "undecided", 0.5)] * 2


def test_empty_results_give_an_empty_ranking(cells):
    assert rank(cells({"nmll": None}), "uci", "paper", "nmll").rows == []
    with pytest.raises(ValueError, match="no direction"):
        rank(cells({"nmll": 1.0}), "uci", "paper", "entropy")


def test_decided_ranks_require_no_further_splits(cells):
    ranking = by_method(
        rank(cells(*rows_of(board({"map": 2.0, "vifa": 3.0, "swag": 1.0}, 8, 3, 0.01))), "uci", "paper", "nmll")
    )
    assert all(isnan(row.verdict_needed) for row in ranking.values())
    assert all(0 < row.verdict_detectable < 0.1 for row in ranking.values())


def test_undecided_ranks_state_how_many_splits_decide(cells):
    """Two data sets can tell no method from another, whatever their values; six are the fewest that could."""
    values = board({"map": 2.0, "vifa": 3.0, "swag": 1.0}, 2, 3, 0.01)
    ranking = by_method(rank(cells(*rows_of(values)), "uci", "paper", "nmll"))
    assert {row.verdict for row in ranking.values()} == {"undecided"}
    assert {row.verdict_detectable for row in ranking.values()} == {inf}
    assert {row.verdict_needed for row in ranking.values()} == {6}


def test_detectable_floor_exceeds_differences_no_split_resolves(cells):
    values = board({"map": 1.0, "swag": 1.05}, 1, 5)
    swag = by_method(rank(cells(*rows_of(values)), "uci", "paper", "nmll"))["swag"]
    assert 0 < swag.floor < swag.detectable
    assert swag.needed == inf
    assert abs(swag.difference) < swag.floor


@pytest.fixture(scope="module")
def kept() -> pd.DataFrame:
    return with_labelled_presets(read_results(Path(leaderboards.__file__).parent / "results").cells)


def means_of_sets(kept: pd.DataFrame, preset: str, metric: str) -> pd.DataFrame:
    """Return means over splits, data sets by methods that were run on all splits and are ranked."""
    table = paired(kept, "uci", preset, metric)
    run = table.tried.columns[table.tried.all()].difference(UNRANKED)
    return table.observed[run].groupby(level="dataset").agg(lambda values: values.mean(skipna=False))


def test_ranking_of_stored_results_agrees_with_statsmodels(kept):
    """Differences over data sets are paired t intervals of statsmodels; mean ranks are those of pandas."""
    ranking = rank(kept, "uci", "tuned", "nmll", families=False)
    means = means_of_sets(kept, "tuned", "nmll")
    expected = means.rank(axis=1, na_option="bottom").mean()
    assert {row.method: row.mean_rank for row in ranking.rows} == pytest.approx(expected.to_dict())
    for row in ranking.rows:
        if row.method != "map" and not row.n_failed:
            known = DescrStatsW((means[row.method] - means["map"]).to_numpy())
            low, high = known.tconfint_mean(0.05)
            assert (row.difference, row.low, row.high) == pytest.approx((known.mean, low, high))


def test_ranking_of_stored_results_agrees_with_baycomp(kept):
    """On one data set: the correlated t test of baycomp, with the correlation n_test / n."""
    table = paired(kept, "uci", "paper", "nmll")
    for dataset, n_test, n_train in (("yacht", 31, 277), ("concrete", 103, 927)):
        ranking = rank(kept, "uci", "paper", "nmll", datasets=[dataset], families=False)
        values = table.observed.loc[dataset]
        for row in ranking.rows:
            if row.method == "map":
                continue
            differences = (values[row.method] - values["map"]).to_numpy()
            # baycomp takes 1 / (folds) as the correlation; its posterior of independent values is rescaled here
            posterior = baycomp.CorrelatedTTest(np.zeros(5), differences, runs=1)
            by_fold = posterior.var / (1 / 5 + 1 / 4)
            stderr = np.sqrt(by_fold * (1 / 5 + n_test / n_train))
            expected = stats.t.interval(0.95, posterior.df, posterior.mean, stderr)
            assert (row.low, row.high) == pytest.approx(tuple(expected))


def test_stored_result_of_huge_variance_stays_undecided(kept):
    """On naval one split ruins the mean of variational-laplace: -3.44 +- 1.34 is neither better nor worse."""
    naval = by_method(rank_on_datasets(kept, "uci", "tuned", "nmll", families=False)["naval"])
    assert naval["variational-laplace"].verdict == "undecided"
    assert (naval["variational-laplace"].rank_low, naval["variational-laplace"].rank_high) == (1, 15)
    assert naval["mc-dropout"].verdict == "worse"  # -3.81 +- 0.13


def test_unknown_ranking_numbers_are_nan_not_zero(cells):
    ranking = rank(cells(*rows_of({"d": {"swag": [1.0, 2.0]}})), "uci", "paper", "nmll")
    assert ranking.reference == ""
    assert ranking.rows[0].difference is not None
    assert isnan(ranking.rows[0].difference)
    assert isnan(ranking.rows[0].detectable) or ranking.rows[0].detectable == nan
