"""Entries beside their rows: which numbers are compared with which, and what is missing."""

import json
from datetime import UTC, datetime
from math import isnan

import pytest

from lockstep_bench.leaderboards.replications.comparison import replications
from lockstep_bench.leaderboards.replications.lines import in_words
from lockstep_bench.shared.papers.entries import Claim

NAME = "made-up-table-1"


def rows(method: str = "vifa", values: tuple[float, ...] = (2.0, 2.1, 2.2), **changes) -> list[dict]:
    numbers = zip((0, 1, 4), values, strict=False)
    return [{"preset": NAME, "method": method, "split": s, "nmll": v} | changes for s, v in numbers]


def test_published_number_is_compared_with_its_replication_rows(cells, published, entry):
    (made,) = replications(cells(*rows(), *rows(values=(9.0, 9.0), preset="paper")), published({}), [entry()])
    (row,) = made.compared
    assert (row.ours.value, row.ours.n) == pytest.approx((2.1, 3))
    assert (row.verdict, made.verdict, made.status, made.n_agree, made.cells) == ("agrees", "agrees", "run", 1, 3)
    assert [gap.missing for gap in made.gaps] == ["not run"] * 5  # wine, map and mfvi


def test_published_method_names_are_mapped_to_ours(cells, published, entry):
    numbers = published({"method": "VI", "dataset": "energy2", "metric": "ll", "incomparable": "not ours"})
    mapped = entry(methods={"VI": "vifa"}, datasets={"energy2": "energy"}, metrics={"ll": "nmll"})
    (made,) = replications(cells(*rows()), numbers, [mapped])
    assert made.compared[0].verdict == "agrees"


def test_published_metric_may_be_a_recorded_diagnostic(cells, published, entry):
    found = rows(diagnostics=json.dumps({"elbo": 2.0, "broken": None}))
    (made,) = replications(cells(*found), published({"metric": "elbo"}, {"metric": "broken"}), [entry()])
    assert [row.verdict for row in made.compared] == ["agrees", "not compared"]
    assert made.compared[1].reason == "not measured by these rows"


def test_replication_of_selected_methods_ignores_other_methods(cells, published, entry):
    numbers = published({}, {"method": "map"}, {"method": "VI"})
    (made,) = replications(cells(*rows(), *rows("map")), numbers, [entry(of=("map",))])
    assert [row.method for row in made.compared] == ["map"]


def test_replication_may_cover_part_of_a_table(cells, published, entry):
    (made,) = replications(cells(*rows()), published({}, {"method": "map"}), [entry(of=("vifa",))])
    assert [row.method for row in made.compared] == ["vifa"]


def test_published_median_is_compared_with_measured_median(cells, published, entry):
    (made,) = replications(cells(*rows(values=(1.0, 1.5, 9.0))), published({"statistic": "median"}), [entry()])
    assert made.compared[0].ours.value == 1.5


def test_seeds_of_a_split_count_as_one_observation(cells, published, entry):
    (made,) = replications(cells(*rows(), *rows(seed=1, nmll=3.0)), published({}), [entry()])
    assert (made.compared[0].ours.value, made.compared[0].ours.n) == pytest.approx((2.55, 3))


def test_times_are_compared_as_ratios(cells, published, entry, ratio):
    numbers = published(
        {"metric": "epoch_s", "value": 5.0, "incomparable": "seconds on another machine"},
        {"metric": "epoch_s", "value": 2.0, "method": "map", "incomparable": "seconds on another machine"},
    )
    measured = [*rows(sgd_ratio=6.0), *rows("map", sgd_ratio=2.0)]
    (made,) = replications(cells(*measured), numbers, [entry(ratios={"epoch_s": ratio})])
    (row,) = made.compared
    assert (row.theirs.value, row.ours.value, row.verdict, row.over) == (2.5, 3.0, "agrees", "map")
    (untimed,) = replications(cells(*rows(), *rows("map")), numbers, [entry(ratios={"epoch_s": ratio})])
    assert untimed.compared[0].reason == "not timed alone on an idle device"


def test_failed_and_missing_splits_are_reported(cells, published, entry):
    failed = {"preset": NAME, "split": 4, "status": "failed", "error": "boom"}
    (made,) = replications(cells(*rows(values=(2.0, 2.1)), failed), published({}), [entry()])
    assert made.compared[0].missing == "2 of 3 splits; 1 failed"
    assert made.gaps[0] == ("energy", "vifa", "2 of 3 splits; 1 failed")
    assert made.failures == 1
    (made,) = replications(cells(*rows(values=(2.0,))), published({}), [entry()])
    assert made.compared[0].missing == "not complete: 1 of 3"
    (made,) = replications(cells(failed), published({}), [entry()])
    assert made.compared[0].reason == "1 split failed"


def test_published_number_without_rows_is_not_compared(cells, published, entry):
    numbers = published({"dataset": "wine"}, {"method": "gone", "incomparable": "nobody's method"})
    (made,) = replications(cells(*rows()), numbers, [entry()])
    assert [row.reason for row in made.compared] == ["not run", "nobody's method"]
    assert all(isnan(row.ours.value) for row in made.compared)
    assert made.verdict == ""


def test_only_rows_of_the_latest_protocol_count(cells, published, entry):
    later = rows(values=(3.0, 3.1, 3.2), protocol_hash="bbbbbbbb", finished_at=datetime(2026, 2, 1, tzinfo=UTC))
    (made,) = replications(cells(*rows(), *later), published({}), [entry()])
    assert (made.compared[0].ours.value, made.earlier) == (pytest.approx(3.1), 3)


def test_replication_may_reuse_another_replications_rows(cells, published, entry):
    second = entry(name="made-up-figure-2", table="Figure 2", same_rows_as=NAME, runs=())
    (_, made) = replications(cells(*rows(), *rows("map", (3.0, 3.2, 3.1))), published({}), [entry(), second])
    assert (made.compared, made.status, made.verdict_on_claims) == ((), "run", "1 holds")


def test_replication_is_unavailable_if_its_source_rows_are(cells, published, entry):
    second = entry(name="made-up-figure-2", table="Figure 2", same_rows_as=NAME, runs=())
    (_, made) = replications(cells(rows()[0]).iloc[:0], published({}), [entry(unavailable="a GPU"), second])
    assert (made.status, made.unavailable) == ("not run here", "a GPU")


@pytest.mark.parametrize("written", ["mfvi(tempering=1e-6,mean=true)", "mfvi(mean=true, tempering=0.000001)"])
def test_equivalent_spellings_of_method_options_match(cells, published, entry, written):
    (made,) = replications(
        cells(*rows("mfvi(mean=true,tempering=1e-06)")), published({}), [entry(methods={"vifa": written})]
    )
    assert made.compared[0].verdict == "agrees"


def test_claims_are_judged_where_both_methods_ran(cells, published, entry):
    claims = (
        Claim("vifa beats map", "nmll", "vifa", "below", "map"),
        Claim("tempered beats map", "nmll", "mfvi(tempering=0.1)", "below", "map", datasets=("energy",)),
        Claim("vifa beats another", "nmll", "vifa", "below", "another"),
    )
    found = [*rows(), *rows("map", (3.0, 3.2, 3.1)), *rows("mfvi(tempering=0.1)", (4.0, 4.2, 4.1))]
    (made,) = replications(cells(*found), published({}), [entry(claims=claims)])
    assert [[(t.dataset, t.verdict) for t in claim.tests] for claim in made.claims] == [
        [("energy", "holds"), ("wine", "not run")],
        [("energy", "contradicted")],
        [],
    ]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "not run yet"),
        ({"runs": (), "unavailable": "40 hours of a GPU"}, "not run here"),
        ({"runs": (), "test": "tests/test_theorems.py"}, "test"),
    ],
)
def test_replications_without_rows_have_a_status(cells, published, entry, changes, status):
    (made,) = replications(cells(*rows(preset="paper")), published({}), [entry(**changes)])
    assert (made.status, made.verdict, made.verdict_on_claims) == (status, "", "")


def test_holms_correction_covers_all_numbers_of_a_replication(cells, published, entry):
    # |d| = 2.07 with 38 degrees of freedom: beyond 2 by itself, not among eight numbers.
    values = {f"set-{k}": [2.0 + 0.1 * (-1) ** s for s in range(20)] for k in range(8)}
    found = [
        {"preset": NAME, "dataset": name, "split": s, "nmll": v}
        for name, all_ in values.items()
        for s, v in enumerate(all_)
    ]
    stderr = 0.1 * (20 / 19) ** 0.5 / 20**0.5
    shift = 2.07 * stderr * 2**0.5
    numbers = published(
        *({"dataset": name, "stderr": stderr, "value": 2.0 + shift * (name == "set-0")} for name in values)
    )
    (made,) = replications(cells(*found), numbers, [entry()])
    assert [row.verdict for row in made.compared].count("differs") == 1
    assert (made.verdict, made.n_agree) == ("agrees", 7)
    numbers.loc[0, "value"] = 2.0 + 2 * shift
    (made,) = replications(cells(*found), numbers, [entry()])
    assert (made.verdict, made.n_agree) == ("differs in 1 of 8", 7)


def test_printed_verdict_counts_incomplete_runs(cells, published, entry):
    (made,) = replications(cells(*rows()), published({}), [entry()])
    assert in_words(made) == "agrees; 5 runs not complete"
