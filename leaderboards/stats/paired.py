"""The results of one suite, preset and metric as a table of splits x methods, the input of paired statistics."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import OPTIONAL
from lockstep_bench.leaderboards.metrics import metric as metric_named
from lockstep_bench.leaderboards.stats.schemes import without_flagged
from lockstep_bench.leaderboards.wording.formats import counted, listed, visible
from lockstep_bench.leaderboards.wording.run_facts import ranges

KEYS = ["dataset", "split", "method"]
MOST_NAMED = 6  # data sets in a sentence


class Paired(NamedTuple):
    """Values of one metric by split and method, and which splits each method was run on.

    Attributes:
        suite: name of the suite.
        preset: name of the preset, or its label preset@hash.
        metric: name of the metric.
        observed: means over the seeds that finished; index (dataset, split), a column per method; NaN if no seed
            finished.
        tried: bool, shape of `observed`: whether the method was run on the split, successfully or not.
    """

    suite: str
    preset: str
    metric: str
    observed: pd.DataFrame
    tried: pd.DataFrame

    @property
    def goal(self) -> str | float:
        """Which values are good: "low", "high", or the number that they should be near."""
        goal = metric_named(self.metric).goal
        assert goal is not None, "`paired` refuses metrics without a goal"
        return goal

    @property
    def methods(self) -> list[str]:
        """Names of the methods in alphabetical order."""
        return self.observed.columns.tolist()

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets in alphabetical order."""
        return list(dict.fromkeys(self.observed.index.get_level_values("dataset").tolist()))

    def failures(self, method: str) -> dict[str, list[int]]:
        """Return the splits on which a method was run without getting a value, by data set; {} without failures."""
        failed = self.tried[method].to_numpy() & np.isnan(self.observed[method].to_numpy())
        where: dict[str, list[int]] = {}
        for line in np.flatnonzero(failed).tolist():
            dataset, split = self.observed.index[line]
            where.setdefault(str(dataset), []).append(int(split))
        return where


def failures_in_words(failures: Mapping[str, list[int]], n_splits: int) -> str:
    """Name the splits that failed, as in "3 of 205 splits: protein 3, yacht 0 and 4".

    Args:
        failures: splits by data set (`Paired.failures`).
        n_splits: number of splits, on all data sets together.
    """
    parts = [f"{visible(dataset)} {ranges(splits, then=' and ')}" for dataset, splits in failures.items()]
    n_failed = sum(map(len, failures.values()))
    return f"{n_failed} of {counted(n_splits, 'split')}: {listed(parts, MOST_NAMED)}"


def mean_of_known(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the mean over `axis` of the values that are not NaN; NaN where all are, without a warning."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: np.ndarray = np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis)
        return means


def paired(cells: pd.DataFrame, suite: str, preset: str, metric: str) -> Paired:
    """Return the values of one metric in one suite and preset, as splits x methods.

    A data set is left out if results finished on it but none has the metric, which then does not apply to it. Also left
    out, as if they had not been run, are finished results that lack a metric because they are older than it or not
    recalibrated (`metrics.OPTIONAL`), and splits that the data set flags as not to be ranked.

    Args:
        cells: columns of `shared.schema.CELLS`.
        suite: name of the suite.
        preset: name or label of the preset.
        metric: a column of the schema.

    Raises:
        ValueError: The metric has no direction in which it is better.
    """
    if metric_named(metric).goal is None:
        raise ValueError(
            f"metric '{metric}' has no direction in which it is better, so methods cannot be compared by it; "
            "choose another metric"
        )
    columns = [*KEYS, "status", metric]
    chosen = (cells["suite"] == suite) & (cells["preset"] == preset)
    if metric in OPTIONAL:
        chosen &= cells[metric].notna() | (cells["status"] != "ok")
    rows = without_flagged(cells.loc[chosen, columns])
    finished = (rows["status"] == "ok").to_numpy(bool)
    values = np.where(finished, rows[metric].to_numpy(float), np.nan)
    return Paired(suite, preset, metric, *_tables(rows[KEYS], values, finished))


def _tables(rows: pd.DataFrame, values: np.ndarray, finished: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `Paired.observed` and `Paired.tried` in one pass over numbers: a site asks for a hundred of these tables.

    Args:
        rows: columns `KEYS`.
        values: values of the metric, NaN where there is none.
        finished: whether the row has the status "ok".
    """
    numbered = [pd.factorize(rows[name], sort=True) for name in KEYS]
    dataset, split, method = (codes for codes, _ in numbered)
    datasets, splits, methods = (np.asarray(names) for _, names in numbered)
    n_values, n_finished = (
        np.bincount(dataset, counted, len(datasets)) for counted in (~np.isnan(values), finished.astype(float))
    )
    defined = ~((n_values == 0) & (n_finished > 0))[dataset]
    line, lines = _present(dataset[defined] * len(splits) + split[defined], len(datasets) * len(splits))
    column, columns = _present(method[defined], len(methods))
    index = pd.MultiIndex.from_arrays([datasets[lines // len(splits)], splits[lines % len(splits)]], names=KEYS[:2])
    observed, tried = np.full((len(columns), len(lines)), np.nan), np.zeros((len(columns), len(lines)), bool)
    tried[column, line] = True
    known = ~np.isnan(values[defined])
    place = (column * len(lines) + line)[known]
    means = pd.Series(values[defined][known])
    if np.bincount(place, minlength=1).max() > 1:  # several seeds
        means = means.groupby(place).mean()
        place = means.index.to_numpy()
    observed.ravel()[place] = means
    names = pd.Index(methods[columns], name=KEYS[2])
    return pd.DataFrame(observed.T, index, names), pd.DataFrame(tried.T, index, names)


def _present(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each code among those that occur, and the codes that occur, ascending."""
    occurs = np.bincount(codes, minlength=n_codes) > 0
    return (np.cumsum(occurs) - 1)[codes], np.flatnonzero(occurs)
