"""Comparison of two sets of results: which numbers differ significantly, and which cells changed their status.

For each suite, data set, method, preset and metric that both sets have, new - old is tested split by split (means over
seeds) by the corrected resampled t, as differences are in rankings (`leaderboards.stats.corrected_t`). Nothing is
tested with fewer than two common splits, where the data or the splits differ, and where all splits have the same test
rows. A cell is one method on one split of a data set, under one preset and seed.

All p-values are adjusted together by Holm's method. If nothing changed but noise, the probability that any number is
reported as changed is at most 0.05. Numbers that are equal on every split are "same", and a mean that is infinite in
only one set counts as changed, whatever the test.

Cells with the same code, data, split, protocol, seed, versions and device should have the same numbers to the last bit.
Where they do not, some source of randomness is not seeded; these cells are listed separately. Two cells have the same
code if their `code_identity` is equal. Where a cell has none, both must be of one commit without uncommitted changes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.data.fingerprints import CELL
from lockstep_bench.leaderboards.metrics import HEADLINE, badness, metric
from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean
from lockstep_bench.leaderboards.stats.dependence import ratios
from lockstep_bench.leaderboards.stats.paired import mean_of_known
from lockstep_bench.leaderboards.stats.significance import ALPHA, holm, holm_level
from lockstep_bench.leaderboards.stats.summary import GROUP, per_split, with_labelled_presets
from lockstep_bench.leaderboards.wording.formats import counted, listed
from lockstep_bench.shared.columns import METRICS

WHERE = [*GROUP, "metric"]
BEYOND_NOISE = ("better", "worse", "moved")
FINGERPRINT = ["data_sha256", "split_sha256", "versions", "device"]
MOST_LISTED = 6

DEFAULT = tuple(name for name in HEADLINE if name in METRICS)  # no times, which differ between any two runs


class Move(NamedTuple):
    """A row of `Comparison.moves`: one metric of one method in both sets of results, and the test of its change."""

    suite: str
    dataset: str
    method: str
    preset: str
    metric: str
    old: float
    new: float
    change: float
    stderr: float
    detectable: float
    n: int
    p_value: float
    verdict: str


class StatusChange(NamedTuple):
    """A row of `Comparison.statuses`: one cell whose status (ok, diverged, failed) has changed."""

    suite: str
    dataset: str
    method: str
    preset: str
    split: int
    seed: int
    old: str
    new: str
    verdict: str


class Unsteady(NamedTuple):
    """A row of `Comparison.unsteady`: a metric of one cell that differs although code, data and seed are the same."""

    suite: str
    dataset: str
    method: str
    preset: str
    split: int
    seed: int
    metric: str
    old: float
    new: float


class Comparison(NamedTuple):
    """Result of `compare`; all frames may be empty.

    Attributes:
        moves: columns of `Move`, one row per suite, data set, method, preset and metric that both sets of results have.
            old and new are means over the n splits that both have; where no split can be compared, they are means over
            the splits of each, and n is the smaller number. change is new - old with its standard error, and detectable
            the smallest change that would have been significant with 80 % probability. p_value is adjusted by Holm's
            method. verdict is "same" (to the last bit), "noise", "untested" (different, but not to be tested) or, for a
            significant change, "better", "worse" or, for a metric without a direction, "moved".
        statuses: columns of `StatusChange`, one row per cell whose status changed: "better" if it is "ok" now, "worse"
            if it was "ok" before, else "moved".
        vanished: columns of `GROUP`, and n, the number of their cells that only the old results have.
        appeared: columns of `GROUP`, and n, the number of their cells that only the new results have.
        unsteady: columns of `Unsteady`, cells whose numbers differ although code, data, split, protocol, seed, versions
            and device are the same.
        notes: sentences on what could not be compared, and why.
    """

    moves: pd.DataFrame
    statuses: pd.DataFrame
    vanished: pd.DataFrame
    appeared: pd.DataFrame
    unsteady: pd.DataFrame
    notes: list[str]

    @property
    def moved(self) -> pd.DataFrame:
        """Rows of `moves` whose change is significant."""
        return self.moves[self.moves["verdict"].isin(BEYOND_NOISE)]

    @property
    def anything(self) -> bool:
        """True if a metric changed significantly, a status changed, or a cell was not reproduced bit for bit."""
        return not (self.moved.empty and self.statuses.empty and self.unsteady.empty)

    @property
    def comparable(self) -> bool:
        """True if there is any number or status to compare."""
        return not (self.moves.empty and self.statuses.empty)


def compare(old: pd.DataFrame, new: pd.DataFrame, metrics: Sequence[str] = DEFAULT) -> Comparison:
    """Return the comparison of two tables of results, one row per cell.

    Args:
        old: result rows from before the change, as `data.results.read_results` returns them.
        new: result rows from after the change, likewise.
        metrics: names of the metrics that are compared.
    """
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
    wide = [_wide(cells, metrics) for cells in (old, new)]
    keys = wide[0].index.intersection(wide[1].index)
    splits = wide[0].columns.union(wide[1].columns)
    before, after = (frame.reindex(index=keys, columns=splits).to_numpy(float) for frame in wide)
    paired = ~np.isnan(before) & ~np.isnan(after)
    paired[_has_changed_data(keys, old, new)] = False
    equal = (np.isnan(before) == np.isnan(after)) & (np.isnan(before) | (before == after))

    with np.errstate(invalid="ignore"):  # the difference of two infinities is unknown
        differences = after - before
    ratio = ratios(pd.concat([old, new]))
    datasets = keys.get_level_values("dataset")
    changes = [
        corrected_mean(row[of_row], ratio[dataset])
        for row, of_row, dataset in zip(differences, paired, datasets, strict=True)
    ]
    adjusted = holm(np.array([change.p_value for change in changes]))
    level = holm_level(adjusted)

    shown = np.where(paired.any(axis=1)[:, None], paired, True)
    means = [mean_of_known(np.where(shown, values, np.nan), axis=1) for values in (before, after)]
    counts = [(shown & ~np.isnan(values)).sum(axis=1) for values in (before, after)]
    with np.errstate(invalid="ignore"):
        change = means[1] - means[0]
    goals = [metric(name).goal for name in keys.get_level_values("metric")]
    table = keys.to_frame(index=False).assign(
        old=means[0],
        new=means[1],
        change=change,
        stderr=[change.stderr for change in changes],
        detectable=[change.detectable(level) for change in changes],
        n=np.minimum(*counts),
        p_value=adjusted,
        verdict=[_verdict(*row) for row in zip(equal.all(axis=1), adjusted, *means, goals, strict=True)],
    )
    return table[list(Move._fields)]


def _wide(cells: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    splits = per_split(cells)
    splits = splits[splits["metric"].isin(metrics)]
    return splits.set_index([*WHERE, "split"])["value"].unstack("split")  # noqa: PD010 - nothing is aggregated


def _has_changed_data(keys: pd.Index, old: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
    """Return True for each key if the data of its data set, or the rows of a split, differ between the two."""
    changed = set(_changed_datasets(old, new))
    return np.array([(suite, dataset) in changed for suite, dataset, *_ in keys], bool)


def _changed_datasets(old: pd.DataFrame, new: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the pairs (suite, data set) where the checksums of the data or of a split differ."""
    key = ["suite", "dataset", "split"]
    sums = [cells[[*key, "data_sha256", "split_sha256"]].drop_duplicates() for cells in (old, new)]
    both = sums[0].merge(sums[1], on=key, suffixes=("", "_new"))
    differ = pd.Series(False, both.index)
    for name in ("data_sha256", "split_sha256"):
        known = both[name].notna() & both[f"{name}_new"].notna()
        differ |= known & (both[name] != both[f"{name}_new"])
    return sorted(set(both.loc[differ, ["suite", "dataset"]].itertuples(index=False, name=None)))


def _verdict(same: bool, p_value: float, old: float, new: float, goal: str | float | None) -> str:
    if same:
        return "same"
    if np.isfinite(old) == np.isfinite(new):
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
    rows = changed.assign(old=changed["status"], new=changed["status_new"], verdict=verdict)
    return rows[list(StatusChange._fields)].reset_index(drop=True)


def _only_in(cells: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    shared = pd.MultiIndex.from_frame(pairs[CELL])
    unshared = cells[~pd.MultiIndex.from_frame(cells[CELL]).isin(shared)]
    return unshared.groupby(GROUP).size().rename("n").reset_index()


def _unsteady(pairs: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    ran = pairs[(pairs["status"] == "ok") & (pairs["status_new"] == "ok")]
    alike = _same_code(ran)
    for name in FINGERPRINT:
        alike &= _equal(ran, name)
    columns, frames = list(Unsteady._fields), []
    for name in metrics:
        differ = ran[alike & ~_equal(ran, name)]
        if not differ.empty:
            frames.append(differ.assign(metric=name, old=differ[name], new=differ[f"{name}_new"])[columns])
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _same_code(pairs: pd.DataFrame) -> pd.Series:
    """Return for each pair of cells whether their code is the same: by its hash, or by commit if one has no hash."""
    identified = pairs["code_identity"].notna() & pairs["code_identity_new"].notna()
    clean = pairs["code_dirty"].eq(False) & pairs["code_dirty_new"].eq(False)
    return _equal(pairs, "code_identity").where(identified, clean & _equal(pairs, "code_revision"))


def _equal(pairs: pd.DataFrame, name: str) -> pd.Series:
    """Return for each pair of cells whether the values of a column are equal; two nulls count as equal."""
    old, new = pairs[name], pairs[f"{name}_new"]
    return (old == new) | (old.isna() & new.isna())


def _notes(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    notes = []
    for name, cells in (("old", old), ("new", new)):
        if n := int((cells["status"].eq("ok") & cells["execution"].isna()).sum()):
            notes.append(f"{counted(n, 'cell')} of the {name} results were trained before loops were compiled.")
    if changed := [f"{dataset} ({suite})" for suite, dataset in _changed_datasets(old, new)]:
        notes.append(f"Not paired by split, as the data or the splits differ: {listed(changed, MOST_LISTED)}.")
    hashes = [set(map(tuple, cells[["suite", "preset", "protocol_hash"]].to_numpy())) for cells in (old, new)]
    names = [{(suite, preset.partition("@")[0]) for suite, preset, _ in triples} for triples in hashes]
    differ = []
    for suite, preset in sorted(names[0] & names[1]):
        protocols = [{h for s, p, h in triples if (s, p.partition("@")[0]) == (suite, preset)} for triples in hashes]
        if not protocols[0] & protocols[1]:
            differ.append(f"{preset} ({suite})")
    if differ:
        notes.append(f"Not compared, as the new results have another protocol: {listed(differ, MOST_LISTED)}.")
    return notes
