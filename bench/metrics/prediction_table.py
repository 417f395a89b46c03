"""The predictives of a cell as a table to keep: every metric can be computed from it again."""

import numpy as np
import pyarrow as pa
import torch

from bench import metrics
from bench.schema import predictions_schema
from methods.maths.predictive import Normals, Predictive


def predictions_table(
    predictive: Predictive, rows: np.ndarray, y: torch.Tensor, ood: Predictive | None = None
) -> pa.Table:
    """The predictives at test points `rows` (n,) with targets y (n,), and at all OOD points, as a table to keep."""
    n_samples = len(predictive[0])
    n_ood = 0 if ood is None else ood[0].shape[1]
    n_classes = None if isinstance(predictive, Normals) else predictive.log_probs.shape[2]
    schema = predictions_schema(n_samples, n_classes)

    def per_point(*parts: torch.Tensor) -> pa.Array:
        """(S, n) or (S, n, C) to a list of S or S C numbers per point."""
        points = torch.cat([part.transpose(0, 1).flatten(1).float() for part in parts])
        return pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1).numpy()), points.shape[1])

    absent = pa.nulls(n_ood, pa.float64())
    samples = {
        name: per_point(part, *([] if ood is None else [getattr(ood, name)]))
        for name, part in predictive._asdict().items()
    }
    columns = samples | {
        "row": pa.array(np.concatenate([rows, np.arange(n_ood)])),
        "ood": pa.array(np.arange(len(rows) + n_ood) >= len(rows)),
        "y": pa.concat_arrays([pa.array(y.numpy()), absent]),
        "nll": pa.concat_arrays([pa.array(-metrics.log_density(predictive, y).numpy()), absent]),
    }
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
