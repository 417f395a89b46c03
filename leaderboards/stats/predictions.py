"""Stored predictions at single test points, and their PIT values, reliability bins and OOD detection."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lockstep_bench.shared.uncertainty import calibration_error

MOST_ROWS = 1000  # read of each of a cell's test and OOD points: a figure shows no more, and files may be large


class Predictions(NamedTuple):
    """Predictions of one method on one split at the first N stored points, with S posterior samples and C classes.

    Attributes:
        y: targets (N,); NaN for OOD points.
        ood: whether a point is out of distribution (N,), bool.
        mean: predictive means (N, S) in original units; None for classification.
        variance: predictive variances (N, S) in original units; None for classification.
        log_probs: log class probabilities (N, S, C); None for regression.
        pit: probability integral transform of y (N,), if the predictive is not a mixture of Gaussians; else None.
    """

    y: np.ndarray
    ood: np.ndarray
    mean: np.ndarray | None
    variance: np.ndarray | None
    log_probs: np.ndarray | None
    pit: np.ndarray | None = None


def read(path: Path) -> Predictions | None:
    """Return the predictions at the first points of a Parquet file, or None if it cannot be read."""
    if not os.path.isfile(path):  # reading a pipe would wait for ever
        return None
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        names = [name for name in ("mean", "variance", "log_probs") if name in file.schema_arrow.names]
        stored = [name for name in ("pit",) if name in file.schema_arrow.names]
        parts = [_some(file, [*names, *stored], ood) for ood in (False, True)]
        table = pa.concat_tables(parts)
        samples = {name: _matrix(table[name]) for name in names}
        log_probs = samples.get("log_probs")
        if log_probs is not None:
            log_probs = log_probs.reshape(len(table), -1, _n_classes(log_probs))
    except Exception:  # damage raises whatever the damaged bytes lead to
        return None
    y = table["y"].to_numpy().astype(float)
    of_targets = {name: table[name].to_numpy().astype(float) for name in stored}
    return Predictions(
        y, table["ood"].to_numpy(), samples.get("mean"), samples.get("variance"), log_probs, **of_targets
    )


def _some(file: pq.ParquetFile, names: list[str], ood: bool) -> pa.Table:
    """Return the first rows whose column `ood` has that value."""
    kept, n = [], 0
    for batch in file.iter_batches(MOST_ROWS, columns=["ood", "y", *names]):
        part = pa.table(batch).filter(pc.equal(batch["ood"], ood))
        kept.append(part)
        n += len(part)
        if n >= MOST_ROWS:
            break
    return pa.concat_tables(kept).slice(0, MOST_ROWS)


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of N lists of equal length as an array (N, length)."""
    values = np.concatenate([np.asarray(chunk.flatten()) for chunk in column.chunks] or [np.empty(0)])
    return values.reshape(len(column), -1).astype(float)


def _n_classes(log_probs: np.ndarray) -> int:
    """Return the number C of classes of rows of S C log probabilities: the smallest that splits them into sums of 1."""
    probs = np.exp(log_probs[:20])
    for n_classes in range(2, probs.shape[1] + 1):
        if probs.shape[1] % n_classes == 0:
            sums = probs.reshape(-1, n_classes).sum(axis=1)
            if np.abs(sums - 1).max() < 1e-3:
                return n_classes
    raise ValueError("log_probs cannot be split into probabilities that sum to 1")


def pit(predicted: Predictions) -> np.ndarray:
    """Return the probability integral transform (N,) of regression targets, uniform if well calibrated.

    For a mixture of Gaussians PIT = 1/S sum_s Phi((y - mean_s) / sd_s); for other predictives it was stored.
    """
    if predicted.pit is not None:
        return predicted.pit
    from scipy.special import ndtr

    assert predicted.mean is not None
    assert predicted.variance is not None
    scaled = (predicted.y[:, None] - predicted.mean) / np.sqrt(predicted.variance)
    pit: np.ndarray = ndtr(scaled).mean(axis=1)
    return pit


def moments(predicted: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance (N,) of the predictive distributions of a regression."""
    assert predicted.mean is not None
    assert predicted.variance is not None
    return predicted.mean.mean(axis=1), predicted.variance.mean(axis=1) + predicted.mean.var(axis=1)


def probabilities(predicted: Predictions) -> np.ndarray:
    """Return mean class probabilities (N, C) over the posterior samples."""
    assert predicted.log_probs is not None
    means: np.ndarray = np.exp(predicted.log_probs).mean(axis=1)
    return means


def reliability(predicted: Predictions) -> pd.DataFrame:
    """Return the reliability bins of the test points, without OOD points.

    Columns low, high, confidence, accuracy and count, as in `shared.schema.RELIABILITY`.
    """
    test = ~predicted.ood
    probs = probabilities(predicted)[test]
    bins: pd.DataFrame = calibration_error.reliability(probs.max(1), probs.argmax(1) == predicted.y[test]).to_pandas()
    return bins


def roc(predicted: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return false and true positive rates of OOD detection, each from 0 to 1.

    OOD points are the positives. The score is 1 - maximum probability.
    """
    from sklearn.metrics import roc_curve  # slow to import, and few pages have this figure

    score = 1 - probabilities(predicted).max(axis=1)
    false, true, _ = roc_curve(predicted.ood, score, drop_intermediate=False)
    return false, true
