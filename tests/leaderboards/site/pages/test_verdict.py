"""The verdict with which the index begins: its sentences, its rows, and each number of its table."""

import re

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.overview import overview
from lockstep_bench.leaderboards.site.pages.verdict import MOST_ROWS
from lockstep_bench.leaderboards.site.pages.verdict_columns import _by_chance

SETS, SPLITS = 6, 4


def run(levels: dict[str, float], **changes) -> list[dict]:
    """Methods at levels of NMLL with a little noise that differs by set and method."""
    rows = []
    for number in range(SETS):
        for split in range(SPLITS):
            for place, (method, level) in enumerate(levels.items()):
                noise = 0.01 * ((7 * number + 3 * place + 5 * split) % 4)
                rows.append({"dataset": f"set-{number}", "method": method, "split": split, "nmll": level + noise})
    return [row | changes for row in rows]


@pytest.fixture
def said(cells):
    def make(*rows: dict):
        frame = cells(*rows)
        frame = frame.assign(folder="", total_seconds=frame["tune_seconds"] + frame["fit_seconds"])
        return overview(Site(Leaderboard((), frame, [], [], [], frame, frame.iloc[:0]))).verdict

    return make


def column(verdict, title: str) -> dict[str, str]:
    (place,) = [place for place, column in enumerate(verdict.columns) if column.title == title]
    return {line.place.method: line.numbers[place] for line in verdict.lines}


def test_sentence_names_a_method_ahead_of_all(said):
    first, second = said(*run({"vifa": 1.0, "map": 2.0, "swag": 3.0})).sentences
    assert first == (
        "By NMLL, over 6 data sets, 4 splits each, `vifa` is the best of 3 methods, one of each family: it beats "
        "every other one significantly."
    )
    assert second == (
        "The 95 % interval of the difference to `map`, of each method by itself and not adjusted for their number, "
        "excludes 0 for 2 of 2 (better: `vifa` (−1.000 nats); worse: `swag` (+1.00 nats))."
    )


def test_sentence_names_two_equal_leaders(said):
    first, _ = said(*run({"vifa": 1.0, "map": 1.0, "swag": 3.0})).sentences
    assert first == (
        "By NMLL, over 6 data sets, 4 splits each, `map` and `vifa` could be the best of 3 methods, one of each "
        "family: each beats at least one other significantly, and none beats them; 1 is beaten significantly by at "
        "least one (95 % for all comparisons together)."
    )


def failed(rows: list[dict], method: str) -> list[dict]:
    """The first split of a method failed."""
    first = next(place for place, row in enumerate(rows) if row["method"] == method)
    rows[first] |= {"status": "failed", "nmll": None}
    return rows


def test_reference_failing_on_one_set_keeps_other_sets(said):
    _, second = said(*failed(run({"vifa": 1.0, "map": 2.0, "swag": 3.0}), "map")).sentences
    better, worse = "`vifa` (−1.00 nats over 5 data sets)", "`swag` (+1.00 nats over 5 data sets)"
    assert second.endswith(f"excludes 0 for 2 of 2 (better: {better}; worse: {worse}).")


def test_reference_failing_on_all_sets_gives_no_intervals(said):
    rows = run({"vifa": 1.0, "map": 2.0, "swag": 3.0})
    for row in rows:
        if (row["method"], row["split"]) == ("map", 0):
            row |= {"status": "failed", "nmll": None}
    _, second = said(*rows).sentences
    assert second == "There are no intervals of differences to `map`, which has no value on some split."


def test_leading_method_with_failures_gets_verdict_failed(said):
    levels = {"vifa": 1.0, "map": 2.0, "swag": 2.0, "slang": 2.0}
    first, second = said(*failed(run(levels), "vifa")).sentences
    assert first.endswith("is shown to beat another one: there is too little evidence; 1 failed on some split.")
    assert second.endswith("excludes 0 for 1 of 3 (better: `vifa` (−1.00 nats over 5 data sets); worse: none).")


def test_row_of_a_failed_method_shows_remaining_results(said):
    """The first row has the difference over the sets without a failure, and says what failed."""
    verdict = said(*failed(run({"vifa": 1.0, "map": 2.0, "swag": 2.0, "slang": 2.0}), "vifa"))
    first, *others = verdict.lines
    assert (first.place.method, first.place.verdict, first.place.n_compared) == ("vifa", "failed", 5)
    assert first.place.difference == pytest.approx(-1, abs=0.01)
    assert first.failed == "failed on 1 of 24 splits: set-0 0"
    assert {line.failed for line in others} == {""}


def test_index_shows_one_mean_rank_per_method(built):
    """With variants of a family, pages give the rank among one method of each family and no other."""
    levels = {"vifa": 1.0, "vifa-lr": 1.1, "map": 2.0, "swag": 3.0}
    rows = [row | {"validation_nmll": levels[row["method"]]} for row in run(levels)]
    site = built(*rows)
    ranks = {"vifa": "1.0", "map": "2.0", "swag": "3.0"}
    for page, n_tables in (("index.html", 2), ("suite-uci.html", 1)):
        for method, expected in ranks.items():
            lines = [row.split() for row in site[page].rows if method in row.split()[:6]]
            lines = [line for line in lines if not {"Method", "variant"} & set(line)][:n_tables]
            assert len(lines) == n_tables
            assert all(expected in line for line in lines), (page, method, lines)
    variant = next(row for row in site["suite-uci.html"].rows if row.split()[:1] == ["vifa-lr"])
    assert "variant of vifa" in " ".join(variant.split())
    assert "Mean rank by NMLL: 2.0 of 3 methods, one of each family, over 6 data sets" in site["method-map.html"].words
    assert "one method of each family, vifa in this one's place" in site["method-vifa-lr.html"].words


def test_unranked_methods_do_not_change_the_columns(said):
    rows = run({"vifa": 1.0, "map": 2.0, "swag": 3.0, "constant": 5.0})
    for row in rows:
        row |= {"coverage_90": 0.95, "tune_seconds": 1.5, "fit_seconds": 0.5} | {"task": "regression"}
    extra = [row | {"dataset": "set-9"} for row in rows if row["method"] == "constant" and row["dataset"] == "set-0"]
    verdict = said(*rows, *extra)
    assert set(column(verdict, "Coverage error, points").values()) == {"5.0 (+5.0)"}
    assert set(column(verdict, "Tuning + fit, s").values()) == {"2.00"}


def test_chance_coverage_error_matches_simulation():
    cells = pd.DataFrame({"split": [0], "n_train": [900], "n_test": [100]})
    draws = np.random.default_rng(0).binomial(100, 0.9, 200_000) / 100
    assert _by_chance(cells) == pytest.approx(100 * np.abs(draws - 0.9).mean(), rel=0.02)


@pytest.mark.parametrize("n_test", [np.nan, 0.0, -5.0])
def test_chance_coverage_error_requires_test_rows(n_test):
    assert np.isnan(_by_chance(pd.DataFrame({"split": [0], "n_train": [90.0], "n_test": [n_test]})))


def test_sentence_does_not_distinguish_equal_methods(said):
    rows = [
        row | {"nmll": 1 + 0.1 * ((row["split"] + len(row["method"])) % 4)}
        for row in run({"vifa": 1, "map": 1, "swag": 1})
    ]
    first, second = said(*rows).sentences
    assert first.endswith(
        "none of 3 methods, one of each family, is shown to beat another one: there is too little evidence."
    )
    assert second == (
        "No method is shown to differ from `map`: all 95 % intervals of the difference, of each method by itself, "
        "include 0."
    )


def test_verdict_table_of_ten_rows_includes_the_reference(said):
    levels = {f"mine-{place:02}": 1 + place / 10 for place in range(12)} | {"map": 9.0}
    verdict = said(*run(levels))
    names = [line.place.method for line in verdict.lines]
    assert names == [*(f"mine-{place:02}" for place in range(MOST_ROWS - 1)), "map"]
    assert verdict.left_out == 3


def test_interval_bars_of_a_table_share_one_axis(said):
    verdict = said(*run({"vifa": 1.0, "map": 2.0, "swag": 3.0}))
    middles = [re.search(r'<circle class="\w+" cx="([\d.]+)%', line.bar)[1] for line in verdict.lines]
    left, zero, right = map(float, middles)
    assert zero == pytest.approx((left + right) / 2, abs=0.1)
    assert {re.search(r'class="zero" x1="([\d.]+)%', line.bar)[1] for line in verdict.lines} == {middles[1]}


def test_verdict_table_numbers_equal_the_results(said):
    rows = run({"vifa": 1.0, "map": 2.0, "swag": 3.0})
    for row in rows:
        far = 0.95 if row["dataset"] < "set-3" else 0.83  # 5 and 7 points from 90 %
        seconds = 1.0 if row["dataset"] < "set-3" else 4.0
        row |= {"rmse": {"vifa": 4.0, "map": 2.0, "swag": 1.0}[row["method"]]}
        row |= {"coverage_90": far, "tune_seconds": seconds, "fit_seconds": 0.1, "task": "regression"}
    rows[0] |= {"status": "failed", "nmll": None, "rmse": None, "coverage_90": None, "fit_seconds": None}
    verdict = said(*rows)
    assert column(verdict, "RMSE") == {"vifa": "+100 % (over 5)", "map": "0", "swag": "−50.0 %"}
    assert column(verdict, "Coverage error, points") == dict.fromkeys(("vifa", "map", "swag"), "6.0 (−1.0)")
    assert column(verdict, "Tuning + fit, s") == dict.fromkeys(("vifa", "map", "swag"), "2.60")
    assert column(verdict, "Failed") == {"vifa": "1 of 24", "map": "0 of 24", "swag": "0 of 24"}


def plain() -> list[dict]:
    """Return rows of three methods on yacht and five sets that nobody knows."""
    rows = run({"vifa": 1.0, "map": 2.0, "swag": 3.0}, protocol='{"epochs": 7}')
    return [row | {"dataset": row["dataset"].replace("set-0", "yacht")} for row in rows]


def in_gaps(levels: dict[str, float], **changes) -> list[dict]:
    """Return rows of three sets with gaps; the fourth split is much worse."""
    rows = [row for row in run(levels) if row["dataset"] in ("set-0", "set-1", "set-2")]
    names = {"set-0": "yacht-gap", "set-1": "boston-gap", "set-2": "energy-gap"}
    values = {"suite": "along features", "preset": "any", "protocol": '{"epochs": 7}'} | changes
    return [
        row | {"dataset": names[row["dataset"]], "nmll": levels[row["method"]] + 100.0 * (row["split"] == 3)} | values
        for row in rows
    ]


def test_gap_column_shows_medians_of_gap_splits(said):
    verdict = said(*plain(), *in_gaps({"vifa": 5.0, "map": 3.0, "swag": 3.5}))
    assert column(verdict, "In gaps, nats") == {"vifa": "+2.00", "map": "0", "swag": "+0.500"}


def test_gap_column_prefers_block_folds(said):
    blocks = in_gaps(
        {"vifa": 4.0, "map": 3.0, "swag": 3.5}, preset="other", protocol='{"epochs": 7, "fold_kind": "block"}'
    )
    verdict = said(*plain(), *in_gaps({"vifa": 5.0, "map": 3.0, "swag": 3.5}), *blocks)
    assert column(verdict, "In gaps, nats") == {"vifa": "+1.00", "map": "0", "swag": "+0.500"}


@pytest.mark.parametrize(
    "changes", [{"dataset": "kin8nm-gap"}, {"dataset": "yacht-tail"}, {"protocol": '{"epochs": 9}'}]
)
def test_gap_column_needs_matching_data_and_protocol(said, changes):
    gaps = [row | changes for row in in_gaps({"vifa": 5.0, "map": 3.0, "swag": 3.5}) if row["dataset"] == "yacht-gap"]
    assert "In gaps, nats" not in [column.title for column in said(*plain(), *gaps).columns]


def test_empty_columns_are_left_out(said):
    verdict = said(*run({"vifa": 1.0, "map": 2.0, "swag": 3.0}))
    assert [column.title for column in verdict.columns] == ["NMLL rank", "Failed"]
