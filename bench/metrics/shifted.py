"""A classifier on shifted test images: how its quality and its calibration fall with the severity of a shift."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from torch import Tensor

from bench.metrics import calibration, classification
from bench.metrics.pooling import pool
from bench.schema import CORRUPTED, ELSEWHERE, SHIFTS
from bench.shifts import Shift
from methods.maths.predictive import Classes


def scores(predictive: Classes, y: Tensor) -> dict[str, float]:
    """`accuracy`, `nmll`, `brier`, `ece` and mean `entropy` at points of class numbers y (n,)."""
    pooled, labels = pool(predictive), y.long().numpy()
    probabilities = pooled.probabilities.numpy()
    correct = probabilities.argmax(1) == labels
    return {
        "accuracy": float(correct.mean()),
        "nmll": -classification.log_density(predictive, y).mean().item(),
        "brier": classification.brier(probabilities, labels),
        "ece": calibration.ece(probabilities.max(1), correct),
        "entropy": pooled.entropy.mean().item(),
    }


def table(predictive: Classes, shifted: Iterable[tuple[Shift, int, Classes]], y: Tensor) -> pa.Table:
    """`scores` without and with shifts, of `bench.schema.SHIFTS`.

    Args:
        predictive: at the n test images as they are.
        shifted: a shift, its severity, and the predictive at the images that it leaves; taken one at a time.
        y: (n,) class numbers of the images.
    """
    rows = [{"severity": 0, **scores(predictive, y)}]
    for shift, severity, found in shifted:
        rows.append({"family": shift.family, "shift": shift.name, "severity": severity, **scores(found, y)})
    return pa.Table.from_pylist(rows, schema=SHIFTS)


def elsewhere(predictive: Classes, y: Tensor) -> dict[str, float]:
    """`bench.schema.ELSEWHERE`, from the predictive at images of another set and their class numbers y (n,)."""
    found = {"nmll": -classification.log_density(predictive, y).mean().item()}
    found |= classification.evaluate(pool(predictive), y)
    return {name: found[name.removeprefix("elsewhere_")] for name in ELSEWHERE}


def corrupted_means(shifts: pa.Table) -> dict[str, float]:
    """`bench.schema.CORRUPTED` from the table of `table`; nothing if it has no corruption."""
    corrupted = shifts.filter(pc.field("family") == "corruption")
    if not len(corrupted):
        return {}
    return {name: pc.mean(corrupted[name.removeprefix("corrupted_")]).as_py() for name in CORRUPTED}
