"""Ranking of methods by one metric: ranks with their uncertainty, differences to a reference method, and verdicts.

Every mark on a page and every row that `python -m leaderboards rank` prints is computed here. `docs/statistics.md` says
what the verdicts mean and how often they are wrong.

- Over several data sets the statistical unit is the data set: verdicts and confidence sets of ranks are those of
  `sign_flips`, intervals of differences those of the paired t over data sets. Data sets that were made from the same
  rows, such as nested subsamples, are one unit, represented by the mean of their losses.
- On one data set the statistical unit is the split: verdicts and confidence sets of ranks are those of
  `corrected_pairs`, intervals of differences those of the corrected resampled t.

Where each split leaves out values of another feature (`schemes`), the median over splits represents a method on a data
set, and the median of its differences its difference to the reference. On a single such data set, tests and intervals
are those of means.
"""

from collections.abc import Callable, Sequence
from math import isnan, nan
from typing import NamedTuple, Unpack

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import badness, loss
from lockstep_bench.leaderboards.stats import corrected_pairs, sign_flips
from lockstep_bench.leaderboards.stats.best_probability import best_probabilities
from lockstep_bench.leaderboards.stats.comparable import (
    Asked,
    Comparable,
    ComparisonOptions,
    ComparisonRequest,
    SplitScores,
    comparable,
    comparable_on_each,
    request,
)
from lockstep_bench.leaderboards.stats.corrected_t import Mean, corrected_mean, corrected_means
from lockstep_bench.leaderboards.stats.families import family_of
from lockstep_bench.leaderboards.stats.ranks import ranks
from lockstep_bench.leaderboards.stats.remembered import remembered
from lockstep_bench.leaderboards.stats.runs import Runs
from lockstep_bench.leaderboards.stats.units import compared_by_ratio, unit_of_difference
from lockstep_bench.leaderboards.stats.verdicts import OPEN, rank_sets, verdicts

ALL = Asked()


class Ranked(NamedTuple):
    """One method's row of a ranking.

    Attributes:
        method: name of the method.
        family: key of the family of variants that it belongs to.
        mean_rank: mean over data sets of its rank by the mean over splits, or by the median where splits are along
            features; failures share the last ranks.
        rank_low: the best rank in its confidence set, at a level of 95 % for all methods together.
        rank_high: the worst rank in its confidence set.
        difference: mean over data sets of its metric minus the reference method's (of the distances to the nominal
            value if the metric has one), in the unit of `Ranking.unit`, over those on which neither failed on a split.
            NaN for the reference, and if there is no data set left.
        low: lower end of the 95 % interval of `difference`, for this method alone.
        high: upper end of this interval.
        p_best: probability that it is the best (`best_probability`).
        verdict: one of `verdicts.VERDICTS`.
        n_datasets: number of data sets.
        n_splits: number of splits, on all data sets together.
        n_failed: number of these splits on which it has no value.
        n_compared: number of data sets with rows of their own (on one data set: splits) behind `difference`; 0 without
            one.
        detectable: the smallest true difference to the reference for which the interval excludes 0 with 80 %
            probability.
        needed: data sets (on one data set: splits) that would detect a difference as large as the one seen with 80 %
            probability; inf if no number would.
        floor: the limit of `detectable` as the number of splits of the same data sets grows; 0 for independent ones.
        verdict_detectable: the smallest true difference to another method that the tests behind verdicts detect with 80
            % probability (median over the other methods); over data sets in the unit of `difference`, on one data set
            in that of the metric. inf if none is detected.
        verdict_needed: number of data sets (on one data set: of splits) at which these tests distinguish the method
            from the leading one with 80 % probability, if they differ as observed; for the leading method, from the
            second. inf if no number suffices; NaN if the rank is decided, and for failures.
    """

    method: str
    family: str
    mean_rank: float
    rank_low: int
    rank_high: int
    difference: float
    low: float
    high: float
    p_best: float
    verdict: str
    n_datasets: int
    n_splits: int
    n_failed: int
    n_compared: int
    detectable: float
    needed: float
    floor: float
    verdict_detectable: float
    verdict_needed: float


class Ranking(NamedTuple):
    """A ranking of methods.

    Attributes:
        rows: one row per method, the best mean rank first; on one data set, only the methods that were run on the most
            splits.
        unit: unit of the differences: "relative" for ratios minus 1, "nats", or "" for the unit of the metric.
        reference: method that differences refer to; "" without one.
        datasets: names of the data sets used.
        notes: sentences on what was left out, and why.
        ranks: ranks of each method on `datasets`.
        fewer: on one data set, rows of the methods that were run on fewer splits, the most splits first. Each is ranked
            on its own splits, among all methods that were run on these.
    """

    rows: list[Ranked]
    unit: str
    reference: str
    datasets: list[str]
    notes: list[str]
    ranks: dict[str, tuple[float, ...]]
    fewer: list[Ranked]

    @property
    def all_rows(self) -> list[Ranked]:
        """All rows: `rows`, followed by `fewer`."""
        return [*self.rows, *self.fewer]


def rank(cells: pd.DataFrame, suite: str, preset: str, metric: str, **options: Unpack[ComparisonOptions]) -> Ranking:
    """Return the ranking of methods over the data sets of a suite, or over the splits if there is only one data set.

    Args:
        cells: columns of `shared.schema.CELLS`, with labelled presets.
        suite: name of the suite.
        preset: label of the preset.
        metric: a column that has a direction in which it is better.
        options: those of `ComparisonOptions`.

    Raises:
        ValueError: The metric has no direction.
    """
    return rank_runs(Runs.of(cells, suite, preset), metric, **options)


def rank_runs(runs: Runs, metric: str, **options: Unpack[ComparisonOptions]) -> Ranking:
    """Return the ranking of methods by one metric, from runs of one suite and preset; see `rank`."""
    requested = request(runs, metric, **options)
    boards = comparable(requested)
    if len(boards.by_dataset) == 1:
        (dataset,) = boards.by_dataset
        alone = requested._replace(runs=requested.runs.chosen(datasets=[dataset]))
        ranking = _on_each(alone)[dataset]
        return ranking._replace(notes=list(dict.fromkeys([*boards.notes, *ranking.notes])))
    return over_datasets(boards, requested.asked)


def over_datasets(boards: Comparable, asked: Asked = ALL) -> Ranking:
    """Return the ranking of methods over data sets, from results in which every method was run on every split."""
    rows = remembered(_over_datasets, boards, asked) if boards.by_dataset and boards.methods else []
    n_datasets = len(set(boards.origins))
    if len(rows) > 1 and n_datasets < len(boards.by_dataset):
        boards.notes.append(
            f"The {len(boards.by_dataset)} data sets have the rows of {n_datasets}. Those with the same rows count as "
            "one in tests and intervals, by the mean of their differences."
        )
    if len(rows) > 1 and n_datasets < sign_flips.FEWEST_DATASETS:
        boards.notes.append(
            f"No verdicts over {n_datasets} data sets: with fewer than {sign_flips.FEWEST_DATASETS}, chance puts one "
            "of two equally good methods ahead on all of them in more than 5 % of leaderboards."
        )
    return _ranking(boards, rows)


def rank_on_datasets(
    cells: pd.DataFrame, suite: str, preset: str, metric: str, **options: Unpack[ComparisonOptions]
) -> dict[str, Ranking]:
    """Return a separate ranking of methods for each data set.

    On at least 95 % of data sets no verdict is false. A method that was not run on a data set is missing only from that
    data set's ranking. A method that was run on fewer of its splits is in `Ranking.fewer`; its comparisons have a 95 %
    guarantee of their own. Args and errors are those of `rank`.
    """
    return rank_runs_on_datasets(Runs.of(cells, suite, preset), metric, **options)


def rank_runs_on_datasets(runs: Runs, metric: str, **options: Unpack[ComparisonOptions]) -> dict[str, Ranking]:
    """Return a ranking for each data set, from runs of one suite and preset; see `rank_on_datasets`."""
    return _on_each(request(runs, metric, **options))


def _on_each(requested: ComparisonRequest) -> dict[str, Ranking]:
    all_boards = comparable_on_each(requested)
    most, fewer = ([boards for boards in all_boards if boards.fewer == fewer] for fewer in (False, True))
    rankings = {
        next(iter(boards.by_dataset)): _ranking(boards, rows)
        for boards, rows in zip(most, _on_datasets(most, requested.asked), strict=True)
    }
    for boards, rows in zip(fewer, _on_datasets(fewer, requested.asked), strict=True):
        (dataset,) = boards.by_dataset
        ranking = rankings[dataset]
        notes = list(dict.fromkeys([*ranking.notes, *boards.notes]))
        placed = [row for row in rows if row.method in boards.placed]
        rankings[dataset] = ranking._replace(notes=notes, fewer=[*ranking.fewer, *placed])
    return rankings


def _ranking(boards: Comparable, rows: list[Ranked]) -> Ranking:
    parts = list(boards.by_dataset.values())
    on_each = ranks(np.stack([_means(board, boards) for board in parts])) if parts else np.empty((0, 0))
    by_method = dict(zip(boards.methods, map(tuple, on_each.T.tolist()), strict=False))
    unit = unit_of_difference(boards.metric)
    return Ranking(rows, unit, boards.reference, list(boards.by_dataset), boards.notes, by_method, [])


def on_each_dataset(boards: Comparable, asked: Asked = ALL) -> dict[str, Ranking]:
    """Return a separate ranking for each data set, from results in which every method was run on every split."""
    parts = [boards._replace(by_dataset={name: board}, notes=[]) for name, board in boards.by_dataset.items()]
    rows = _on_datasets(parts, asked)
    return {next(iter(part.by_dataset)): _ranking(part, of_part) for part, of_part in zip(parts, rows, strict=True)}


class _Places(NamedTuple):
    """Comparisons of the methods with each other.

    Attributes:
        losses: mean losses over splits (D, M); NaN for failures.
        worse: booleans (M, M), the row's method is significantly worse than the column's.
        probability: probability of being the best (M,).
        detectable: `Ranked.verdict_detectable` (M,).
        needed: function of two method indices: the number of data sets or splits that would distinguish the two; None
            if it is not asked for.
    """

    losses: np.ndarray
    worse: np.ndarray
    probability: np.ndarray
    detectable: np.ndarray
    needed: Callable[[int, int], float] | None = None


def _over_datasets(boards: Comparable, asked: Asked) -> list[Ranked]:
    parts = list(boards.by_dataset.values())
    losses = np.stack([_means(board, boards) for board in parts])
    typical = boards.by_origin(np.stack([_typical_differences(board, boards) for board in parts]))
    differences = [corrected_mean(of_method[~np.isnan(of_method)]) for of_method in typical.T]
    unknown = np.full(len(boards.methods), nan)
    if not asked.tests:
        untested = np.zeros((len(unknown), len(unknown)), bool)
        return _rows(boards, parts, _Places(losses, untested, unknown, unknown), differences, asked.power)
    compared = sign_flips.compare(losses_over_datasets(boards))
    detectable = compared.detectable() if asked.power else unknown
    if compared_by_ratio(boards.metric):
        detectable = np.expm1(detectable)
    odds = asked.power and asked.odds
    probability = best_probabilities(boards.by_origin(losses)) if odds else unknown
    places = _Places(losses, compared.worse, probability, detectable, compared.needed if odds else None)
    return _rows(boards, parts, places, differences, asked.power)


def _on_datasets(all_boards: Sequence[Comparable], asked: Asked) -> list[list[Ranked]]:
    """Return the rows of each item, which has a single data set."""
    return [remembered(_on_dataset, boards, asked) for boards in all_boards]


def _on_dataset(boards: Comparable, asked: Asked) -> list[Ranked]:
    (board,) = boards.by_dataset.values()
    losses = losses_over_splits(board, boards)
    pairs = corrected_pairs.all_pairs(losses, board.ratio, boards.tested)
    unknown = np.full(len(boards.methods), nan)
    odds = asked.power and asked.odds
    places = _Places(
        _means(board, boards)[None],
        pairs.worse,
        best_probabilities(losses, board.ratio) if odds else unknown,
        pairs.detectable() if asked.power else unknown,
        pairs.needed if odds else None,
    )
    return _rows(boards, [board], places, _differences(board, boards), asked.power)


def _rows(
    boards: Comparable, parts: list[SplitScores], places: _Places, differences: list[Mean], power: bool
) -> list[Ranked]:
    """Return the rows, the best mean rank first."""
    failures = np.sum([np.isnan(board.scores).sum(axis=0) for board in parts], axis=0)
    mean_ranks = ranks(places.losses).mean(axis=0)
    first, last = rank_sets(places.worse)
    judged = verdicts(places.worse, failures > 0)
    n_splits = sum(len(board.scores) for board in parts)
    order = sorted(range(len(boards.methods)), key=lambda m: (mean_ranks[m], boards.methods[m]))
    open_places = [m for m in order if judged[m] in OPEN]
    rows = []
    for m in order:
        rival = next((k for k in open_places if k != m), None)
        settled = judged[m] not in OPEN or rival is None
        difference = differences[m]
        value, low, high = _in_metric(difference, boards)
        rows.append(
            Ranked(
                method=boards.methods[m],
                family=family_of(boards.methods[m]),
                mean_rank=float(mean_ranks[m]),
                rank_low=int(first[m]),
                rank_high=int(last[m]),
                difference=value,
                low=low,
                high=high,
                p_best=float(places.probability[m]),
                verdict=judged[m],
                n_datasets=len(parts),
                n_splits=n_splits,
                n_failed=int(failures[m]),
                n_compared=0 if isnan(difference.mean) else difference.n,
                detectable=_size(difference.detectable(), boards),
                needed=difference.needed() if power else nan,
                floor=_size(difference.floor(), boards),
                verdict_detectable=float(places.detectable[m]),
                verdict_needed=nan if settled or rival is None or not places.needed else places.needed(m, rival),
            )
        )
    return rows


def losses_over_datasets(boards: Comparable) -> np.ndarray:
    """Return losses of M methods on D data sets (D, M), as logarithms if the metric is compared by ratios.

    Data sets with the same rows are one (`Comparable.by_origin`).
    """
    losses = np.stack([_means(board, boards) for board in boards.by_dataset.values()])
    if compared_by_ratio(boards.metric):
        with np.errstate(divide="ignore"):
            losses = np.log(losses)
    return boards.by_origin(losses)


def losses_over_splits(board: SplitScores, boards: Comparable) -> np.ndarray:
    """Return the losses (S, M) of methods on the splits of a data set."""
    return _losses(board.scores, boards.goal)


def _means(board: SplitScores, boards: Comparable) -> np.ndarray:
    """Return the losses (M,) of the means or medians over splits; NaN for a method that failed on a split."""
    with np.errstate(invalid="ignore"):
        return badness((np.median if board.by_median else np.mean)(board.scores, axis=0), boards.goal)


def _losses(scores: np.ndarray, goal: str | float) -> np.ndarray:
    """Return `metrics.loss` of each column of scores (S, M); NaN values stay NaN."""
    if isinstance(goal, str):
        return np.ascontiguousarray(scores if goal == "low" else -scores)
    columns = []
    for column in scores.T:
        known = ~np.isnan(column)
        losses = column.copy()
        losses[known] = loss(column[known], goal)
        columns.append(losses)
    return np.column_stack(columns)


def _differences(board: SplitScores, boards: Comparable) -> list[Mean]:
    """Return each method's mean difference of losses to the reference; of log losses for metrics compared by ratio."""
    values, reference = np.ascontiguousarray(board.scores.T), board.reference
    compared = ~np.isnan(values).any(axis=1) & (not np.isnan(reference).any())
    compared &= np.array(boards.methods) != boards.reference
    values = values[compared]
    with np.errstate(divide="ignore", invalid="ignore"):
        if compared_by_ratio(boards.metric):
            means, mean_of_reference = values.mean(axis=1)[:, None], reference.mean()
            log_ratios = np.log(means) - np.log(mean_of_reference)
            by_split = log_ratios + values / means - reference / mean_of_reference  # delta method
        else:
            by_split = _losses(values.T, boards.goal).T - loss(reference, boards.goal) if len(values) else values
    made = iter(corrected_means(np.ascontiguousarray(by_split), board.ratio))
    unknown = corrected_mean(np.array([nan]))
    return [next(made) if known else unknown for known in compared]


def _typical_differences(board: SplitScores, boards: Comparable) -> list[float]:
    """Return each method's difference of losses to the reference on a data set: the mean over splits, or the median."""
    means = [difference.mean for difference in _differences(board, boards)]
    if not board.by_median:
        return means
    return [mean if np.isnan(mean) else _median_difference(board, m, boards) for m, mean in enumerate(means)]


def _median_difference(board: SplitScores, m: int, boards: Comparable) -> float:
    values, reference = board.scores[:, m], board.reference
    if compared_by_ratio(boards.metric):
        return float(np.median(np.log(values) - np.log(reference)))
    return float(np.median(loss(values, boards.goal) - loss(reference, boards.goal)))


def _in_metric(difference: Mean, boards: Comparable) -> tuple[float, float, float]:
    """Return a difference of losses and its interval in the unit of the ranking."""
    mean, low, high = difference.mean, difference.low, difference.high
    if boards.goal == "high":
        mean, low, high = -mean, -high, -low
    if compared_by_ratio(boards.metric):
        mean, low, high = (float(np.expm1(end)) for end in (mean, low, high))
    return mean, low, high


def _size(size: float, boards: Comparable) -> float:
    """Return the size of a difference of losses in the unit of the ranking."""
    return float(np.expm1(size)) if compared_by_ratio(boards.metric) else size
