"""Rank correlation of two metrics over methods: are methods that are better by one metric better by the other?

On a data set, it is Kendall's tau-b between the methods' means over splits, or medians of splits along features. A
positive value says that methods which are better by one metric are mostly better by the other. Over data sets it is the
mean, with an interval by Student's t: the methods are given, and the data sets are a sample. Data sets that were made
from the same rows count as one, by their mean. A wider interval takes the methods for a sample too, so that it holds
for further methods like these.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.data.frames import as_object
from lockstep_bench.leaderboards.metrics import DISTANCES, loss, metric
from lockstep_bench.leaderboards.stats.paired import Paired
from lockstep_bench.leaderboards.stats.runs import paired
from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.leaderboards.stats.suites import origin
from lockstep_bench.leaderboards.wording.formats import counted, listed, visible
from lockstep_bench.methods import is_ranked

FEWEST_METHODS = 4
MOST_LISTED = 6


class DatasetCorrelation(NamedTuple):
    """Correlation on one data set.

    Attributes:
        tau: Kendall's tau-b, from -1 to 1.
        n_methods: number of methods with values of both metrics.
    """

    tau: float
    n_methods: int


class RankCorrelation(NamedTuple):
    """Correlation of two metrics.

    Attributes:
        by_dataset: the correlation on each data set.
        mean: mean tau over data sets, of which those made from the same rows count as one; NaN without data sets.
        low: lower end of its 95 % interval; NaN with fewer than two such data sets.
        high: upper end of the interval.
        notes: sentences on the data sets that were left out.
        losses: for each data set, the two metrics as losses, (methods, 2); low is good.
    """

    by_dataset: dict[str, DatasetCorrelation]
    mean: float
    low: float
    high: float
    notes: list[str]
    losses: dict[str, pd.DataFrame]


def rank_correlation(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metrics: tuple[str, str],
    methods: Collection[str] | None = None,
) -> RankCorrelation:
    """Return the correlation of two metrics over the methods of one suite and preset.

    A method without a value of one of the metrics on some split that it was run on, as after a failure, is left out on
    that data set. Where two samplers of a reference posterior do not agree, distances from the truth are not known. The
    data set is then left out if one of the metrics is such a distance.

    Args:
        cells: columns of `shared.schema.CELLS`.
        suite: name of the suite.
        preset: name or label of the preset.
        metrics: two metrics that have a direction in which they are better.
        methods: methods to use; None for all that have a rank (`methods.is_ranked`).

    Raises:
        ValueError: a metric has no direction in which it is better.
    """
    chosen = cells if methods is None else cells[cells["method"].isin(list(methods))]
    unresolved = _unresolved(chosen, suite, preset) if set(metrics) & set(DISTANCES) else []
    chosen = chosen[~chosen["dataset"].isin(unresolved)]
    first, second = (_means(paired(chosen, suite, preset, name), methods is not None) for name in metrics)
    nothing = pd.Series(dtype=float)
    losses = {
        name: pd.concat([first.get(name, nothing), second.get(name, nothing)], axis=1, join="inner")
        for name in sorted({*first, *second})
    }
    found = _correlation(losses)
    if not unresolved:
        return found
    names = listed([visible(name) for name in unresolved], MOST_LISTED)
    note = f"Left out: {names}. The two samplers of their reference posterior do not agree, so it is not known."
    return found._replace(notes=[note, *found.notes])


def over_suites(found: Mapping[str, RankCorrelation]) -> RankCorrelation:
    """Return the rank correlation over the data sets of several suites together; every data set counts equally.

    Args:
        found: for each suite, the correlation over its data sets.
    """
    losses = {f"{suite}/{name}": table for suite, each in found.items() for name, table in each.losses.items()}
    return _correlation(losses)._replace(notes=[note for each in found.values() for note in each.notes])


def interval_over_methods(found: RankCorrelation) -> tuple[float, float]:
    """Return the ends of a 95 % interval of the mean tau for methods and data sets that are both samples.

    The variance is the sum of that of the mean over data sets, and of the jackknife's estimate from leaving out one
    method everywhere (Efron and Stein 1981, The jackknife estimate of variance). What changes from method to method and
    data set to data set at once is in both, so that the interval is rather too wide. The quantile is Student's; its
    degrees of freedom are the number of methods minus 1.

    Returns:
        The ends, cut at -1 and 1. They are NaN with fewer than `FEWEST_METHODS` + 1 methods, or without data sets.
    """
    from scipy.special import stdtrit

    tables = {name: table for name, table in found.losses.items() if not np.isnan(found.by_dataset[name].tau)}
    methods = sorted({method for table in tables.values() for method in table.index})
    n_methods = len(methods)
    if n_methods <= FEWEST_METHODS:
        return np.nan, np.nan

    def taus(*without: str) -> np.ndarray:
        left = {name: table.drop(index=[*without], errors="ignore") for name, table in tables.items()}
        return _by_origin({name: _tau(table) for name, table in left.items()})

    variance, known = (n_methods - 1) * np.var([taus(method).mean() for method in methods]), taus()
    if len(known) > 1:
        variance += np.var(known, ddof=1) / len(known)
    half = float(stdtrit(n_methods - 1, 0.975) * np.sqrt(variance))
    return max(found.mean - half, -1.0), min(found.mean + half, 1.0)


def sentence(found: RankCorrelation, metrics: tuple[str, str]) -> str:
    """Return a sentence that states the correlation."""
    first, second = (metric(name).title for name in metrics)
    n_datasets = counted(sum(not np.isnan(one.tau) for one in found.by_dataset.values()), "data set")
    interval = f", 95 % interval {found.low:.2f} to {found.high:.2f}" if np.isfinite(found.low) else ""
    return f"{first} and {second}: mean tau {found.mean:.2f}{interval}, over {n_datasets}."


def _correlation(losses: dict[str, pd.DataFrame]) -> RankCorrelation:
    few = [visible(name) for name, table in losses.items() if len(table) < FEWEST_METHODS]
    used = {name: table for name, table in losses.items() if len(table) >= FEWEST_METHODS}
    by_dataset = {name: DatasetCorrelation(_tau(table), len(table)) for name, table in used.items()}
    notes = []
    if few:
        notes.append(f"Left out: {listed(few, MOST_LISTED)}, with fewer than {FEWEST_METHODS} methods by both metrics.")
    if tied := [visible(name) for name, one in by_dataset.items() if np.isnan(one.tau)]:
        notes.append(f"No correlation on {listed(tied, MOST_LISTED)}: all methods have the same value.")
    known = _by_origin({name: one.tau for name, one in by_dataset.items()})
    if len(known) < sum(not np.isnan(one.tau) for one in by_dataset.values()):
        notes.append(f"Data sets made from the same rows count as one: {counted(len(known), 'table')} of rows.")
    return RankCorrelation(by_dataset, *_interval(known), notes, used)


def _by_origin(taus: Mapping[str, float]) -> np.ndarray:
    """Return the mean tau of the data sets made from the same rows, for each such group; without those that are NaN."""
    known = pd.Series(taus, dtype=float).dropna()
    return known.groupby([origin(str(name).rpartition("/")[2]) for name in known.index]).mean().to_numpy()


def _unresolved(cells: pd.DataFrame, suite: str, preset: str) -> list[str]:
    """Return the data sets whose rows say that two samplers of the reference posterior do not agree."""
    if "reference" not in cells:
        return []
    of_suite = cells[(cells["suite"] == suite) & (cells["preset"] == preset)]
    facts = of_suite[["dataset", "reference"]].drop_duplicates().itertuples(index=False)
    return sorted({name for name, reference in facts if as_object(reference).get("samplers") == "unresolved"})


def _means(table: Paired, named: bool) -> dict[str, pd.Series]:
    """Return the typical losses on each data set, low is good; of ranked methods only, unless methods are `named`."""
    ranked = [one for one in table.methods if named or is_ranked(one)]
    losses = loss(table.observed[ranked].to_numpy(float), table.goal)
    failed = np.isnan(losses) & table.tried[ranked].to_numpy(bool)
    names = table.observed.index.get_level_values("dataset").to_numpy()
    found = {}
    for dataset in table.datasets:
        here = names == dataset
        typical = pd.DataFrame(losses[here], columns=ranked).agg(
            "median" if splits_of(dataset).along_features else "mean"
        )
        found[dataset] = typical[~failed[here].any(axis=0)].dropna()
    return found


def _tau(losses: pd.DataFrame) -> float:
    from scipy.stats import kendalltau  # takes half a second to import

    return float(kendalltau(*losses.to_numpy().T).statistic)


def _interval(known: np.ndarray) -> tuple[float, float, float]:
    """Return mean and 95 % interval by Student's t, cut at -1 and 1."""
    if len(known) < 2:
        return float(known.mean()) if len(known) else np.nan, np.nan, np.nan
    from scipy.special import stdtrit

    mean = float(known.mean())
    half = float(stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / np.sqrt(len(known)))
    return mean, max(mean - half, -1.0), min(mean + half, 1.0)
