"""The runs of one suite and preset, from which tables of splits x methods are made, one for each metric.

Names are replaced by numbers once for all metrics, as a site asks for hundreds of these tables.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import OPTIONAL
from lockstep_bench.leaderboards.metrics import metric as metric_named
from lockstep_bench.leaderboards.stats.dependence import ratio_of
from lockstep_bench.leaderboards.stats.families import VALIDATED, Validation, representatives, validation
from lockstep_bench.leaderboards.stats.paired import Paired
from lockstep_bench.leaderboards.stats.schemes import flagged_rows

KEYS = ["dataset", "split", "method"]


@dataclass(frozen=True, eq=False)
class Runs:
    """Result rows of one suite and preset, or some of them.

    Attributes:
        suite: name of the suite.
        preset: name of the preset, or its label preset@hash.
        cells: result rows of any suites and presets.
        places: places of these runs in `cells`, ascending.
        codes: (3, N), number of each run's data set, split and method.
        names: names of data sets, splits and methods in alphabetical order, by number.
        finished: (N,), whether a run has the status "ok".
        flagged: (N,), whether its split is flagged as not to be ranked.
    """

    suite: str
    preset: str
    cells: pd.DataFrame
    places: np.ndarray
    codes: np.ndarray
    names: tuple[np.ndarray, np.ndarray, np.ndarray]
    finished: np.ndarray
    flagged: np.ndarray
    _indices: dict[bytes, pd.MultiIndex] = field(default_factory=dict, repr=False)
    _representatives: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict, repr=False)
    _paired: dict[str, Paired] = field(default_factory=dict, repr=False)
    _chosen: dict[bytes, "Runs"] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, cells: pd.DataFrame, suite: str, preset: str) -> "Runs":
        """Return the runs of a suite and preset.

        Args:
            cells: columns of `shared.schema.CELLS`.
            suite: name of the suite.
            preset: name or label of the preset.
        """
        chosen = ((cells["suite"] == suite) & (cells["preset"] == preset)).to_numpy(bool)
        rows = cells.loc[chosen, [*KEYS, "status"]]
        numbered = [pd.factorize(rows[name], sort=True) for name in KEYS]
        datasets, splits, methods = (np.asarray(names) for _, names in numbered)
        return cls(
            suite,
            preset,
            cells,
            np.flatnonzero(chosen),
            np.array([codes for codes, _ in numbered]),
            (datasets, splits, methods),
            (rows["status"] == "ok").to_numpy(bool),
            flagged_rows(rows),
        )

    def chosen(self, datasets: Collection[str] | None = None, methods: Collection[str] | None = None) -> "Runs":
        """Return the runs of some data sets and methods; None keeps all. The same choice gives the same object.

        Rankings by all metrics compare mostly the same runs, and then share their tables.
        """
        kept = np.ones(len(self.places), bool)
        for axis, wanted in ((0, datasets), (2, methods)):
            if wanted is not None:
                among = set(wanted)  # a look-up of each name is much faster than `np.isin` for texts
                kept &= np.array([name in among for name in self.names[axis]], bool)[self.codes[axis]]
        if kept.all():
            return self
        key = np.packbits(kept).tobytes()
        if key not in self._chosen:
            self._chosen[key] = self._where(kept)
        return self._chosen[key]

    def _where(self, kept: np.ndarray) -> "Runs":
        parts = (part[..., kept] for part in (self.places, self.codes, self.finished, self.flagged))
        places, codes, finished, flagged = parts
        part = replace(self, places=places, codes=codes, finished=finished, flagged=flagged)
        return replace(part, _representatives={}, _paired={}, _chosen={})

    def frame(self, columns: Collection[str]) -> pd.DataFrame:
        """Return some columns of the runs' rows."""
        return self.cells[list(columns)].iloc[self.places]

    def representatives(self, methods: Sequence[str], keep: str) -> dict[str, str]:
        """Return the variant that represents each family among some methods (`families.representatives`)."""
        key = keep, *methods
        if key not in self._representatives:
            self._representatives[key] = representatives(self._validation, set(methods), keep)
        return self._representatives[key]

    @cached_property
    def _validation(self) -> Validation:
        return validation(self.frame(VALIDATED))

    @cached_property
    def ratios(self) -> dict[str, float]:
        """n_test / n_train of the splits of each data set that has runs (`dependence.ratio_of`)."""
        means = [self._mean_by_dataset(name).tolist() for name in ("n_train", "n_test")]
        present = np.bincount(self.codes[0], minlength=len(self.names[0])) > 0
        return {
            str(name): ratio_of(str(name), *sizes)
            for name, has_runs, *sizes in zip(self.names[0], present, *means, strict=True)
            if has_runs
        }

    def _mean_by_dataset(self, column: str) -> np.ndarray:
        values, (dataset, *_) = self.cells[column].to_numpy(float)[self.places], self.codes
        known = ~np.isnan(values)
        sums, counts = (np.bincount(dataset[known], weights, len(self.names[0])) for weights in (values[known], None))
        with np.errstate(invalid="ignore"):
            means: np.ndarray = sums / counts
            return means

    def table(self, metric: str) -> Paired:
        """Return the values of one metric as splits x methods, made at the first call; see `paired`.

        Raises:
            ValueError: The metric has no direction in which it is better.
        """
        if metric not in self._paired:
            self._paired[metric] = self._table(metric)
        return self._paired[metric]

    def _table(self, metric: str) -> Paired:
        if metric_named(metric).goal is None:
            raise ValueError(
                f"metric '{metric}' has no direction in which it is better, so methods cannot be compared by it; "
                "choose another metric"
            )
        values, kept = self.cells[metric].to_numpy(float)[self.places], ~self.flagged
        if metric in OPTIONAL:
            kept &= ~(np.isnan(values) & self.finished)
        values = np.where(self.finished, values, np.nan)
        return Paired(self.suite, self.preset, metric, *self._tables(values, kept))

    def _tables(self, values: np.ndarray, kept: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return `Paired.observed` and `Paired.tried`.

        Args:
            values: (N,), values of the metric, NaN where there is none.
            kept: (N,), the runs to use.
        """
        (datasets, splits, methods), (dataset, split, method) = self.names, self.codes
        n_values, n_finished = (
            np.bincount(dataset[counted & kept], minlength=len(datasets))
            for counted in (~np.isnan(values), self.finished)
        )
        defined = kept & ~((n_values == 0) & (n_finished > 0))[dataset]
        line, lines = _present((dataset * len(splits) + split)[defined], len(datasets) * len(splits))
        column, columns = _present(method[defined], len(methods))
        index = self._index(lines)
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

    def _index(self, lines: np.ndarray) -> pd.MultiIndex:
        """Return the index (data set, split) of some lines; tables of most metrics have the same."""
        key = lines.tobytes()
        if key not in self._indices:
            datasets, splits, _ = self.names
            arrays = [datasets[lines // len(splits)], splits[lines % len(splits)]]
            self._indices[key] = pd.MultiIndex.from_arrays(arrays, names=KEYS[:2])
        return self._indices[key]


def paired(cells: pd.DataFrame, suite: str, preset: str, metric: str) -> Paired:
    """Return the values of one metric in one suite and preset, as splits x methods.

    A data set is left out if results finished on it but none has the metric, which then does not apply to it. Also left
    out, as if they had not been run, are finished results that lack a metric because they are older than it, not
    recalibrated or not timed alone (`metrics.OPTIONAL`), and splits that the data set flags as not to be ranked.

    Args:
        cells: columns of `shared.schema.CELLS`.
        suite: name of the suite.
        preset: name or label of the preset.
        metric: a column of the schema.

    Raises:
        ValueError: The metric has no direction in which it is better.
    """
    return Runs.of(cells, suite, preset).table(metric)


def _present(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each code among those that occur, and the codes that occur, ascending."""
    occurs = np.bincount(codes, minlength=n_codes) > 0
    return (np.cumsum(occurs) - 1)[codes], np.flatnonzero(occurs)
