"""The result schema: what one finished cell leaves behind. Readers of results need this module alone.

A cell is one row, whatever became of it: `status` is "ok", "diverged" (a fit or all trials left the finite
numbers) or "failed" (an exception, told in `error`). Metrics of a cell that is not "ok" are null.
"""

import pyarrow as pa

SCHEMA_VERSION = 1

STATUSES = ("ok", "diverged", "failed")

METRICS = {
    "nmll": "negative log of the per-point mixture predictive density, mean over test points; nats, original units",
    "nmll_moment": "the same of one Gaussian with the mixture's mean and variance; nats, original units",
    "nmll_standardised": "nmll with targets in units of the train part's standard deviation; nats",
    "nmll_moment_standardised": "nmll_moment in the same standardised units; nats",
    "rmse": "root mean squared error of the mean prediction; original units",
    "rmse_standardised": "rmse in units of the train part's standard deviation",
    "crps": "continuous ranked probability score of the mixture; original units",
    "coverage_50": "fraction of test points inside the central 50 % predictive interval",
    "coverage_80": "fraction of test points inside the central 80 % predictive interval",
    "coverage_90": "fraction of test points inside the central 90 % predictive interval",
    "coverage_95": "fraction of test points inside the central 95 % predictive interval",
}

COSTS = {
    "tune_seconds": "wall-clock seconds of hyper-parameter search",
    "fit_seconds": "wall-clock seconds of the final fit",
    "predict_seconds_per_1000": "wall-clock seconds to predict 1000 test points",
    "n_weights": "weights of the network",
    "n_parameters": "numbers stored in the posterior",
    "peak_memory_mib": "peak memory of the process (CPU) or the device (GPU) while the cell ran; MiB",
}

CELLS = pa.schema(
    [
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("suite", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("split", pa.int32(), nullable=False),
        pa.field("preset", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("protocol", pa.string(), nullable=False),  # resolved, as JSON
        pa.field("protocol_hash", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("error", pa.string()),
        *[pa.field(name, pa.float64()) for name in METRICS],
        *[pa.field(name, pa.float64()) for name in COSTS],
        pa.field("validation_nmll", pa.float64()),  # of the chosen trial, mean over folds
        pa.field("n_trials", pa.int32()),
        pa.field("n_trials_failed", pa.int32()),
        pa.field("hparams", pa.string()),  # chosen, as JSON
        pa.field("n_train", pa.int64()),
        pa.field("n_test", pa.int64()),
        pa.field("code_revision", pa.string(), nullable=False),
        pa.field("code_dirty", pa.bool_()),
        pa.field("data_sha256", pa.string()),
        pa.field("split_sha256", pa.string()),
        pa.field("versions", pa.string(), nullable=False),  # python, torch, ... as JSON
        pa.field("device", pa.string(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("finished_at", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)


def predictions_schema(n_samples: int) -> pa.Schema:
    """One row per test point: the S samples of the likelihood's parameters, in original target units."""
    samples = pa.list_(pa.float32(), n_samples)
    return pa.schema(
        [
            pa.field("row", pa.int64(), nullable=False),  # index into the data set
            pa.field("y", pa.float64(), nullable=False),
            pa.field("mean", samples, nullable=False),
            pa.field("variance", samples, nullable=False),
            pa.field("nll", pa.float64(), nullable=False),  # -log of the mixture density at y
        ]
    )
