"""The rows of one suite, preset and metric as a table of splits x methods, from which paired statistics start."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.schema import SINCE
from leaderboards.metrics import metric as metric_named
from leaderboards.stats.schemes import without_flagged


class Paired(NamedTuple):
    """Values of one metric by split and method, and which splits each method was run on.

    Attributes:
        suite: name of the suite.
        preset: name of the preset, or its label preset@hash.
        metric: name of the metric.
        observed: index (dataset, split), a column per method; the mean over seeds that finished, NaN without any.
        tried: bool, shape of `observed`: whether there is a row, whatever its status.
    """

    suite: str
    preset: str
    metric: str
    observed: pd.DataFrame
    tried: pd.DataFrame

    @property
    def goal(self) -> str | float:
        """Values that are good: "low", "high", or the number that they should be near."""
        goal = metric_named(self.metric).goal
        assert goal is not None, "`paired` refuses metrics without a goal"
        return goal

    @property
    def methods(self) -> list[str]:
        """Names in alphabetical order."""
        return list(self.observed.columns)

    @property
    def datasets(self) -> list[str]:
        """Names in alphabetical order."""
        return list(dict.fromkeys(self.observed.index.get_level_values("dataset")))


def mean_of_known(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the mean over `axis` of the values that are not NaN; NaN where all are, without a warning."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis)


def paired(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    datasets: Collection[str] | None = None,
    methods: Collection[str] | None = None,
) -> Paired:
    """Return the values of one metric in one suite and preset, as splits x methods.

    A data set on which cells finished but none has the metric is left out: the metric does not apply to it. So are rows
    that are older than the metric (`bench.schema.SINCE`), and flagged splits, as if they had not been run.

    Args:
        cells: columns of `bench.schema.CELLS`.
        suite: name of the suite.
        preset: name or label of the preset.
        metric: a column of the schema.
        datasets: those to keep; None keeps all.
        methods: those to keep; None keeps all.

    Raises:
        ValueError: The metric has no direction in which it is better.
    """
    if metric_named(metric).goal is None:
        raise ValueError(
            f"metric '{metric}' has no direction in which it is better, so methods cannot be compared by it; "
            "choose another metric"
        )
    columns = ["dataset", "split", "method", "status", metric]
    chosen = (cells["suite"] == suite) & (cells["preset"] == preset)
    if metric in SINCE:
        chosen &= cells["schema_version"] >= SINCE[metric]
    rows = without_flagged(cells.loc[chosen, columns])
    if datasets is not None:
        rows = rows[rows["dataset"].isin(datasets)]
    if methods is not None:
        rows = rows[rows["method"].isin(methods)]
    finished = rows["status"] == "ok"
    rows = rows.assign(value=rows[metric].where(finished))
    by_dataset = rows.groupby("dataset")
    undefined = by_dataset["value"].transform("count").eq(0) & finished.groupby(rows["dataset"]).transform("any")
    values = rows[~undefined].groupby(["dataset", "split", "method"])["value"]
    if not values.ngroups:
        index = pd.MultiIndex.from_arrays([[], []], names=["dataset", "split"])
        return Paired(
            suite, preset, metric, pd.DataFrame(index=index, dtype=float), pd.DataFrame(index=index, dtype=bool)
        )
    means, sizes = (by_cell.unstack("method") for by_cell in (values.mean(), values.size()))  # noqa: PD010
    return Paired(suite, preset, metric, means.astype(float), sizes.notna())
