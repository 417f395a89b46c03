"""Quality and calibration of a classifier on shifted test images, by the severity of the shift."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from torch import Tensor

from lockstep_bench.bench.metrics import checks, classification
from lockstep_bench.bench.metrics.pooling import pool
from lockstep_bench.datasets.images.shifts import Shift
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.shared.schema import CORRUPTED, ELSEWHERE, SHIFTS
from lockstep_bench.shared.uncertainty import calibration_error


def scores(predictive: Classes, y: Tensor) -> dict[str, float]:
    """Return `accuracy`, `nmll`, `brier`, `ece` and mean `entropy` for class numbers y (n,)."""
    labels = checks.targets(predictive, y, Classes).cpu().numpy()
    pooled = pool(predictive)
    probabilities = pooled.probabilities.numpy()
    correct = probabilities.argmax(1) == labels
    return {
        "accuracy": float(correct.mean()),
        "nmll": -classification.log_density(predictive, y).mean().item(),
        "brier": classification.brier(probabilities, labels),
        "ece": calibration_error.ece(probabilities.max(1), correct),
        "entropy": pooled.entropy.mean().item(),
    }


def table(predictive: Classes, shifted: Iterable[tuple[Shift, int, Classes]], y: Tensor) -> pa.Table:
    """Return `scores` on original and on shifted test images, as a table of `shared.schema.SHIFTS`.

    Args:
        predictive: the predictive at the n original test images.
        shifted: (shift, severity, predictive at the shifted images); consumed one at a time.
        y: (n,), class numbers of the images.
    """
    rows: list[dict[str, Any]] = [{"severity": 0, **scores(predictive, y)}]
    for shift, severity, at_shifted in shifted:
        rows.append({"family": shift.family, "shift": shift.name, "severity": severity, **scores(at_shifted, y)})
    return pa.Table.from_pylist(rows, schema=SHIFTS)


def elsewhere(predictive: Classes, y: Tensor) -> dict[str, float]:
    """Return the metrics of `shared.schema.ELSEWHERE` on images of another data set with the same classes, y (n,)."""
    values = {"nmll": -classification.log_density(predictive, y).mean().item()}
    values |= classification.evaluate(pool(predictive), y)
    return {name: values[name.removeprefix("elsewhere_")] for name in ELSEWHERE}


def corrupted_means(shifts: pa.Table) -> dict[str, float]:
    """Return the metrics of `shared.schema.CORRUPTED`, means over corruptions, from a table of `table`.

    The result is {} if the table has no corruptions.
    """
    corrupted = shifts.filter(pc.field("family") == "corruption")
    if not len(corrupted):
        return {}
    return {name: pc.mean(corrupted[name.removeprefix("corrupted_")]).as_py() for name in CORRUPTED}
