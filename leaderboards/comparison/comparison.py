"""Two sets of results side by side: what moved beyond noise, what ended otherwise, what came and went.

For each suite, data set, method, preset and metric that both have:

- where at least 3 splits are in both: the paired tests of `leaderboards.stats.ties` on new - old, split by split
(means over
  seeds);
- else, or where the data or the splits are others, if both have 3 splits or more: Welch's t test of means;
- else there are too few splits to tell.

All p-values are adjusted together by Holm's method, so that if nothing changed but luck, the chance that anything at
all is said to have moved is at most 0.05. Numbers that are equal on every split are the same, whatever the test.

Cells whose code, data, split, protocol, seed, versions and device are all the same should have the same numbers to the
last bit. Where they have not, something is random that should not be; these are listed on their own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from bench.schema import METRICS
from leaderboards.data.fingerprints import CELL
from leaderboards.metrics import HEADLINE, badness, metric
from leaderboards.stats.paired import mean_of_known
from leaderboards.stats.summary import GROUP, per_split, with_labelled_presets
from leaderboards.stats.ties import ALPHA, FEWEST_PAIRS, holm, paired_tests

WHERE = [*GROUP, "metric"]
MOVES = [*WHERE, "old", "new", "change", "n", "p_value", "test", "verdict"]
BEYOND_NOISE = ("better", "worse", "moved")
STATUSES = [*GROUP, "split", "seed", "old", "new", "verdict"]
UNSTEADY = [*GROUP, "split", "seed", "metric", "old", "new"]
FINGERPRINT = ["code_revision", "data_sha256", "split_sha256", "versions", "device"]

DEFAULT = tuple(name for name in HEADLINE if name in METRICS)  # no times: these differ between any two runs


class Comparison(NamedTuple):
    """What `compare` finds; all frames may be empty.

    Attributes:
        moves: columns `MOVES`, one row per suite, data set, method, preset and metric that both have. old and new are
            means over the n splits that both have; of Welch's test, and where there are none, over each one's own
            splits, n then being the smaller number. change: new - old. test: "wilcoxon", "t", "welch" or "". verdict:
            beyond noise "better", "worse" or, where a metric has no better, "moved"; else "noise"; "same" to the last
            bit; "untested": different, but with too few splits to tell.
        statuses: columns `STATUSES`, one row per cell that ended otherwise: "better" if it is "ok" now, "worse" if it
            was, else "moved".
        vanished, appeared: columns of `GROUP` and n: cells that only the old or only the new results have.
        unsteady: columns `UNSTEADY`: see the last paragraph above.
        notes: sentences on what keeps results from being compared.
    """

    moves: pd.DataFrame
    statuses: pd.DataFrame
    vanished: pd.DataFrame
    appeared: pd.DataFrame
    unsteady: pd.DataFrame
    notes: list[str]

    @property
    def moved(self) -> pd.DataFrame:
        """The rows of `moves` that are beyond noise."""
        return self.moves[self.moves["verdict"].isin(BEYOND_NOISE)]

    @property
    def anything(self) -> bool:
        """Whether a number moved, a status changed, or the same run gave other numbers."""
        return not (self.moved.empty and self.statuses.empty and self.unsteady.empty)

    @property
    def comparable(self) -> bool:
        """Whether there is a number or a status to compare at all."""
        return not (self.moves.empty and self.statuses.empty)


def compare(old: pd.DataFrame, new: pd.DataFrame, metrics: Sequence[str] = DEFAULT) -> Comparison:
    """Compare two frames of cells, each as `results.read_results` gives it, in `metrics`."""
    both = with_labelled_presets(pd.concat([old.assign(_new=False), new.assign(_new=True)], ignore_index=True))
    old, new = (both[both["_new"] == side].drop(columns="_new") for side in (False, True))
    pairs = old.merge(new, on=CELL, suffixes=("", "_new"))
    return Comparison(
        _moves(old, new, list(metrics)),
        _statuses(pairs),
        _only_in(old, pairs),
        _only_in(new, pairs),
        _unsteady(pairs, list(metrics)),
        _notes(old, new),
    )


def _moves(old: pd.DataFrame, new: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    before, after = (_wide(cells, metrics) for cells in (old, new))
    keys = before.index.intersection(after.index)
    splits = before.columns.union(after.columns)
    before, after = (frame.reindex(index=keys, columns=splits).to_numpy(float) for frame in (before, after))
    paired = ~np.isnan(before) & ~np.isnan(after)
    paired[_on_other_rows(keys, old, new)] = False
    by_split = paired.sum(axis=1) >= FEWEST_PAIRS
    equal = (np.isnan(before) == np.isnan(after)) & (np.isnan(before) | (before == after))
    same = equal.all(axis=1)

    with np.errstate(invalid="ignore"):  # two infinities are no pair
        differences = np.where(paired, after - before, np.nan)
    tests = paired_tests(differences[by_split].T, n_rivals=max(1, len(keys)))
    p_value, test = np.full(len(keys), np.nan), np.full(len(keys), "", object)
    p_value[by_split], test[by_split] = tests.p_value, tests.name
    for row in np.flatnonzero(~by_split):
        p_value[row] = _welch(before[row], after[row])
        test[row] = "" if np.isnan(p_value[row]) else "welch"
    adjusted = holm(p_value)

    together = paired.any(axis=1) & (test != "welch")
    shown = np.where(together[:, None], paired, True)
    means = [mean_of_known(np.where(shown, values, np.nan), axis=1) for values in (before, after)]
    counts = [(shown & ~np.isnan(values)).sum(axis=1) for values in (before, after)]
    table = keys.to_frame(index=False).assign(old=means[0], new=means[1], n=np.minimum(*counts), p_value=adjusted)
    with np.errstate(invalid="ignore"):
        table["change"] = means[1] - means[0]
    table["test"] = test
    goals = [metric(name).goal for name in table["metric"]]
    table["verdict"] = [_verdict(*one) for one in zip(same, adjusted, *means, goals, strict=True)]
    return table[MOVES]


def _wide(cells: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    splits = per_split(cells)
    splits = splits[splits["metric"].isin(metrics)]
    return splits.set_index([*WHERE, "split"])["value"].unstack("split")  # noqa: PD010 - nothing is aggregated


def _on_other_rows(keys: pd.MultiIndex, old: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
    """Which keys are of data sets whose data, or the rows of one of whose splits, are not the same in both."""
    other = set(_other_rows(old, new))
    return np.array([(suite, dataset) in other for suite, dataset, *_ in keys], bool)


def _other_rows(old: pd.DataFrame, new: pd.DataFrame) -> list[tuple[str, str]]:
    key = ["suite", "dataset", "split"]
    sums = [cells[[*key, "data_sha256", "split_sha256"]].drop_duplicates() for cells in (old, new)]
    both = sums[0].merge(sums[1], on=key, suffixes=("", "_new"))
    differ = pd.Series(False, both.index)
    for name in ("data_sha256", "split_sha256"):
        known = both[name].notna() & both[f"{name}_new"].notna()
        differ |= known & (both[name] != both[f"{name}_new"])
    return sorted(set(both.loc[differ, ["suite", "dataset"]].itertuples(index=False, name=None)))


def _welch(before: np.ndarray, after: np.ndarray) -> float:
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    if min(len(before), len(after)) < FEWEST_PAIRS or not np.isfinite([*before, *after]).all():
        return np.nan
    if np.ptp(before) == 0 and np.ptp(after) == 0:  # no spread, for which t is 0/0 or infinite
        return float(before[0] == after[0])
    return float(stats.ttest_ind(before, after, equal_var=False).pvalue)


def _verdict(same: bool, p_value: float, old: float, new: float, goal: str | float | None) -> str:
    if same:
        return "same"
    if np.isnan(p_value):
        return "untested"
    if p_value > ALPHA:
        return "noise"
    if goal is None:
        return "moved"
    before, after = badness(np.array([old, new]), goal)
    return "better" if after < before else "worse" if after > before else "moved"


def _statuses(pairs: pd.DataFrame) -> pd.DataFrame:
    changed = pairs[pairs["status"] != pairs["status_new"]]
    now, before = changed["status_new"] == "ok", changed["status"] == "ok"
    verdict = np.where(now, "better", np.where(before, "worse", "moved"))
    return changed.assign(old=changed["status"], new=changed["status_new"], verdict=verdict)[STATUSES].reset_index(
        drop=True
    )


def _only_in(cells: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    shared = pd.MultiIndex.from_frame(pairs[CELL])
    alone = cells[~pd.MultiIndex.from_frame(cells[CELL]).isin(shared)]
    return alone.groupby(GROUP).size().rename("n").reset_index()


def _unsteady(pairs: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    ran = pairs[(pairs["status"] == "ok") & (pairs["status_new"] == "ok")]
    alike = ran["code_dirty"].eq(False) & ran["code_dirty_new"].eq(False)
    for name in FINGERPRINT:
        alike &= (ran[name] == ran[f"{name}_new"]) | (ran[name].isna() & ran[f"{name}_new"].isna())
    found = [pd.DataFrame(columns=UNSTEADY)]
    for name in metrics:
        old, new = ran[name], ran[f"{name}_new"]
        differ = ran[alike & ~((old == new) | (old.isna() & new.isna()))]
        if not differ.empty:
            found.append(differ.assign(metric=name, old=differ[name], new=differ[f"{name}_new"])[UNSTEADY])
    return pd.concat(found[1:], ignore_index=True) if len(found) > 1 else found[0]


def _notes(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    notes = []
    for suite, dataset in _other_rows(old, new):
        notes.append(f"{dataset} ({suite}): the data or their splits differ, so its splits cannot be paired")
    hashes = [set(map(tuple, cells[["suite", "preset", "protocol_hash"]].to_numpy())) for cells in (old, new)]
    names = [{(suite, preset.partition("@")[0]) for suite, preset, _ in found} for found in hashes]
    for suite, preset in sorted(names[0] & names[1]):
        own = [{h for s, p, h in found if (s, p.partition("@")[0]) == (suite, preset)} for found in hashes]
        if not own[0] & own[1]:
            notes.append(
                f"preset {preset} of suite {suite} has another protocol in the new results; nothing is compared"
            )
    return notes
