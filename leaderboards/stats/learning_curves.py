"""Scores against the number of training rows, with verdicts that hold together at all numbers.

A data set `NAME-n200` has 200 training rows of NAME, and smaller sizes have some of these (suite `learning-curves`). At
each size, methods are compared over the sets NAME, as in `ranking`. The sizes share rows, so their verdicts depend on
each other. The sign-flip test of `sign_flips` is therefore made once, for all pairs of methods at all sizes: if two
methods are equally good at a size, the differences of a set can change their sign, together with those at other sizes.
The probability that at least one claim at any size is false is at most 5 %.
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.stats import sign_flips
from lockstep_bench.leaderboards.stats.comparable import REFERENCE, comparable, request
from lockstep_bench.leaderboards.stats.ranking import Ranked, losses_over_datasets, over_datasets
from lockstep_bench.leaderboards.stats.runs import Runs
from lockstep_bench.leaderboards.stats.verdicts import rank_sets, verdicts
from lockstep_bench.methods import is_ranked

NAME = re.compile(r"(.+)-n(\d+)")


class Point(NamedTuple):
    """A method at one number of training rows.

    Attributes:
        size: number of training rows.
        row: its row of the ranking at this size. Verdict and rank set hold at all sizes together; the interval of the
            difference to the reference is that of this method at this size alone.
        against: "better" or "worse" if it differs from the reference at this size; "" if not. The test keeps its level
            over all sizes together.
    """

    size: int
    row: Ranked
    against: str


class Curves(NamedTuple):
    """The curves of all methods.

    Attributes:
        points: points by size, and within a size by mean rank.
        unit: unit of the differences (`ranking.Ranking.unit`).
        reference: method that differences refer to.
        sets: the sets that are compared, which have every size.
        notes: sentences on what was left out.
    """

    points: list[Point]
    unit: str
    reference: str
    sets: list[str]
    notes: list[str]

    def pays_off(self, method: str) -> tuple[list[int], list[int]]:
        """Return the sizes at which a method is better than the reference, and those at which it is worse."""
        of_method = [point for point in self.points if point.row.method == method]
        better, worse = ([point.size for point in of_method if point.against == word] for word in ("better", "worse"))
        return better, worse


def learning_curves(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    methods: tuple[str, ...] = (),
    reference: str = REFERENCE,
) -> Curves:
    """Return the curves of methods in a suite of nested subsamples.

    Sets that lack one of the sizes are left out, with a note, and so are methods that were not run everywhere.

    Args:
        cells: columns of `shared.schema.CELLS`, with labelled presets.
        suite: name of the suite.
        preset: label of the preset.
        metric: a column that has a direction in which it is better.
        methods: methods to compare; all but the baseline `constant` if empty.
        reference: method that differences refer to.

    Raises:
        ValueError: The metric has no direction, or no set has several sizes.
    """
    chosen = cells[(cells["suite"] == suite) & (cells["preset"] == preset)]
    if methods:
        chosen = chosen[chosen["method"].isin([*methods, reference])]
    sizes, sets, notes = _common(chosen)
    everywhere = _everywhere(chosen, sizes, sets)
    names = [method for method in sorted(everywhere) if (method in methods if methods else is_ranked(method))]
    if left := sorted({*chosen["method"]} - everywhere):
        notes.append(f"Left out, because they were not run on every set at every size: {', '.join(left)}.")
    runs, rankings, boards_at = Runs.of(chosen, suite, preset), {}, {}
    for size in sizes:
        of_size = [f"{name}-n{size}" for name in sets]
        asked = request(runs, metric, methods=names, datasets=of_size, reference=reference, power=False)
        boards_at[size] = comparable(asked)
        rankings[size] = over_datasets(boards_at[size], asked.asked)
        notes += [note for note in rankings[size].notes if note not in notes]
    ordered = [_in_order(losses_over_datasets(boards_at[size]), list(boards_at[size].by_dataset)) for size in sizes]
    points = []
    for size, worse in zip(sizes, sign_flips.compare_together(ordered), strict=True):
        boards, failed = boards_at[size], {row.method: row.n_failed > 0 for row in rankings[size].rows}
        judged = verdicts(worse, np.array([failed[method] for method in boards.methods]))
        low, high = rank_sets(worse)
        place = {method: number for number, method in enumerate(boards.methods)}
        base = place.get(reference)
        for row in rankings[size].rows:
            m = place[row.method]
            settled = row._replace(verdict=judged[m], rank_low=int(low[m]), rank_high=int(high[m]))
            points.append(Point(size, settled, "" if base is None else _against(worse, m, base)))
    unit = rankings[sizes[0]].unit
    return Curves(points, unit, reference, sets, notes)


def _against(worse: np.ndarray, method: int, reference: int) -> str:
    return "worse" if worse[method, reference] else "better" if worse[reference, method] else ""


def _common(cells: pd.DataFrame) -> tuple[list[int], list[str], list[str]]:
    """Return the sizes, the sets that have all of them, and a note on the others."""
    found: dict[str, set[int]] = {}
    for dataset in cells["dataset"].unique():
        if match := NAME.fullmatch(str(dataset)):
            found.setdefault(match[1], set()).add(int(match[2]))
    sizes = sorted(set().union(*found.values()))
    sets = sorted(name for name, own in found.items() if len(own) == len(sizes))
    if not sets:
        raise ValueError("no set was run at every number of training rows")
    others = sorted(found.keys() - set(sets))
    return sizes, sets, [f"Left out, because a size is missing: {', '.join(others)}."] if others else []


def _everywhere(cells: pd.DataFrame, sizes: list[int], sets: list[str]) -> set[str]:
    """Return the methods that were run on every set at every size."""
    wanted = {f"{name}-n{size}" for name in sets for size in sizes}
    by_method = cells.groupby("method")["dataset"].agg(set)
    return {str(method) for method, own in by_method.items() if wanted <= own}


def _in_order(losses: np.ndarray, datasets: list[str]) -> np.ndarray:
    """Return the rows of losses (D, M) in the order of the sets' names without the size."""
    bases = [NAME.fullmatch(name) for name in datasets]
    order = np.argsort([base[1] for base in bases if base])
    return losses[order]
