"""The ranking of methods by one metric: places with their uncertainty, differences to a reference, and a verdict each.

Every mark on a page and every row of `python -m leaderboards rank` comes from here. `docs/statistics.md` says what the
verdicts mean and how often they are wrong.

- Over data sets the unit is the data set: `elimination` for verdicts and sets of ranks, the paired t over data sets for
  differences.
- On one data set the unit is the split: `moderated_t` for verdicts and sets of ranks, the corrected resampled t for
  differences.
"""

from collections.abc import Collection, Sequence
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from leaderboards.metrics import badness, loss
from leaderboards.stats import elimination, moderated_t
from leaderboards.stats.balanced import balanced
from leaderboards.stats.best_probability import best_probabilities
from leaderboards.stats.corrected_t import Mean, corrected_mean
from leaderboards.stats.dependence import ratios
from leaderboards.stats.families import family_of, representatives
from leaderboards.stats.paired import paired
from leaderboards.stats.placing import rank_sets, verdicts
from leaderboards.stats.relative import REFERENCE, compared_by_ratio, unit_of_difference
from leaderboards.wording.formats import counted, visible


class Ranked(NamedTuple):
    """One method's row of a ranking.

    Attributes:
        method: name.
        family: key of its family.
        mean_rank: mean over data sets of its rank by the mean over splits; failures share the last ranks.
        rank_low: the best rank that the results leave open, at 95 % for all methods together.
        rank_high: the worst such rank.
        difference: mean over data sets of its metric less the reference's, in the unit of `Ranking.unit`. NaN for the
            reference, and where one of the two has no value on a split.
        low: lower end of the 95 % interval of `difference`, for this method alone.
        high: upper end.
        p_best: probability that it is the best (`best_probability`).
        verdict: one of `placing.VERDICTS`.
        n_datasets: number of data sets.
        n_splits: number of splits, on all data sets together.
        n_failed: on how many of them it has no value.
        detectable: the smallest difference to the reference that would have been detected with 80 % probability.
        needed: data sets (on one data set: splits) that would detect a difference as large as the one seen with 80 %
            probability; inf if no number would.
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
    detectable: float
    needed: float


class Ranking(NamedTuple):
    """A ranking of methods.

    Attributes:
        rows: of each method, the best mean rank first.
        unit: of differences: "relative" for ratios less 1, "nats", or "" for the unit of the metric.
        reference: method that differences refer to; "" without one.
        datasets: names of the data sets used.
        notes: sentences on what was left out, and why.
    """

    rows: list[Ranked]
    unit: str
    reference: str
    datasets: list[str]
    notes: list[str]


class _Board(NamedTuple):
    """A data set of a ranking.

    Attributes:
        scores: values of the metric (S, M), NaN where a method failed.
        reference: values of the reference (S,); NaN where it has none.
        ratio: of the split scheme.
    """

    scores: np.ndarray
    reference: np.ndarray
    ratio: float


class _Boards(NamedTuple):
    """The data sets of a ranking, by name, and what all have in common."""

    by_dataset: dict[str, _Board]
    methods: list[str]
    metric: str
    goal: str | float
    reference: str
    notes: list[str]


def rank(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    methods: Collection[str] = (),
    datasets: Collection[str] = (),
    families: bool = True,
    reference: str = REFERENCE,
) -> Ranking:
    """Return the ranking over the data sets of a suite; over the splits if there is one data set.

    Args:
        cells: columns of `bench.schema.CELLS`, with labelled presets.
        suite: name of the suite.
        preset: label of the preset.
        metric: a column that has a direction in which it is better.
        methods: those to rank, and no others. Data sets that one of them was not run on are left out.
        datasets: those to use; all by default.
        families: whether one method represents each family, where no methods are named.
        reference: method that differences refer to.

    Raises:
        ValueError: The metric has no direction.
    """
    shown, notes = _shown(cells, suite, preset, metric, methods, datasets, families, reference)
    boards = _boards(shown, suite, preset, metric, methods, reference, notes)
    if len(boards.by_dataset) == 1:
        (rows,) = _on_datasets([boards])
        return Ranking(rows, _unit(metric), boards.reference, list(boards.by_dataset), boards.notes)
    rows = _over_datasets(boards) if boards.by_dataset and boards.methods else []
    return Ranking(rows, _unit(metric), boards.reference, list(boards.by_dataset), boards.notes)


def rank_on_datasets(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    methods: Collection[str] = (),
    datasets: Collection[str] = (),
    families: bool = True,
    reference: str = REFERENCE,
) -> dict[str, Ranking]:
    """Return the ranking on each data set by itself. One promise covers all: any mark is false in 5 % of leaderboards.

    A method that was not run on a data set is missing from its ranking alone. Args and errors are those of `rank`.
    """
    shown, notes = _shown(cells, suite, preset, metric, methods, datasets, families, reference)
    all_boards = {
        str(dataset): _boards(part, suite, preset, metric, methods, reference, notes)
        for dataset, part in shown.groupby("dataset")
    }
    all_boards = {dataset: boards for dataset, boards in all_boards.items() if boards.by_dataset}
    return {
        dataset: Ranking(rows, _unit(metric), boards.reference, [dataset], boards.notes)
        for (dataset, boards), rows in zip(all_boards.items(), _on_datasets(list(all_boards.values())), strict=True)
    }


def _shown(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    methods: Collection[str],
    datasets: Collection[str],
    families: bool,
    reference: str,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of the methods to rank and of the reference, and a note if these represent families.

    Raises:
        ValueError: The metric has no direction.
    """
    rows = cells[(cells["suite"] == suite) & (cells["preset"] == preset)]
    if datasets:
        rows = rows[rows["dataset"].isin(list(datasets))]
    shown = list(methods) or paired(rows, suite, preset, metric).methods
    notes: list[str] = []
    if families and not methods:
        chosen = representatives(rows[rows["method"].isin(shown)], reference)
        if len(chosen) < len(shown):
            n_variants = counted(len(shown), "variant")
            notes = [f"One method of each family, by validation score; {n_variants} were run."]
        shown = list(chosen.values())
    rows = rows[rows["method"].isin([*shown, reference])]
    return rows.assign(ranked=rows["method"].isin(shown)), notes


def _boards(
    rows: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    methods: Collection[str],
    reference: str,
    notes: list[str],
) -> _Boards:
    """Return the comparable part of rows (`_shown`): every method was run on every split of every data set."""
    ranked = paired(rows[rows["ranked"]], suite, preset, metric)
    part = balanced(ranked, methods)
    notes = [*notes, *part.left_out]
    goal, table = part.table.goal, part.table
    values = paired(rows[rows["method"] == reference], suite, preset, metric).observed
    of_reference = pd.Series(nan, table.observed.index)
    if reference in values:
        of_reference = values[reference].reindex(table.observed.index)
    if of_reference.isna().any():
        notes.append(f"No differences: {visible(reference)} has no value on some split.")
    by_ratio = ratios(rows)
    by_dataset = {
        str(dataset): _Board(
            values.to_numpy(float), of_reference.loc[values.index].to_numpy(float), by_ratio[str(dataset)]
        )
        for dataset, values in table.observed.groupby(level="dataset")
    }
    unknown = [visible(name) for name, board in by_dataset.items() if np.isnan(board.ratio) and len(board.scores) > 1]
    if unknown:
        notes.append(f"Not tested by splits, as all splits have the same test rows: {', '.join(unknown)}.")
    named = "" if of_reference.isna().all() else reference
    return _Boards(by_dataset, table.methods, metric, goal, named, notes)


def _over_datasets(boards: _Boards) -> list[Ranked]:
    parts = list(boards.by_dataset.values())
    with np.errstate(invalid="ignore"):
        losses = np.stack([badness(board.scores.mean(axis=0), boards.goal) for board in parts])
    worse = elimination.significantly_worse(losses)
    differences = []
    for m in range(len(boards.methods)):
        means = [_difference(board, m, boards).mean for board in parts]
        differences.append(corrected_mean(np.array(means)))
    return _rows(boards, parts, losses, worse, best_probabilities(losses), differences)


def _on_datasets(all_boards: Sequence[_Boards]) -> list[list[Ranked]]:
    """Return the rows of each data set; every item has a single one."""
    parts = [board for boards in all_boards for board in boards.by_dataset.values()]
    by_split = [
        np.column_stack([_loss(column, boards.goal) for column in board.scores.T])
        for boards, board in zip(all_boards, parts, strict=True)
    ]
    compared = moderated_t.significantly_worse([(part, b.ratio) for part, b in zip(by_split, parts, strict=True)])
    all_rows = []
    for boards, board, split_losses, worse in zip(all_boards, parts, by_split, compared, strict=True):
        with np.errstate(invalid="ignore"):
            losses = badness(board.scores.mean(axis=0), boards.goal)[None]
        probability = best_probabilities(split_losses, board.ratio)
        differences = [_difference(board, m, boards) for m in range(len(boards.methods))]
        all_rows.append(_rows(boards, [board], losses, worse, probability, differences))
    return all_rows


def _rows(
    boards: _Boards,
    parts: list[_Board],
    losses: np.ndarray,
    worse: np.ndarray,
    probability: np.ndarray,
    differences: list[Mean],
) -> list[Ranked]:
    """Return the rows, from losses (D, M), comparisons (M, M), probabilities (M,) and differences of losses."""
    failures = sum(np.isnan(board.scores).sum(axis=0) for board in parts)
    mean_ranks = scipy.stats.rankdata(np.where(np.isnan(losses), np.inf, losses), axis=1).mean(axis=0)
    first, last = rank_sets(worse)
    judged = verdicts(worse, np.asarray(failures) > 0)
    n_splits = sum(len(board.scores) for board in parts)
    rows = []
    for m, method in enumerate(boards.methods):
        rows.append(
            Ranked(
                method,
                family_of(method),
                float(mean_ranks[m]),
                int(first[m]),
                int(last[m]),
                *_in_metric(differences[m], boards),
                float(probability[m]),
                judged[m],
                len(parts),
                n_splits,
                int(np.asarray(failures)[m]),
                _detectable(differences[m], boards),
                differences[m].needed,
            )
        )
    return sorted(rows, key=lambda row: (row.mean_rank, row.method))


def _loss(column: np.ndarray, goal: str | float) -> np.ndarray:
    """Return `metrics.loss` of a column that may have NaN, which stay."""
    known = ~np.isnan(column)
    losses = column.copy()
    losses[known] = loss(column[known], goal)
    return losses


def _difference(board: _Board, m: int, boards: _Boards) -> Mean:
    """Return the mean difference of losses to the reference on a data set; of their logarithms for ratios."""
    values, reference = board.scores[:, m], board.reference
    if boards.methods[m] == boards.reference or np.isnan(values).any() or np.isnan(reference).any():
        return corrected_mean(np.array([nan]))
    with np.errstate(divide="ignore", invalid="ignore"):
        if not compared_by_ratio(boards.metric):
            return corrected_mean(loss(values, boards.goal) - loss(reference, boards.goal), board.ratio)
        mean, mean_of_reference = values.mean(), reference.mean()
        log_ratio = np.log(mean) - np.log(mean_of_reference)
        return corrected_mean(log_ratio + values / mean - reference / mean_of_reference, board.ratio)  # delta method


def _in_metric(difference: Mean, boards: _Boards) -> tuple[float, float, float]:
    """Return a difference of losses and its interval in the unit of the ranking."""
    mean, low, high = difference.mean, difference.low, difference.high
    if boards.goal == "high":
        mean, low, high = -mean, -high, -low
    if compared_by_ratio(boards.metric):
        mean, low, high = (float(np.expm1(end)) for end in (mean, low, high))
    return mean, low, high


def _detectable(difference: Mean, boards: _Boards) -> float:
    size = difference.detectable
    return float(np.expm1(size)) if compared_by_ratio(boards.metric) else size


def _unit(metric: str) -> str:
    return "relative" if compared_by_ratio(metric) else unit_of_difference(metric)
