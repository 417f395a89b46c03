"""Notes on metrics that results lack because they are older than the metrics."""

import pandas as pd

from lockstep_bench.leaderboards.metrics import COMPUTED, metric
from lockstep_bench.leaderboards.wording.formats import counted, visible
from lockstep_bench.shared.rows.recalibrated import SHOWN as RECALIBRATED
from lockstep_bench.shared.schema import CLASSIFICATION, LATER, REGRESSION, TIMES

MOST_NAMED = 6  # methods in a sentence
OLDER = "not measured: the rows are older than this metric"
NOT_RECALIBRATED = "not recalibrated: `lockstep-bench recalibrate` does it where predictions are kept"
NOT_TIMED = "not timed: its cells ran beside others; `run_all.py --timing` repeats one alone"


def missing(name: str) -> str:
    """Return why finished results of a method lack a metric."""
    if name in RECALIBRATED:
        return NOT_RECALIBRATED
    return NOT_TIMED if name in (*TIMES, *COMPUTED) else OLDER


def older_rows(cells: pd.DataFrame) -> str:
    """Return a sentence on which methods lack which newer metrics; "" if no row lacks a metric of its task.

    Args:
        cells: result rows of one data set and preset, columns `shared.schema.CELLS`.
    """
    finished = cells[cells["status"] == "ok"]
    of_tasks = [
        *(REGRESSION if finished["coverage_90"].notna().any() else ()),
        *(CLASSIFICATION if finished["accuracy"].notna().any() else ()),
    ]
    names = [name for name in of_tasks if name in LATER]
    measured = finished[names].notna().groupby(finished["method"], sort=False).any()
    older = [str(method) for method, has in measured.iterrows() if not has.all()]
    if not older:
        return ""
    named = ", ".join(map(visible, older)) if len(older) <= MOST_NAMED else counted(len(older), "method")
    whose = "all rows" if len(older) == len(measured) else f"the rows of {named}"
    return f"Not measured, because {whose} are older than these metrics: {'; '.join(metric(n).title for n in names)}."
