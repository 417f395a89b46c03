"""The rows of one suite, preset and metric as a table of splits x methods: what paired statistics start from."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards.metrics import metric as known


class Paired(NamedTuple):
    """Values of one metric by split and method, and which splits each method was tried on.

    Attributes:
        suite, preset, metric: as asked for; the preset may be a label, preset@hash.
        observed: index (dataset, split), a column per method; the mean over seeds that finished, NaN without any.
        tried: alike, bool: whether there is a row, whatever became of it.

    A split is *considered* on a data set if every method that was tried on the data set was tried on it, and some
    method has a value. So a method that is still running, or that is run on fewer splits, is compared on those that all
    have; a method that failed on a split where others did not is not spared it.
    """

    suite: str
    preset: str
    metric: str
    observed: pd.DataFrame
    tried: pd.DataFrame

    @property
    def goal(self) -> str | float:
        """Which values are good: "low", "high", or the number that they should be near."""
        return known(self.metric).goal

    @property
    def methods(self) -> list[str]:
        """In alphabetical order."""
        return list(self.observed.columns)

    @property
    def datasets(self) -> list[str]:
        """In alphabetical order."""
        return list(dict.fromkeys(self.observed.index.get_level_values("dataset")))

    @property
    def present(self) -> pd.DataFrame:
        """Data sets x methods, bool: whether the method was tried there at all."""
        return self.tried.groupby(level="dataset").any()

    @property
    def considered(self) -> pd.Series:
        """Bool by (dataset, split)."""
        absent = ~self.present.reindex(self.tried.index, level="dataset")
        return (self.tried | absent).all(axis=1) & self.observed.notna().any(axis=1)

    def part(self, rows: pd.Series | None = None, methods: Collection[str] | None = None) -> "Paired":
        """The rows where `rows` is true and the columns `methods`; None for all."""
        rows = slice(None) if rows is None else rows
        columns = self.methods if methods is None else list(methods)
        return self._replace(observed=self.observed.loc[rows, columns], tried=self.tried.loc[rows, columns])


class Blocks(NamedTuple):
    """What rankings need of a `Paired`, considered splits alone.

    Attributes:
        arrays: by data set, values as an array (S, M) of its S considered splits; M methods. Never empty.
        lacking: data sets x methods, bool: tried, but without a value on some considered split.
        absent: alike: never tried on the data set.
    """

    arrays: dict[str, np.ndarray]
    lacking: pd.DataFrame
    absent: pd.DataFrame


def blocks(table: Paired) -> Blocks:
    """The considered splits of `table`; data sets that have none are not in it."""
    considered = table.considered
    arrays = {dataset: part.to_numpy(float) for dataset, part in table.observed[considered].groupby(level="dataset")}
    there = table.present.reindex(index=list(arrays), columns=table.methods).astype(bool)
    missing = table.observed[considered].isna().groupby(level="dataset").any().reindex(there.index)
    return Blocks(arrays, missing & there, ~there)


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
    """The rows of `cells` (columns of `bench.schema.CELLS`) that are of one suite and preset; None for all.

    A data set on which no row has the metric although some finished is left out: the metric is not for it.

    Raises:
        ValueError: for a metric that has no better and worse.
    """
    if known(metric).goal is None:
        raise ValueError(f"metric '{metric}' has no better and worse, so methods cannot be compared by it")
    columns = ["dataset", "split", "method", "status", metric]
    here = cells.loc[(cells["suite"] == suite) & (cells["preset"] == preset), columns]
    if datasets is not None:
        here = here[here["dataset"].isin(datasets)]
    if methods is not None:
        here = here[here["method"].isin(methods)]
    finished = here["status"] == "ok"
    here = here.assign(value=here[metric].where(finished))
    by_dataset = here.groupby("dataset")
    undefined = by_dataset["value"].transform("count").eq(0) & finished.groupby(here["dataset"]).transform("any")
    wide = here[~undefined].groupby(["dataset", "split", "method"])["value"].agg(["mean", "size"])
    wide = wide.unstack("method")  # noqa: PD010 - two tables at once
    if wide.empty:
        index = pd.MultiIndex.from_arrays([[], []], names=["dataset", "split"])
        return Paired(
            suite, preset, metric, pd.DataFrame(index=index, dtype=float), pd.DataFrame(index=index, dtype=bool)
        )
    return Paired(suite, preset, metric, wide["mean"].astype(float), wide["size"].notna())
