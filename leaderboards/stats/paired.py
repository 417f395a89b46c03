"""The results of one suite, preset and metric as a table of splits x methods, the input of paired statistics."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import metric as metric_named
from lockstep_bench.leaderboards.wording.formats import counted, listed, visible
from lockstep_bench.leaderboards.wording.run_facts import ranges

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
        assert goal is not None, "`Runs.table` refuses metrics without a goal"
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
