"""Rechecks: stored results are drawn, run again, and their numbers judged as equal, within noise, or different."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, cast

import pandas as pd

from lockstep_bench.leaderboards.data.fingerprints import CELL
from lockstep_bench.leaderboards.data.rechecks import DIFFERENT, EQUAL, NOT_RUN, WITHIN, Again, Recheck
from lockstep_bench.leaderboards.metrics import LEADS
from lockstep_bench.leaderboards.rechecks.drawing import drawn, population
from lockstep_bench.leaderboards.rechecks.running import NotRun, Row, run_again
from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.leaderboards.wording.run_facts import revision

FEWEST_SPLITS = 3  # that tell how much a number varies
DEVIATIONS = 3  # standard deviations over splits
SHARE = 0.1  # of the number, where there are fewer splits
OTHER_SEEDS = 4  # that a cell is run with where that share is exceeded


def recheck(
    rows: pd.DataFrame, n: int, seed: int, run: Callable[[Row], Row] = run_again, tell: Callable[[Again], None] = print
) -> Recheck:
    """Draw `n` results of a results folder, run them again, and return the outcome.

    Args:
        rows: all rows of the folder, with the times as they were recorded.
        n: number of results.
        seed: seed of the draw.
        run: function that runs the result of a row again and returns the new row.
        tell: function that is called with each comparison as soon as it is made.
    """
    every = population(rows)
    cells, codes = [], set()
    for row in cast("list[Row]", drawn(every, n, seed).to_dict("records")):
        try:
            again = run(row)
            codes.add(revision(again["code_revision"], again["code_dirty"]))
            cell = judged(row, again, every)
            if cell.outcome == DIFFERENT and not _has_spread(_alike(row, every, cell.metric), row):
                others = [run(row | {"seed": row["seed"] + place}) for place in range(1, OTHER_SEEDS + 1)]
                cell = judged(row, again, every, others)
            cells.append(cell)
        except NotRun as problem:
            cells.append(judged(row, problem, every))
        tell(cells[-1])
    return Recheck(datetime.now(UTC).isoformat(), ", ".join(sorted(codes)), len(every), seed, tuple(cells))


def judged(row: Row, new: Row | NotRun, rows: pd.DataFrame, others: Sequence[Row] = ()) -> Again:
    """Return the comparison of a stored row with its repetition.

    The compared metric is the first of `metrics.LEADS` that the row has. A repetition on the same kind of processor has
    equal bits, unless the code has changed them. On another, rounding can change which hyper-parameters are chosen,
    which has the effect of another seed. How much a number varies with its seed is unknown, but it varies no more than
    over the splits of a data set, whose seeds differ too. A difference of up to `DEVIATIONS` standard deviations over
    splits therefore counts as noise. With fewer than `FEWEST_SPLITS` splits, or where each split leaves out values of
    another feature so that splits differ in difficulty, the limit is `SHARE` times the number instead, or `DEVIATIONS`
    standard deviations over the repetition and further ones with other seeds.

    Args:
        row: the stored row.
        new: its repetition, or why there is none.
        rows: the rows from which it was drawn, which give the standard deviation over splits.
        others: repetitions with other seeds, where splits do not give that deviation.
    """
    metric = next((name for name in LEADS if not pd.isna(row[name])), LEADS[-1])
    kept = float(row[metric])
    values = _alike(row, rows, metric)
    if _has_spread(values, row):
        noise = DEVIATIONS * float(values.std())
    elif others and not isinstance(new, NotRun):
        noise = DEVIATIONS * float(pd.Series([float(each[metric]) for each in (new, *others)]).std())
    else:
        noise = SHARE * abs(kept)
    again = None if isinstance(new, NotRun) or pd.isna(new[metric]) else float(new[metric])
    return Again(
        **{name: row[name] for name in CELL},
        metric=metric,
        kept=kept,
        new=again,
        noise=noise,
        kept_identity=_text(row["code_identity"]),
        new_identity=None if isinstance(new, NotRun) else _text(new["code_identity"]),
        outcome=NOT_RUN if isinstance(new, NotRun) else _outcome(kept, again, noise),
        problem=str(new) if isinstance(new, NotRun) else "",
    )


def _alike(row: Row, rows: pd.DataFrame, metric: str) -> pd.Series:
    """Return the metric on all splits of the same method, data set and protocol."""
    alike = [name for name in CELL if name not in ("split", "seed")]
    return rows.loc[(rows[alike] == [row[name] for name in alike]).all(axis=1), metric].dropna()


def _has_spread(values: pd.Series, row: Row) -> bool:
    """Return whether the standard deviation over splits can serve as the noise of a single number."""
    return len(values) >= FEWEST_SPLITS and not splits_of(row["dataset"]).along_features


def _outcome(kept: float, new: float | None, noise: float) -> str:
    if new is None:
        return DIFFERENT
    if new == kept:
        return EQUAL
    return WITHIN if isfinite(new) and abs(new - kept) <= noise else DIFFERENT


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
