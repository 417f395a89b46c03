"""Numbers that moved between two runs, and comparisons that cannot be made."""

import io

import numpy as np
import pytest
from rich.console import Console
from scipy import stats
from statsmodels.stats.power import TTestPower

from lockstep_bench.leaderboards.comparison.comparison import compare
from lockstep_bench.leaderboards.comparison.report import sentences, show
from lockstep_bench.leaderboards.stats.significance import holm

RNG = np.random.default_rng(0)
BASE = RNG.normal(size=20)
NOISE = 0.1 * RNG.normal(size=20)
INF = float("inf")


@pytest.fixture
def run(cells):
    """Cells of one run from values per split by method; None for a failed split."""

    def make(metric: str = "nmll", first: int = 0, same: dict | None = None, **methods):
        rows = []
        for method, values in methods.items():
            for split, value in enumerate(values, first):
                fate = {"status": "failed"} if value is None else {metric: value}
                rows.append({"method": method, "split": split} | (same or {}) | fate)
        return cells(*rows)

    return make


def verdicts(found) -> dict:
    return found.moves.set_index("method")["verdict"].to_dict()


def test_comparing_a_run_with_itself_finds_no_change(run):
    rows = run(a=[*BASE, None], b=[INF, 1.0, 2.0])
    found = compare(rows, rows)
    assert verdicts(found) == {"a": "same", "b": "same"}
    assert not found.anything
    assert found.comparable


def test_only_consistent_changes_exceed_noise(run):
    old = run(a=BASE, b=BASE, c=BASE)
    new = run(same={"code_revision": "new"}, a=BASE + 0.2 + NOISE, b=BASE - 0.2 + NOISE, c=BASE + NOISE - NOISE.mean())
    found = compare(old, new)
    assert verdicts(found) == {"a": "worse", "b": "better", "c": "noise"}
    assert found.anything
    assert found.moves.loc[0, "change"] == pytest.approx((0.2 + NOISE).mean())


def test_p_values_equal_scipy_with_corrected_variance(run):
    """SciPy's t, whose variance 1 / 20 becomes 1 / 20 + 10 / 90; all numbers are one Holm family."""
    shifts = (0.05, 0.03, 0.0)
    old = run(a=BASE, b=BASE, c=BASE)
    new = run(**{name: BASE + shift + NOISE for name, shift in zip("abc", shifts, strict=True)})
    t = np.array([stats.ttest_1samp(NOISE + shift, 0.0).statistic for shift in shifts])
    raw = 2 * stats.t.sf(np.abs(t) * np.sqrt((1 / 20) / (1 / 20 + 1 / 9)), 19)
    assert compare(old, new).moves["p_value"].tolist() == pytest.approx(holm(raw).tolist())


def test_detectable_change_equals_statsmodels_power(run):
    """At the level where Holm's method stopped: of two changes one is found, so the other is tested at 5 %."""
    found = compare(run(a=BASE, b=BASE), run(a=BASE + 1 + NOISE, b=BASE + NOISE))
    assert verdicts(found) == {"a": "worse", "b": "noise"}
    effect = TTestPower().solve_power(nobs=20, alpha=0.05, power=0.8)  # in standard deviations
    expected = effect * NOISE.std(ddof=1) * np.sqrt(20) * np.sqrt(1 / 20 + 1 / 9)
    assert found.moves["detectable"].tolist() == pytest.approx([expected] * 2, rel=1e-4)


def test_higher_accuracy_and_nearly_nominal_coverage_are_better(run):
    higher = compare(run("accuracy", a=BASE), run("accuracy", a=BASE + 1 + NOISE))
    assert verdicts(higher) == {"a": "better"}
    far, near = run("coverage_90", a=0.97 + 0.01 * BASE), run("coverage_90", a=0.91 + 0.011 * BASE)
    nearer = compare(far, near, metrics=["coverage_90"])
    assert verdicts(nearer) == {"a": "better"}


def test_changed_undirected_metric_gets_the_verdict_moved(run):
    found = compare(run("entropy", a=BASE), run("entropy", a=BASE + 1 + NOISE), metrics=["entropy"])
    assert verdicts(found) == {"a": "moved"}


def test_times_are_compared_only_on_request(run):
    old, new = run("fit_seconds", a=BASE), run("fit_seconds", a=BASE + 1 + NOISE)
    assert compare(old, new).moves.empty
    assert verdicts(compare(old, new, metrics=["fit_seconds"])) == {"a": "worse"}


def test_single_split_gives_no_verdict(run):
    found = compare(run(a=[1.0]), run(a=[9.0], same={"code_revision": "new"}))
    assert verdicts(found) == {"a": "untested"}
    assert not found.anything


def test_different_splits_are_not_compared(run):
    found = compare(run(a=BASE[:8]), run(first=8, a=BASE[8:18] + 3))
    assert found.moves.loc[0, ["verdict", "n"]].tolist() == ["untested", 8]


@pytest.mark.parametrize("column", ["data_sha256", "split_sha256"])
def test_splits_with_different_rows_are_not_paired(run, column):
    found = compare(run(a=BASE, same={column: "x"}), run(a=BASE + 0.001 * NOISE, same={column: "y"}))
    assert verdicts(found) == {"a": "untested"}
    assert found.notes == ["Not paired by split, as the data or the splits differ: energy (uci)."]


@pytest.mark.parametrize(("n_splits", "verdict"), [(4, "untested"), (5, "worse")])
def test_constant_changes_are_significant_from_five_splits(run, n_splits, verdict):
    assert verdicts(compare(run(a=[1.0] * n_splits), run(a=[2.0] * n_splits))) == {"a": verdict}


def test_means_that_become_infinite_count_as_changed(run):
    assert verdicts(compare(run(a=BASE), run(a=[INF, INF, *BASE[2:]]))) == {"a": "worse"}
    assert verdicts(compare(run(a=[INF] * 4), run(a=[INF, INF, INF, 1.0]))) == {"a": "untested"}


def test_changed_status_is_reported_as_better_or_worse(run):
    found = compare(run(a=[None, 1.0]), run(a=[2.0, None]))
    assert found.statuses[["split", "old", "new", "verdict"]].to_numpy().tolist() == [
        [0, "failed", "ok", "better"],
        [1, "ok", "failed", "worse"],
    ]
    assert found.anything


def test_new_and_vanished_cells_do_not_count_as_change(run):
    found = compare(run(a=[1.0, 2.0], b=[1.0]), run(a=[1.0], c=[1.0, 2.0]))
    assert found.vanished[["method", "n"]].to_numpy().tolist() == [["a", 1], ["b", 1]]
    assert found.appeared[["method", "n"]].to_numpy().tolist() == [["c", 2]]
    assert not found.anything


def test_unreproduced_numbers_of_equal_code_are_reported(run):
    found = compare(run(a=[1.0, 2.0]), run(a=[1.0, np.nextafter(2.0, 3.0)]))
    assert found.unsteady[["split", "metric", "old"]].to_numpy().tolist() == [[1, "nmll", 2.0]]
    assert found.anything


@pytest.mark.parametrize(
    "change", [{"code_revision": "new"}, {"code_dirty": True}, {"versions": "{}"}, {"device": "cuda"}, {"seed": 1}]
)
def test_differing_code_device_or_seed_permits_differing_numbers(run, change):
    assert compare(run(a=[1.0]), run(a=[2.0], same=change)).unsteady.empty


@pytest.mark.parametrize(
    ("old", "new", "n_unsteady"),
    [
        ({"code_identity": "e-v"}, {"code_identity": "e-v", "code_revision": "new"}, 1),
        ({"code_identity": "e-v", "code_dirty": True}, {"code_identity": "e-v", "code_dirty": True}, 1),
        ({"code_identity": "e-v"}, {"code_identity": "e-w"}, 0),
        ({"code_identity": "e-v"}, {"code_identity": None}, 1),
        ({"code_identity": "e-v"}, {"code_identity": None, "code_revision": "new"}, 0),
    ],
)
def test_equal_code_identity_overrides_the_commit(run, old, new, n_unsteady):
    comparison = compare(run(a=[1.0], same=old), run(a=[2.0], same=new))
    assert len(comparison.unsteady) == n_unsteady


def test_different_protocols_are_not_compared_but_noted(run):
    found = compare(run(a=BASE), run(a=BASE, same={"protocol_hash": "bbbbbbbb"}))
    assert not found.comparable
    assert found.notes == ["Not compared, as the new results have another protocol: paper (uci)."]


def test_shared_protocol_is_compared_despite_additional_ones(run, cells):
    old = run(a=BASE)
    new = cells(
        *({"method": "a", "split": s, "nmll": v} for s, v in enumerate(BASE)),
        {"method": "a", "nmll": 1.0, "protocol_hash": "bbbbbbbb"},
    )
    found = compare(old, new)
    assert found.moves[["preset", "verdict"]].to_numpy().tolist() == [["paper@aaaaaaaa", "same"]]
    assert found.notes == []


def test_printed_comparison_report_has_every_section(run):
    old = run(a=BASE, b=[None, 1.0], c=[1.0])
    new = run(a=BASE + 1 + NOISE, b=[1.0, 1.5], d=[1.0])
    found = compare(old, new)
    console = Console(record=True, width=140, file=io.StringIO())
    show(found, console)
    text = console.export_text()
    for said in ("Significant changes", "worse", "(n = 20)", "Detectable", "Changed status", "failed", "a bug"):
        assert said in text
    assert sentences(found)[1] == "Only in the old results: 1 cell of 1 method on 1 data set."


def test_empty_result_sets_are_not_comparable(cells):
    found = compare(cells(), cells())
    assert not found.comparable
    assert not found.anything


def test_results_of_an_older_engine_are_reported(cells):
    old = cells(*({"split": split, "nmll": 1.0, "execution": None} for split in range(3)))
    new = cells(*({"split": split, "nmll": 1.0} for split in range(3)))
    assert compare(old, new).notes == ["3 cells of the old results were trained before loops were compiled."]
    assert compare(new, new).notes == []
