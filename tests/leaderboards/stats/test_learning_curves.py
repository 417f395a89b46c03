"""Verdicts at every number of training rows: false in at most 5 % over all of them, and right where methods differ."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.stats.learning_curves import learning_curves
from lockstep_bench.leaderboards.stats.sign_flips import compare, compare_together
from lockstep_bench.leaderboards.stats.verdicts import verdicts

N_SETS, N_METHODS, N_SIZES = 10, 5, 7


def tables(rng, effects=np.zeros((N_SIZES, N_METHODS))):  # noqa: B008
    """Return losses (D, M) at each size; those of a set at neighbouring sizes are correlated, as nested rows make them.

    Args:
        rng: generator of the draws.
        effects: true mean losses (N_SIZES, N_METHODS).
    """
    noise = rng.normal(size=(N_SIZES, N_SETS, N_METHODS)) * rng.uniform(0.3, 3, size=N_METHODS)
    for size in range(1, N_SIZES):
        noise[size] = 0.8 * noise[size - 1] + 0.6 * noise[size]
    level = rng.normal(size=(N_SIZES, N_SETS, 1)) * 5
    return [level[size] + noise[size] + effects[size] for size in range(N_SIZES)]


def test_some_verdict_is_false_in_at_most_five_percent_over_all_sizes():
    """Of 300 curves of equal methods; 5 % and three standard errors are 8.8 %. One test at each size has twice that."""
    rng, n_curves = np.random.default_rng(0), 300
    together = separate = 0
    for _ in range(n_curves):
        losses = tables(rng)
        together += any(worse.any() for worse in compare_together(losses))
        separate += any(compare(table).worse.any() for table in losses)
    assert together / n_curves < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_curves)
    assert separate / n_curves > 0.1


def test_false_rate_holds_where_other_sizes_differ():
    """Method 0 is far better at the two smallest sizes; claims about the others would be false."""
    rng, n_curves = np.random.default_rng(1), 150
    effects = np.zeros((N_SIZES, N_METHODS))
    effects[:2, 0] = -30
    false = found = 0
    for _ in range(n_curves):
        worse = compare_together(tables(rng, effects))
        found += all(worse[size][1:, 0].all() for size in (0, 1))
        false += any(table.any() for table in worse[2:]) or any(table[:, 1:].any() for table in worse[:2])
    assert found == n_curves
    assert false / n_curves < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_curves)


def test_one_table_gives_the_verdicts_of_a_single_comparison():
    losses = tables(np.random.default_rng(2), np.tile([0, 0, 4, 8, 12], (N_SIZES, 1)))[0]
    (together,) = compare_together([losses])
    assert np.array_equal(together, compare(losses).worse)
    assert together.any()


@pytest.fixture
def curve_cells(cells):
    """Cells of 8 sets at two sizes: `swag` beats `map` by about a nat at n = 50, and they are equal at n = 500."""
    rng, rows = np.random.default_rng(5), []
    for number in range(8):
        for size in (50, 500):
            for split in range(3):
                for method in ("map", "swag", "laplace"):
                    gain = 1.0 if method == "swag" and size == 50 else 0.0
                    value = number + 0.1 * rng.normal() - gain
                    rows.append(
                        {
                            "suite": "learning-curves",
                            "dataset": f"set{number}-n{size}",
                            "method": method,
                            "split": split,
                            "preset": "tuned",
                            "nmll": value,
                        }
                    )
    return rows, cells


def test_method_pays_off_at_the_sizes_where_it_is_better(curve_cells):
    rows, cells = curve_cells
    curves = learning_curves(cells(*rows), "learning-curves", "tuned", "nmll")
    assert curves.pays_off("swag") == ([50], [])
    assert curves.pays_off("laplace") == ([], [])
    at = {(point.size, point.row.method): point.row for point in curves.points}
    assert at[50, "swag"].verdict == "best"
    assert (at[50, "swag"].rank_low, at[50, "swag"].rank_high) == (1, 1)
    assert at[500, "swag"].verdict == "undecided"
    assert at[50, "swag"].low < -1 < at[50, "swag"].high
    assert curves.sets == [f"set{number}" for number in range(8)]


def test_sets_and_methods_that_are_not_everywhere_are_left_out(curve_cells):
    rows, cells = curve_cells
    fewer = [
        row
        for row in rows
        if row["dataset"] != "set7-n500" and (row["method"], row["dataset"]) != ("laplace", "set2-n50")
    ]
    curves = learning_curves(cells(*fewer), "learning-curves", "tuned", "nmll")
    assert "set7" not in curves.sets
    assert {point.row.method for point in curves.points} == {"map", "swag"}
    assert any("a size is missing: set7" in note for note in curves.notes)
    assert any("not run on every set at every size: laplace" in note for note in curves.notes)


def test_set_names_without_sizes_are_refused(cells):
    with pytest.raises(ValueError, match="no set was run at every number"):
        learning_curves(cells({"suite": "learning-curves", "preset": "tuned"}), "learning-curves", "tuned", "nmll")


def test_verdicts_are_those_of_the_joint_comparison(curve_cells):
    rows, cells = curve_cells
    curves = learning_curves(cells(*rows), "learning-curves", "tuned", "nmll")
    means = cells(*rows).groupby(["dataset", "method"])["nmll"].mean().unstack("method")
    tables = [means.loc[[f"set{number}-n{size}" for number in range(8)]].to_numpy() for size in (50, 500)]
    expected = [verdicts(worse, np.zeros(3, bool)) for worse in compare_together(tables)]
    by_size = [{p.row.method: p.row.verdict for p in curves.points if p.size == size} for size in (50, 500)]
    assert [[of_size[name] for name in ("laplace", "map", "swag")] for of_size in by_size] == expected
