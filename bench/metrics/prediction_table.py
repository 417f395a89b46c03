"""The table of a cell's predictives, from which every metric can be computed again."""

import numpy as np
import pyarrow as pa
import torch

from bench import metrics
from bench.schema import predictions_schema
from methods.maths.predictive import Normals, Predictive


def predictions_table(
    predictive: Predictive, rows: np.ndarray, y: torch.Tensor, ood: Predictive | None = None
) -> pa.Table:
    """Return the predictives at test points and OOD points as a table of `bench.schema.predictions_schema`.

    Args:
        predictive: the predictive at n test points.
        rows: (n,), the test points' row numbers in the data set.
        y: (n,), targets in original units, or class numbers.
        ood: the predictive at the data set's OOD points, if it has any.
    """
    n_samples = len(predictive[0])
    n_ood = 0 if ood is None else ood[0].shape[1]
    n_classes = None if isinstance(predictive, Normals) else predictive.log_probs.shape[2]
    schema = predictions_schema(n_samples, n_classes)

    def per_point(*parts: torch.Tensor) -> pa.Array:
        """Return parts (S, n) or (S, n, C) as one list of S or S C numbers per point."""
        points = torch.cat([part.transpose(0, 1).flatten(1).float() for part in parts])
        return pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1).numpy()), points.shape[1])

    no_targets = pa.nulls(n_ood, pa.float64())
    samples = {
        name: per_point(part, *([] if ood is None else [getattr(ood, name)]))
        for name, part in predictive._asdict().items()
    }
    columns = samples | {
        "row": pa.array(np.concatenate([rows, np.arange(n_ood)])),
        "ood": pa.array(np.arange(len(rows) + n_ood) >= len(rows)),
        "y": pa.concat_arrays([pa.array(y.numpy()), no_targets]),
        "nll": pa.concat_arrays([pa.array(-metrics.log_density(predictive, y).numpy()), no_targets]),
    }
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
