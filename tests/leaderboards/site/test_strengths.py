"""Sentences on the strengths and weaknesses of a method."""

import pandas as pd
import pytest

from lockstep_bench.leaderboards.site.standings import standings_of
from lockstep_bench.leaderboards.site.strengths import measured
from lockstep_bench.leaderboards.stats.ranking import rank_runs_on_datasets
from lockstep_bench.leaderboards.stats.runs import Runs


@pytest.fixture
def say(cells):
    """The sentences about a method, from rows."""

    def of(method: str, *rows: dict, covered=(), statuses=("ok",)):
        table = cells(*rows).assign(total_seconds=lambda frame: frame["fit_seconds"])
        runs = Runs.of(table, "uci", "paper")
        by_metric = {
            name: standings_of(runs, name, rank_runs_on_datasets(runs, name, families=False))
            for name in ("nmll", "total_seconds")
        }
        return measured(method, "nmll", by_metric, pd.Series(dict(covered), dtype=float), list(statuses))

    return of


def rows_of(n_splits: int = 8, **levels: tuple[float, float]) -> list[dict]:
    """`levels`: method -> NMLL on energy and on wine; spread a little over splits, alike for all."""
    return [
        {
            "method": method, "dataset": dataset, "split": split,
            "nmll": level + 0.01 * split + 0.001 * (split % 3) * len(method),
            "fit_seconds": 2.0 if method == "map" else 6.0,
        }
        for method, pair in levels.items() for dataset, level in zip(("energy", "wine"), pair, strict=True)
        for split in range(n_splits)
    ]  # fmt: skip


def test_significant_differences_become_strengths_or_weaknesses(say):
    found = say("vifa", *rows_of(map=(1.0, 1.0), vifa=(0.5, 1.7), swa=(3.0, 3.0)))
    better = next(sentence for sentence in found.strengths if sentence.startswith("Better than map"))
    worse = next(sentence for sentence in found.weaknesses if sentence.startswith("Worse than map"))
    assert (
        "on 1 of 2 data sets, where the 95 % interval of the difference excludes 0: energy −0.499 nats." in better
    )  # 0.5 less what the spread adds, 0.001
    assert "excludes 0: wine +0.701 nats." in worse
    marked = (
        "Significantly better by NMLL than another method, and no method is significantly better, "
        "on 1 of 2 data sets: energy."
    )
    assert marked in found.strengths
    assert "Significantly worse by NMLL than another method on 1 of 2 data sets: wine." in found.weaknesses


def test_insignificant_difference_is_neither_strength_nor_weakness(say):
    rows = rows_of(map=(1.0, 1.0), vifa=(1.0, 1.0))
    for row in rows:
        if row["method"] == "vifa":
            row["nmll"] += 0.5 * (-1) ** row["split"]
    found = say("vifa", *rows)
    assert not [one for one in found.strengths + found.weaknesses if "than map" in one]


def test_runtime_is_stated_relative_to_the_reference_method(say):
    found = say("vifa", *rows_of(map=(1.0, 1.0), vifa=(0.5, 0.5)))
    assert any(
        "Tuning and the final fit take 3.00 times as long as map's (3.00 to 3.00)" in one for one in found.others
    )


@pytest.mark.parametrize(("share", "said"), [(0.7, "too narrow"), (0.9, "about right"), (0.99, "too wide")])
def test_coverage_is_compared_with_its_nominal_value(say, share, said):
    found = say("map", *rows_of(map=(1.0, 1.0)), covered={"energy": share, "wine": share}.items())
    where = found.strengths if said == "about right" else found.weaknesses
    assert any(f"{100 * share:.0f} % of test points, mean over 2 data sets: {said}." in one for one in where)


def test_sentences_about_one_data_set_count_nothing(say):
    rows = [row for row in rows_of(map=(1.0, 1.0), vifa=(0.5, 1.7)) if row["dataset"] == "energy"]
    found = say("vifa", *rows, covered={"energy": 0.9}.items())
    rank = "Rank by NMLL: 1 of 2 methods, one of each family, on one data set; no other is left open."
    assert rank in found.strengths
    assert any("geometric mean over 8 splits." in one for one in found.others)
    assert any("Better than map by NMLL on the only data set, where" in one for one in found.strengths)
    assert "90 % intervals cover 90 % of test points, on one data set: about right." in found.strengths
    assert "The only cell finished." in found.strengths


def test_only_family_has_no_rank(say):
    found = say("vifa", *rows_of(vifa=(0.5, 1.7), **{"vifa-lr": (3.0, 3.0)}))
    assert not [one for some in found for one in some if "ank by" in one]


def test_failures_are_listed_as_weaknesses_by_kind(say):
    found = say("map", *rows_of(map=(1.0, 1.0)), statuses=("ok", "failed", "diverged", "failed"))
    assert "3 of 4 cells did not finish: 1 diverged, 2 failed." in found.weaknesses


def test_single_split_gives_no_comparison_with_reference(say):
    found = say("vifa", *rows_of(n_splits=1, map=(1.0, 1.0), vifa=(0.5, 0.5)))
    assert "There are too few common splits for a comparison with map." in found.others
