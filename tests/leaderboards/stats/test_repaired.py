"""The order of methods on a published set and on its repaired version."""

import pytest

from lockstep_bench.leaderboards.stats.repaired import repairs

PUBLISHED, REPAIRED = "gp-solar", "gp-solar-grouped"


def rows_of(dataset, **scores):
    return [
        {"suite": "uci-gp", "dataset": dataset, "preset": "tuned", "method": method, "split": split, "nmll": value}
        for method, values in scores.items()
        for split, value in enumerate(values)
    ]


def test_ranks_are_by_means_of_flagged_splits_too(cells):
    rows = rows_of(PUBLISHED, map=[1, 2], swag=[2, 3], vifa=[3, 3.5]) + rows_of(REPAIRED, map=[5], swag=[3], vifa=[4])
    (repair,) = repairs(cells(*rows))
    assert (repair.published, repair.repaired) == (PUBLISHED, REPAIRED)
    assert (repair.n_published, repair.n_repaired) == (2, 1)
    assert repair.places == [
        ("swag", 2.5, 3.0, 2, 1),
        ("vifa", 3.25, 4.0, 3, 2),
        ("map", 1.5, 5.0, 1, 3),
    ]
    assert (repair.swapped, repair.n_pairs) == (2, 3)


def test_unfinished_methods_and_baselines_are_left_out(cells):
    rows = rows_of(PUBLISHED, map=[1, 2], swag=[2, 3], constant=[0, 0], vifa=[1, 1])
    rows += rows_of(REPAIRED, map=[1], swag=[2], constant=[0], vifa=[1])
    rows[-1] |= {"status": "failed", "nmll": None}
    (repair,) = repairs(cells(*rows))
    assert [place.method for place in repair.places] == ["map", "swag"]
    assert repair.swapped == 0


@pytest.mark.parametrize("other", ["gp-wine-grouped", "yacht"])
def test_data_sets_without_a_second_version_are_not_compared(cells, other):
    scores = {"map": [1], "swag": [2]}
    assert repairs(cells(*rows_of(PUBLISHED, **scores), *rows_of(other, **scores))) == []
    assert repairs(cells(*rows_of(PUBLISHED, map=[1]), *rows_of(REPAIRED, map=[1]))) == []
