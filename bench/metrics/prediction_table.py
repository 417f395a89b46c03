"""The table of predictives that is stored with a result, from which every metric can be computed again."""

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import checks, regression
from lockstep_bench.methods.maths.predictive import (
    Classes,
    Histogram,
    NormalMixtures,
    Normals,
    Predictive,
    Quantiles,
    StudentT,
)
from lockstep_bench.shared.schema import other_predictions_schema, predictions_schema


def predictions_table(
    predictive: Predictive, rows: np.ndarray, y: torch.Tensor, ood: Predictive | None = None
) -> pa.Table:
    """Return the predictives at test points and OOD points as a table.

    Its schema is `shared.schema.predictions_schema` for `Normals` and `Classes`, otherwise `other_predictions_schema`.

    Args:
        predictive: the predictive at n test points.
        rows: (n,), the test points' row numbers in the data set.
        y: (n,), targets in original units, or class numbers.
        ood: the predictive at the data set's OOD points, if it has any.
    """
    y = checks.targets(predictive, y).double()
    checks.of_length(checks.reals(rows, "rows", "(n,)"), len(y), "rows", "the predictive's points")
    if ood is not None:
        checks.predictive(ood, type(predictive))
    n_ood = 0 if ood is None else ood[0].shape[1]
    no_targets = pa.nulls(n_ood, pa.float64())

    def of_targets(values: Tensor) -> pa.Array:
        """Return values (n,) of test points, and nulls for OOD points."""
        return pa.concat_arrays([pa.array(values.numpy()), no_targets])

    parts = [_parts(each) for each in (predictive, ood) if each is not None]
    columns = {name: _per_point(*(part[name] for part in parts)) for name in parts[0]}
    if isinstance(predictive, Classes):
        schema = predictions_schema(len(predictive[0]), predictive.log_probs.shape[2])
    elif isinstance(predictive, Normals):
        schema = predictions_schema(len(predictive[0]))
    else:
        schema = other_predictions_schema({name: columns[name].type.list_size for name in predictive._fields})
        columns["pit"] = of_targets(regression.cdf(predictive, y))
    columns |= {
        "row": pa.array(np.concatenate([rows, np.arange(n_ood)])),
        "ood": pa.array(np.arange(len(rows) + n_ood) >= len(rows)),
        "y": of_targets(y),
        "nll": of_targets(-metrics.log_density(predictive, y)),
    }
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def predictive_of(table: pa.Table) -> tuple[Predictive, torch.Tensor, Predictive | None]:
    """Return the predictive at the test points, their targets (n,) and the predictive at OOD points, if there are any.

    Args:
        table: a table from `predictions_table`, which stores predictives in single precision.
    """
    ood = np.asarray(table["ood"])
    y = torch.tensor(np.asarray(table["y"], dtype=float)[~ood])
    return _stored(table.filter(~ood)), y, _stored(table.filter(ood)) if ood.any() else None


def _stored(table: pa.Table) -> Predictive:
    kinds = (Classes, NormalMixtures, StudentT, Quantiles, Histogram, Normals)  # the others have moments too
    kind = next(kind for kind in kinds if set(kind._fields) <= set(table.column_names))
    columns = [np.stack(table[name].combine_chunks().to_numpy(zero_copy_only=False)) for name in kind._fields]
    n_samples = 1
    if kind in (Classes, NormalMixtures):  # probabilities of each sample sum to 1
        n_samples = round(float(np.exp(columns[0][0].astype(float)).sum()))
    if kind in (Normals, StudentT):
        return kind(*(torch.tensor(column.T) for column in columns))
    return kind(*(torch.tensor(column).unflatten(1, (n_samples, -1)).transpose(0, 1) for column in columns))


def _parts(predictive: Predictive) -> dict[str, Tensor]:
    """Return the tensors to store, by column, (S, n) or (S, n, C); except for `Normals`, the moments are added."""
    if isinstance(predictive, Classes | Normals):
        return predictive._asdict()
    matched = regression.moments(predictive)
    return {"mean": matched.mean[None], "variance": matched.variance[None], **predictive._asdict()}


def _per_point(*parts: Tensor) -> pa.Array:
    """Return parts (S, n) or (S, n, C) as one list of S or S C numbers per point."""
    points = torch.cat([part.transpose(0, 1).flatten(1).float() for part in parts])
    return pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1).numpy()), points.shape[1])
