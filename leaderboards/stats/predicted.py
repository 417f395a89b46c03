"""What single predictions tell: PIT values, calibration, OOD detection. From the table `predictions` beside a cell."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.schema import cell_key
from leaderboards.data.details import any_of

MOST = 1000  # rows of a cell that are read: a figure shows no more, and files may be large
BINS = 15  # of confidence, as in the metric `ece`


class Predicted(NamedTuple):
    """The first rows of one cell's predictions: N points, S samples.

    Attributes:
        y: (N,); NaN for OOD points.
        ood: (N,), bool.
        mean, variance: (N, S) of regression, else None; original units.
        log_probs: (N, S, C) of classification, else None.
    """

    y: np.ndarray
    ood: np.ndarray
    mean: np.ndarray | None
    variance: np.ndarray | None
    log_probs: np.ndarray | None


def first_splits(cells: pd.DataFrame) -> dict[str, Predicted]:
    """Of each method of finished `cells` the predictions of its first split that has some, in the order of the cells.

    A file that cannot be read is as good as none: numbers do not depend on it.
    """
    found: dict[str, Predicted] = {}
    if not any_of("predictions", cells):
        return found
    for cell in cells.sort_values(["split", "seed"], kind="stable").itertuples():
        if cell.method not in found:
            preset = cell.preset.partition("@")[0]
            key = cell_key(cell.suite, cell.dataset, cell.method, preset, cell.protocol_hash, cell.split, cell.seed)
            one = _read(Path(cell.folder) / "predictions" / f"{key}.parquet")
            if one is not None:
                found[cell.method] = one
    return {method: found[method] for method in dict.fromkeys(cells["method"]) if method in found}


def _read(path: Path) -> Predicted | None:
    try:
        file = pq.ParquetFile(path)
        names = [name for name in ("mean", "variance", "log_probs") if name in file.schema_arrow.names]
        parts = [_some(file, names, ood) for ood in (False, True)]
        table = pa.concat_tables(parts)
        samples = {name: _matrix(table[name]) for name in names}
        log_probs = samples.get("log_probs")
        if log_probs is not None:
            log_probs = log_probs.reshape(len(table), -1, _n_classes(log_probs))
    except (OSError, pa.ArrowException, LookupError, ValueError):
        return None
    y = table["y"].to_numpy().astype(float)
    return Predicted(y, table["ood"].to_numpy(), samples.get("mean"), samples.get("variance"), log_probs)


def _some(file: pq.ParquetFile, names: list[str], ood: bool) -> pa.Table:
    """The first rows that are OOD points, or that are none."""
    kept, n = [], 0
    for batch in file.iter_batches(MOST, columns=["ood", "y", *names]):
        part = pa.table(batch).filter(pc.equal(batch["ood"], ood))
        kept.append(part)
        n += len(part)
        if n >= MOST:
            break
    return pa.concat_tables(kept).slice(0, MOST)


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    """A column of lists of one length as (N, length)."""
    values = np.concatenate([np.asarray(chunk.flatten()) for chunk in column.chunks] or [np.empty(0)])
    return values.reshape(len(column), -1).astype(float)


def _n_classes(log_probs: np.ndarray) -> int:
    """C, from rows of S C log probabilities, which the schema does not tell: what splits them into sums of one."""
    probs = np.exp(log_probs[:20])
    for n_classes in range(2, probs.shape[1] + 1):
        if probs.shape[1] % n_classes == 0:
            sums = probs.reshape(-1, n_classes).sum(axis=1)
            if np.abs(sums - 1).max() < 1e-3:
                return n_classes
    raise ValueError("log_probs are no probabilities")


def pit(predicted: Predicted) -> np.ndarray:
    """Probability integral transform (N,): 1/S sum_s Phi((y - mean_s) / sd_s), uniform if well calibrated."""
    from scipy.special import ndtr

    scaled = (predicted.y[:, None] - predicted.mean) / np.sqrt(predicted.variance)
    return ndtr(scaled).mean(axis=1)


def probabilities(predicted: Predicted) -> np.ndarray:
    """Mean class probabilities (N, C) over the samples."""
    return np.exp(predicted.log_probs).mean(axis=1)


def reliability(predicted: Predicted) -> pd.DataFrame:
    """Columns low, high, confidence, accuracy, count as in `bench.schema.RELIABILITY`, of the test points."""
    test = ~predicted.ood
    probs, labels = probabilities(predicted)[test], predicted.y[test].astype(int)
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    edges = np.linspace(0, 1, BINS + 1)
    bin_of = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    count = np.bincount(bin_of, minlength=BINS)
    with np.errstate(invalid="ignore"):
        sums = {
            name: np.bincount(bin_of, values, BINS) / count
            for name, values in {"confidence": confidence, "accuracy": right.astype(float)}.items()
        }
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], **sums, "count": count})


def roc(predicted: Predicted) -> tuple[np.ndarray, np.ndarray]:
    """Of telling OOD points (positive) by 1 - the largest probability: false and true positive rates, from 0 to 1."""
    from sklearn.metrics import roc_curve  # slow to import, and few pages have this figure

    score = 1 - probabilities(predicted).max(axis=1)
    false, true, _ = roc_curve(predicted.ood, score, drop_intermediate=False)
    return false, true
