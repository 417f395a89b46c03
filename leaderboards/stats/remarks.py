"""Remarks that pages and tables print beside a method's number, on facts that its rank does not show.

- *No better than predicting the mean*: the method's mean over splits (or median, where each split leaves out values of
  another feature) is no better than that of the baseline `constant`, which ignores the inputs, on the splits that both
  finished. This remark is made only for metrics of how well targets are predicted.
- *Still improving*: on more than half of the splits the training objective was still improving when training ended
  (`bench.engine.convergence`, recorded in the diagnostics). The number may be limited by the budget rather than by the
  method. Results without a recorded objective are not counted.
- *Of an earlier engine*: some of the method's results were computed before training loops were compiled to C++, or by
  older code than the method's newest results, and no recheck has reproduced them since (`data.rechecks`).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pandas as pd

from lockstep_bench.leaderboards.metrics import badness, metric
from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.leaderboards.wording.formats import counted
from lockstep_bench.methods import BASELINE
from lockstep_bench.shared.columns import METRICS

NO_BETTER = "no better than predicting the mean"
IMPROVING = "still improving"
EARLIER = "of an earlier engine"
SIGNS = {NO_BETTER: "†", IMPROVING: "‡", EARLIER: "§"}
MEANINGS = {
    NO_BETTER: "no better than predicting the training mean (or the class frequencies), which ignores the inputs",
    IMPROVING: "still improving: on more than half of the splits the training objective still gained when training "
    "ended",
    EARLIER: "of an earlier engine: some rows were trained before training loops were compiled, or by other code than "
    "the newest rows in the table, and no recheck has reproduced them since",
}
FIELD = "still_improving"  # of a row's diagnostics
PREDICTION = re.compile(r"nmll.*|rmse.*|crps|brier|accuracy|auroc")
BOARD = ["suite", "dataset", "preset"]
KEY = ["suite", "dataset", "method", "preset", "metric"]


def remarks(
    cells: pd.DataFrame, splits: pd.DataFrame, numbers: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """Return the remarks on each number, joined by "; ", by suite, data set, method, preset and metric.

    Args:
        cells: columns of `shared.schema.CELLS`, with labelled presets.
        splits: result of `summary.per_split`.
        numbers: the numbers, identified by their values of the columns `KEY`.
    """
    if splits.empty:
        return {}
    improving, earlier = _improving(cells), _earlier(cells)
    of_cells = {key: [IMPROVING] * (key in improving) + [EARLIER] * (key in earlier) for key in improving | earlier}
    no_better = _no_better(splits)
    said = {}
    for key in numbers:
        words = of_cells.get(key[:-1], []) if key[-1] in METRICS else []
        if key in no_better:
            words = [NO_BETTER, *words]
        if words:
            said[key] = "; ".join(words)
    return said


def over_datasets(summary: pd.DataFrame, name: str, datasets: list[str]) -> dict[str, str]:
    """Return each method's remarks, counted over data sets, such as "still improving on 2 of 4 data sets"; "" for none.

    Args:
        summary: result of `summary.summarise`, of one suite and preset.
        name: name of the metric.
        datasets: names of the data sets; for a single one, the remark on its number is returned.
    """
    rows = summary[(summary["metric"] == name) & summary["dataset"].isin(datasets)]
    said: dict[str, list[str]] = {}
    for words in SIGNS:
        counts = Counter(rows.loc[rows["remark"].str.contains(words, regex=False), "method"])
        where = f" on {{}} of {counted(len(datasets), 'data set')}" if len(datasets) > 1 else ""
        for method, count in counts.items():
            said.setdefault(str(method), []).append(words + where.format(count))
    return {method: "; ".join(parts) for method, parts in said.items()}


def signs(remark: str) -> str:
    """Return the signs that stand for a remark, such as "†‡", which are printed after the number."""
    return "".join(sign for words, sign in SIGNS.items() if words in remark)


def legend(of: Iterable[str]) -> list[str]:
    """Return a phrase that explains each sign that occurs among the remarks, such as "‡ still improving: ..."."""
    said = "; ".join(set(of))
    return [f"{SIGNS[words]} {meaning}" for words, meaning in MEANINGS.items() if words in said]


def _no_better(splits: pd.DataFrame) -> set[tuple[str, ...]]:
    names = [name for name in splits["metric"].unique() if PREDICTION.fullmatch(name)]
    predicted = splits[splits["metric"].isin(names)]
    is_baseline = predicted["method"] == BASELINE
    baseline = predicted[is_baseline].drop(columns="method")
    pairs = predicted[~is_baseline].merge(baseline, on=[*BOARD, "metric", "split"], suffixes=("", "_of_baseline"))
    found: set[tuple[str, ...]] = set()
    for name, part in pairs.groupby("metric"):
        values = part.groupby(KEY)[["value", "value_of_baseline"]]
        means, medians = values.mean(), values.median()
        datasets = means.index.get_level_values("dataset")
        along_features = datasets.map({dataset: splits_of(dataset).along_features for dataset in datasets.unique()})
        means[along_features] = medians[along_features]
        goal = metric(str(name)).goal
        assert goal is not None, "every metric of `PREDICTION` has a direction"
        ours, theirs = (badness(means[column].to_numpy(), goal) for column in means)
        found |= set(means.index[ours >= theirs])
    return found


def _earlier(cells: pd.DataFrame) -> set[tuple[str, ...]]:
    finished = cells[cells["status"] == "ok"]
    marked = finished[finished["execution"].isna() | _of_other_code(finished)]
    return set(marked[KEY[:-1]].itertuples(index=False, name=None))


def _of_other_code(cells: pd.DataFrame) -> pd.Series:
    """Return which rows have another `code_identity` than the newest row of their board, and no successful recheck.

    The part of an identity that all methods share is compared over the board, the rest over the rows of the method.
    """
    known = cells.loc[cells["code_identity"].notna(), [*KEY[:-1], "code_identity", "finished_at"]]
    if known.empty:
        return pd.Series(False, cells.index)
    identities = known.sort_values("finished_at", kind="stable")["code_identity"]
    board = [known[name] for name in BOARD]
    other = pd.Series(False, known.index)
    for part, keys in ((0, board), (2, [*board, known["method"]])):
        number = identities.map({text: text.partition("-")[part] for text in identities.unique()}).factorize()[0]
        numbers = pd.Series(number, identities.index)
        other |= numbers != numbers.groupby(keys, observed=True).transform("last")
    if "rechecked" in cells:
        other &= cells["rechecked"].isna()
    return other.reindex(cells.index, fill_value=False)


def _improving(cells: pd.DataFrame) -> set[tuple[str, ...]]:
    finished = cells[(cells["status"] == "ok") & cells["diagnostics"].notna()]
    said = finished["diagnostics"].map({text: _still_improving(text) for text in finished["diagnostics"].unique()})
    groups = said.dropna().astype(float).groupby([finished[key] for key in KEY[:-1]]).mean()
    return set(groups.index[groups > 0.5])


def _still_improving(diagnostics: str) -> float | None:
    """Return `still_improving` in a row's diagnostics, 1 or 0; None if they lack it."""
    if f'"{FIELD}"' not in diagnostics:
        return None
    value: Any = json.loads(diagnostics).get(FIELD)
    return float(value) if value in (0, 1) else None
