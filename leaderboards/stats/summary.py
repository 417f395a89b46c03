"""Means over splits, computed by pure functions from result rows to one row per method, data set and metric."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import MEASURED, OPTIONAL, badness, metric
from lockstep_bench.leaderboards.stats.dependence import ratios
from lockstep_bench.leaderboards.stats.remarks import remarks
from lockstep_bench.leaderboards.stats.schemes import splits_of, without_flagged

BOARD = ["suite", "dataset", "preset"]  # methods are compared within one of these
GROUP = ["suite", "dataset", "method", "preset"]

# A mean counts as ruined by single splits where it is this far from the median: in median absolute deviations, and as a
# share of the median.
FAR, FAR_SHARE, FEWEST_SPLITS = 5, 0.25, 4


class Moments(NamedTuple):
    """One row of the table that `summarise` returns, which explains the fields."""

    suite: str
    dataset: str
    method: str
    preset: str
    metric: str
    mean: float
    stderr: float
    sem: float
    median: float
    n: int
    n_failed: int
    farthest: float
    ruined: bool
    worst: float
    worst_split: int
    by_median: bool
    remark: str

    @property
    def typical(self) -> float:
        """The number by which the method is ranked: the mean over splits, or the median if `by_median`."""
        return self.median if self.by_median else self.mean


def with_labelled_presets(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the result rows; presets of a suite that were run under several protocols are renamed to preset@hash.

    Protocols can differ under one preset name: two that were changed on the command line can both be called
    "tuned-modified". Results of different protocols must be neither averaged nor compared.
    """
    if not cells[["suite", "preset", "protocol_hash"]].drop_duplicates().duplicated(["suite", "preset"]).any():
        return cells
    several = cells.groupby(["suite", "preset"])["protocol_hash"].transform("nunique") > 1
    preset = cells["preset"].astype(str)
    labelled = preset + "@" + cells["protocol_hash"].astype(str).str[:8]
    return cells.assign(preset=preset.where(~several, labelled))


def per_split(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method, metric and split, whose `value` is the mean over the seeds that finished.

    Methods are distinguished by suite, data set and preset, too. Splits that are flagged as not to be ranked have no
    row. Runs of one split with several seeds share their test points, so they count as one observation.
    """
    names = sorted(name for name in MEASURED if name in cells and cells[name].notna().any())
    finished = without_flagged(cells.loc[cells["status"] == "ok", [*GROUP, "split", *names]])
    means = finished.groupby([*GROUP, "split"])[names].mean()
    values = means.to_numpy(float)
    rows, columns = np.nonzero(~np.isnan(values))
    cell = means.index.to_frame(index=False)
    group = (cell[GROUP] != cell[GROUP].shift()).any(axis=1).cumsum().to_numpy(int)
    order = np.lexsort((rows, columns, group[rows]))
    rows, columns = rows[order], columns[order]
    long = cell.take(rows).reset_index(drop=True).assign(value=values[rows, columns])
    measured = pd.Categorical.from_codes(columns, pd.Index(names, dtype="str"))
    long.insert(len(GROUP), "metric", pd.Series(measured))
    return long


def summarise(cells: pd.DataFrame, splits: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row per suite, data set, method, preset and metric, with the columns of `Moments`.

    For the values v_1..v_n of the n finished splits, sem = sd(v) / sqrt(n), as papers print it, where sd has n - 1
    degrees of freedom, and stderr = sd(v) sqrt(1 / n + r) with r = n_test / n_train, because splits share rows
    (`dependence`). If all splits share one test set, r is unknown and taken as 0: stderr then omits the error that this
    test set causes. Both are NaN for n = 1, and where a value is infinite.

    remark has the remarks of `stats.remarks` on the mean, "" for none.

    farthest is the value that is farthest from the median. ruined is true if such outliers make the mean grossly
    different from the median (`FAR`). worst is the least good value, and worst_split its split; NaN and -1 for a metric
    without a direction. by_median is true if methods are ranked by medians, because each split leaves out values of
    another feature.

    n_failed counts runs that diverged or failed. A method has a row for every metric that some method has on the data
    set, with n = 0 if it has no value itself, so that failures stay visible. The exception are metrics that its
    finished results lack because they are older than the metric, not recalibrated or not timed (`metrics.OPTIONAL`).

    Args:
        cells: result rows with labelled presets (`with_labelled_presets`).
        splits: result of `per_split`, if it is known already.
    """
    cells = without_flagged(cells)
    splits = per_split(cells) if splits is None else splits
    group = _numbered(splits)
    values = splits["value"].groupby(group)
    with np.errstate(invalid="ignore"):  # sd of infinite values is NaN, as documented
        moments = pd.DataFrame(
            {"mean": values.mean(), "sem": values.sem(ddof=1), "median": values.median(), "n": values.count()}
        )
        moments = moments.join(_outliers(splits, group, moments)).join(_worst(splits, group))
    moments.index = pd.MultiIndex.from_frame(splits.loc[~group.duplicated(), [*GROUP, "metric"]])
    table = _expected(cells, splits).merge(moments.reset_index().astype({"metric": "str"}), "left", [*GROUP, "metric"])
    failed = (cells["status"] != "ok").groupby([cells[key] for key in GROUP]).sum().rename("n_failed").reset_index()
    table = table.merge(failed, "left", GROUP).astype({"n_failed": "int64"})
    table["n"] = table["n"].fillna(0).astype("int64")
    table["ruined"] = table["ruined"].eq(True)
    table["worst_split"] = table["worst_split"].fillna(-1).astype("int64")
    along_features = {name: splits_of(name).along_features for name in table["dataset"].unique()}
    table["by_median"] = table["dataset"].map(along_features).astype(bool)
    ratio = table["dataset"].map(ratios(cells)).fillna(0.0).astype(float)
    table["stderr"] = table["sem"] * np.sqrt(1 + table["n"] * ratio)
    said = remarks(cells, splits, moments.index)
    keys = table[[*GROUP, "metric"]].itertuples(index=False, name=None)
    table["remark"] = [said.get(key, "") for key in keys]
    return in_order(table)


def in_order(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a summary by suite, data set, method, preset, and metrics in the order of pages."""
    order = summary["metric"].map({name: place for place, name in enumerate(MEASURED)})
    return summary.assign(order=order).sort_values([*GROUP, "order"], ignore_index=True).drop(columns="order")


def _numbered(splits: pd.DataFrame) -> pd.Series:
    """Return the number of each row's group and metric, in their order, which is much faster to group by."""
    keys = splits[[*GROUP, "metric"]]
    return (keys != keys.shift()).any(axis=1).cumsum()


def _outliers(splits: pd.DataFrame, group: pd.Series, moments: pd.DataFrame) -> pd.DataFrame:
    """Return the columns farthest and ruined of `summarise`, by the number of the group."""
    values = splits["value"]
    deviation = (values - values.groupby(group).transform("median")).abs()
    shift = (moments["mean"] - moments["median"]).abs()
    ruined = (shift > FAR * deviation.groupby(group).median()) & (shift > FAR_SHARE * moments["median"].abs())
    places = deviation.fillna(-1.0).groupby(group).idxmax()  # NaN where values are infinite
    farthest = values.loc[places].set_axis(places.index)
    return pd.DataFrame({"farthest": farthest, "ruined": ruined & (moments["n"] >= FEWEST_SPLITS)})


def _worst(splits: pd.DataFrame, group: pd.Series) -> pd.DataFrame:
    """Return the columns worst and worst_split of `summarise`, by the number of the group."""
    losses = splits["value"].copy()
    for name, values in splits.groupby("metric")["value"]:
        goal = metric(str(name)).goal
        losses[values.index] = np.nan if goal is None else badness(values.to_numpy(), goal)
    places = losses.dropna().iloc[::-1].groupby(group).idxmax()  # the last split of equal ones
    worst = splits.loc[places, ["value", "split"]].set_axis(places.index)
    return worst.rename(columns={"value": "worst", "split": "worst_split"})


def _expected(cells: pd.DataFrame, splits: pd.DataFrame) -> pd.DataFrame:
    """Return every group with every metric of its data set; with NMLL where nothing finished."""
    finished = (cells["status"] == "ok").groupby([cells[key] for key in GROUP]).any().rename("finished").reset_index()
    values = splits[[*GROUP, "metric"]].drop_duplicates()
    table = finished.merge(values[["suite", "dataset", "metric"]].drop_duplicates(), "left", ["suite", "dataset"])
    table = table.merge(values, "left", indicator="measured")
    older = table["metric"].isin(OPTIONAL) & table["finished"] & (table["measured"] == "left_only")
    table = table[~older].drop(columns=["finished", "measured"])
    return table.assign(metric=table["metric"].astype("str").fillna("nmll"))
