"""Compact predictions: those at a few points in low precision, as figures need them, small enough to be published.

For a regression, the error in units of the predictive standard deviation, that standard deviation and the PIT are kept;
for a classification, the log of the mean class probabilities. Restored predictions have a single posterior sample.
"""

import numpy as np
import pyarrow as pa

from lockstep_bench.leaderboards.stats.predictions import Predictions, moments, pit, probabilities

MOST_POINTS = 300  # of test points, and as many of OOD points
LARGEST = 60_000.0  # that half precision holds
PIT_STEPS = 65_535
MANTISSA = np.uint32(0xFFFF8000)  # keeps 8 bits of a standard deviation's fraction

SCHEMA = pa.schema(
    [
        pa.field("ood", pa.bool_(), nullable=False),
        pa.field("y", pa.float32()),
        pa.field("error", pa.float16()),  # (y - mean) / sd
        pa.field("sd", pa.float32()),
        pa.field("pit", pa.uint16()),  # in steps of 1 / PIT_STEPS
        pa.field("log_probs", pa.list_(pa.float16())),
    ]
)


def thinned(predictions: Predictions) -> pa.Table:
    """Return predictions at up to `MOST_POINTS` evenly spaced test points and as many OOD points, columns `SCHEMA`."""
    points = np.sort(np.concatenate([_spaced(np.flatnonzero(predictions.ood == ood)) for ood in (False, True)]))
    y, ood = predictions.y[points], predictions.ood[points]
    columns: dict[str, np.ndarray | pa.Array | list[int] | None] = dict.fromkeys(SCHEMA.names)
    if predictions.log_probs is None:
        mean, variance = (moment[points] for moment in moments(predictions))
        sd = np.sqrt(variance).astype(np.float32)
        columns["error"] = np.clip((y - mean) / sd, -LARGEST, LARGEST).astype(np.float16)
        columns["sd"] = (sd.view(np.uint32) & MANTISSA).view(np.float32)
        steps = np.round(PIT_STEPS * pit(predictions)[points])
        columns["pit"] = pa.array(np.nan_to_num(steps).astype(np.uint16), mask=np.isnan(steps))  # of unknown targets
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(probabilities(predictions)[points])
        columns["log_probs"] = list(np.clip(logs, -LARGEST, 0).astype(np.float16))
    columns |= {"ood": ood, "y": y.astype(np.float32)}
    arrays = [
        pa.nulls(len(points), field.type) if columns[field.name] is None else pa.array(columns[field.name], field.type)
        for field in SCHEMA
    ]
    return pa.table(arrays, SCHEMA)


def restored(table: pa.Table) -> Predictions:
    """Return the predictions that a table of `thinned` holds, with one posterior sample at each of N points."""
    y, ood = table["y"].to_numpy().astype(float), table["ood"].to_numpy()
    if table["sd"].null_count == len(table):
        logs = np.array(table["log_probs"].to_pylist(), float)[:, None, :]
        return Predictions(y, ood, None, None, logs)
    error, sd = (table[name].to_numpy().astype(float) for name in ("error", "sd"))
    uniform = table["pit"].to_numpy().astype(float) / PIT_STEPS
    return Predictions(y, ood, (y - error * sd)[:, None], (sd**2)[:, None], None, uniform)


def _spaced(points: np.ndarray) -> np.ndarray:
    """Return at most `MOST_POINTS` of the points, evenly spaced."""
    spaced: np.ndarray = points[np.unique(np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(int))]
    return spaced
