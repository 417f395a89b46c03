"""Computation of metrics that finished cells lack, from their stored predictions, without training."""

import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from lockstep_bench import methods
from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics.prediction_table import predictive_of
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed
from lockstep_bench.shared.rows.reader import CellFiles
from lockstep_bench.shared.rows.rows_cache import KEY
from lockstep_bench.shared.schema import CLASSIFICATION, JOINT, OOD, REGRESSION, cell_key

FROM_PREDICTIONS = ("nmll", *REGRESSION, *CLASSIFICATION, *JOINT, *OOD)


class Rescored(NamedTuple):
    """Outcome for one cell (the result of a method on one split) of which a metric was missing.

    Attributes:
        key: path of the cell's file below OUT/cells, without suffix.
        added: names of the metrics that were added to the cell's row.
        reason: why no metric was added; "" if one was.
    """

    key: str
    added: tuple[str, ...] = ()
    reason: str = ""


def rescored(out: Path, wanted: Collection[str]) -> Iterator[Rescored]:
    """Add missing metrics to the rows of a results folder, and yield the outcome for each cell that lacked one.

    Only cells with the status "ok" are treated. Metrics that a row already has stay as they are: they were computed
    from predictions in double precision, and stored predictions are in single precision.

    Args:
        out: results folder.
        wanted: names of metrics, among `FROM_PREDICTIONS`.
    """
    rows = CellFiles(out).table
    for row in rows.to_pylist():
        lacks = [name for name in wanted if row[name] is None]
        if row["status"] == "ok" and lacks:
            yield _rescored(out, row, lacks)


def _rescored(out: Path, row: dict[str, Any], lacks: Collection[str]) -> Rescored:
    key = cell_key(*(row[name] for name in KEY))
    own, predictions = (out / part / f"{key}.parquet" for part in ("cells", "predictions"))
    if not (own.is_file() and predictions.is_file()):
        return Rescored(key, reason="no predictions are kept")
    try:
        found = _scores(row, unsealed(predictions.read_bytes()))
    except Damaged as problem:
        return Rescored(key, reason=f"{predictions}: {problem}")
    except (methods.UnknownMethod, methods.BrokenMethod) as problem:
        return Rescored(key, reason=str(problem))
    added = {name: found[name] for name in lacks if name in found}
    if not added:
        return Rescored(key, reason="the metrics do not apply")
    Results(out).add_metrics(row, added)
    return Rescored(key, tuple(added))


def _scores(row: dict[str, Any], table: pa.Table) -> dict[str, float]:
    """Return all metrics that apply to a cell's predictions."""
    predictive, y, ood = predictive_of(table)
    regression = row["nmll_standardised"] is not None
    y_scale = math.exp(row["nmll"] - row["nmll_standardised"]) if regression else 1.0
    joint = metrics.evaluate_joint(predictive, y, y_scale) if methods.get(row["method"]).joint else {}
    return metrics.evaluate(predictive, y, y_scale, ood) | joint
