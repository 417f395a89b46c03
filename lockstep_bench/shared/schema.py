"""The result schema: the columns of all result files.

A cell is the tuning, training and test of one method on one split of a data set. Every finished cell is one row. Its
`status` is one of:

- "ok";
- "diverged": the final fit or all trials gave non-finite numbers, or predictions that are no probability distribution;
- "failed": an exception, which the column `error` holds, or a process that died;
- "timeout": the cell took longer than allowed.

Metrics are null unless the status is "ok", and if they do not apply to the task or are undefined on the test rows.

Files of another schema version are refused. A nullable column that is missing in a file is read as null.
"""

from collections.abc import Mapping

import pyarrow as pa

SCHEMA_VERSION = 7

# Tables that may be kept beside a cell's row.
TABLES = (
    *("predictions", "curves", "posteriors", "bands"),
    *("reliability", "confidence", "selective", "ood", "shifts", "training"),
)

STATUSES = ("ok", "diverged", "failed", "timeout")

# Whether a method of another package kept the contract, for the code that it had.
CHECKED = {
    "passed": "`python -m methods check` passed",
    "failed": "`python -m methods check` failed",
    "not checked": "`python -m methods check` was not run on the machine that trained",
}

# How the final fit was trained. Ways differ only by rounding.
EXECUTIONS = {
    "native": "side by side in compiled loops, many updates a call",
    "captured": "side by side, one captured graph of operations an update",
    "eager": "side by side, operation by operation",
    "sequential": "one network at a time, operation by operation",
}

REGRESSION = {
    "nmll_moment": "nmll of one Gaussian with the mixture's mean and variance; nats, original units",
    "nmll_standardised": "nmll with targets in units of the train part's standard deviation; nats",
    "nmll_moment_standardised": "nmll_moment in the same standardised units; nats",
    "rmse": "root mean squared error of the mean prediction; original units",
    "rmse_standardised": "rmse in units of the train part's standard deviation",
    "crps": "continuous ranked probability score of the mixture; original units",
    "coverage_50": "fraction of test points inside the central 50 % predictive interval",
    "coverage_80": "fraction of test points inside the central 80 % predictive interval",
    "coverage_90": "fraction of test points inside the central 90 % predictive interval",
    "coverage_95": "fraction of test points inside the central 95 % predictive interval",
    **{
        f"interval_score_{level}": f"interval score of the central {level} % predictive interval: its width, and a "
        "penalty for targets outside it; original units"
        for level in (50, 80, 90, 95)
    },
    "pit_p_value": "p value of the hypothesis that the PIT values of the test points are uniform",
    "aurc_squared_error": "area under the curve of mean squared error against coverage, where the points of least "
    "predictive variance are kept; squared original units",
    "augrc_squared_error": "the same with the squared errors of the kept points divided by the number of all points: "
    "half the mean squared error if the variance says nothing",
}

DRAWN = "mean over draws of the labels from the predicted probabilities"

CLASSIFICATION = {
    "accuracy": "fraction of test points whose most probable class is the true class",
    "brier": "squared error of the probabilities, summed over all classes (0 to 2), mean over test points",
    "ece": "expected calibration error: 15 bins of equal width in the largest probability",
    "ece_low": "lower end of the 95 % bootstrap interval of ece over test points",
    "ece_high": "upper end of the 95 % bootstrap interval of ece over test points",
    "ece_null": f"ece that is expected if the model is calibrated: {DRAWN}",
    "ece_null_95": "95 % quantile of ece over draws of the labels from the predicted probabilities",
    "ece_squared_debiased": "squared calibration error in the bins of ece, without bias: 0 is expected if the model is "
    "calibrated, and a negative value is noise",
    "ece_equal_mass": "expected calibration error: 15 bins with equally many points",
    "ece_equal_mass_null": f"ece_equal_mass that is expected if the model is calibrated: {DRAWN}",
    "ece_20": "calibration error of the DirectUQ paper: unweighted mean over 20 bins with equally many points",
    "ece_20_null": f"ece_20 that is expected if the model is calibrated: {DRAWN}",
    "ece_classwise": "calibration error of each class's probability, 15 bins of equal width, mean over classes",
    "ece_classwise_null": f"ece_classwise that is expected if the model is calibrated: {DRAWN}",
    "aurc": "area under the curve of error rate against coverage, where the points of greatest confidence are kept",
    "augrc": "the same with the errors among the kept points divided by the number of all points: half the error rate "
    "if confidence says nothing",
    "auroc": "area under the ROC curve of class 1, binary tasks only",
    "precision": "fraction of the points taken for class 1 that are of it, 0 if none is taken; binary tasks only",
    "recall": "fraction of the points of class 1 that are taken for it, binary tasks only",
    "f1": "harmonic mean of precision and recall, binary tasks only",
    "entropy": "entropy of the mean probabilities, mean over test points; nats",
    "mutual_information": "entropy less the samples' mean entropy, mean over test points; nats",
    "disagreement": "variance of the probabilities over samples, summed over classes, mean over test points",
}

# Metrics of methods whose samples are functions of all test points (`methods.base.Method.joint`).
JOINT = {
    "nmll_joint_10": "negative log of the joint predictive density or probability of the labels of ten test points, "
    "per label, mean over random groups; nats, original units",
    "nmll_dyadic": "the same of ten labels at two test points: each label is that of one of the two, at random; nats, "
    "original units",
    "energy_score": "energy score of the joint predictive of the targets of ten test points, mean over random groups; "
    "in units of the train part's standard deviation",
}

RETAINED_PERCENT = (90, 80, 70, 60, 50)
UNCERTAINTIES = ("entropy", "disagreement")

# Metrics of image classifiers on retained points; the table `SELECTIVE` adds those on all points.
SELECTED = {
    f"{name}_retain{percent}_{uncertainty}": f"{meaning}, on the {percent} % of test points of least {uncertainty}"
    for uncertainty in UNCERTAINTIES
    for name, meaning in {
        "accuracy": "fraction of points whose most probable class is the true class",
        "f1": "F1 of class 1 of two, or the mean over more classes",
        "auroc": "area under the ROC curve of class 1, binary tasks only",
    }.items()
    for percent in RETAINED_PERCENT
}

OOD_SCORES = {
    "": "1 - the largest probability",
    "_entropy": "predictive entropy",
    "_disagreement": "disagreement of the samples",
    "_mutual_information": "mutual information",
}

OOD = {
    f"ood_{name}{suffix}": f"{meaning}; score: {score}"
    for suffix, score in OOD_SCORES.items()
    for name, meaning in {
        "auroc": "area under the ROC curve of separating OOD points (positive) from test points",
        "aupr": "average precision of separating OOD points (positive) from test points",
        "aupr_in": "average precision of separating test points (positive) from OOD points",
        "fpr95": "fraction of test points taken for OOD where 95 % of OOD points are detected",
    }.items()
} | {"ood_entropy": "entropy of the mean probabilities, mean over OOD points; nats"}

OOD_GROUPS = ("near", "far")  # OOD sets by how much they are like the test points

# OOD metrics whose mean over the sets of each group is a column; the table `OOD_SETS` has all OOD metrics.
GROUP_OOD = {
    f"{group}_{name}": f"{OOD[name]}; mean over {group} OOD sets"
    for group in OOD_GROUPS
    for name in (
        *("ood_auroc", "ood_aupr", "ood_aupr_in", "ood_fpr95"),
        *("ood_auroc_entropy", "ood_auroc_disagreement", "ood_auroc_mutual_information", "ood_entropy"),
    )
}

# Kinds of shifts of test images, with the unit of their severity.
SHIFT_FAMILIES = {
    "corruption": "severity",
    "extra corruption": "severity",
    "rotation": "degrees",
    "translation": "pixels",
}

CORRUPTED = {
    f"corrupted_{name}": f"{meaning}, on corrupted test images: mean over corruptions and severities"
    for name, meaning in {
        "accuracy": "fraction of test points whose most probable class is the true class",
        "nmll": "negative log of the class probability, mean over test points, nats",
        "brier": "squared error of the probabilities, summed over all classes",
        "ece": "expected calibration error, 15 bins of equal width",
    }.items()
}

ELSEWHERE = {
    f"elsewhere_{name}": f"{meaning}, on test images of another set that show the same classes"
    for name, meaning in {
        "accuracy": CLASSIFICATION["accuracy"],
        "nmll": "negative log of the class probability, mean over test points, nats",
        "ece": CLASSIFICATION["ece"],
        "ece_20": CLASSIFICATION["ece_20"],
        "entropy": CLASSIFICATION["entropy"],
    }.items()
}

FIDELITY = {
    "rel_mean": "distance of the mean of the weights from the true one, relative to the latter's norm",
    "rel_cov": "Frobenius distance of the covariance of the weights from the true one, relative to the latter's norm",
    "w2_scaled": "2-Wasserstein distance between the Gaussians with the method's and the true moments, divided by the "
    "number of weights",
    "kl": "KL divergence of the Gaussian with the method's moments from that with the true ones; nats, infinite for a "
    "point estimate",
    "total_variation": "total variation distance between the predictive and that of the reference, mean over inputs",
    "agreement": "fraction of inputs whose most probable class is the reference's",
    "sd_ratio": "standard deviation of the function at test inputs, mean over them, over the reference's",
    "sd_ratio_between": "sd_ratio inside the widest gap between training inputs",
    "sd_ratio_far": "sd_ratio outside the range of the training inputs",
}

METRICS = {
    "nmll": "negative log of the per-point mixture predictive density (original units) or class probability, mean over "
    "test points; nats",
    **REGRESSION,
    **CLASSIFICATION,
    **JOINT,
    **SELECTED,
    **OOD,
    **GROUP_OOD,
    **CORRUPTED,
    **ELSEWHERE,
    **FIDELITY,
}

# Metrics that some finished rows lack, because they are older than the metrics.
LATER = (
    *("interval_score_50", "interval_score_80", "interval_score_90", "interval_score_95", "pit_p_value"),
    *("aurc_squared_error", "augrc_squared_error", "aurc", "augrc", "ece_squared_debiased", "ece_classwise"),
    *("ece_null", "ece_null_95", "ece_equal_mass_null", "ece_20_null", "ece_classwise_null"),
    *JOINT,
)

COSTS = {
    "tune_seconds": "wall-clock seconds of hyper-parameter search",
    "fit_seconds": "wall-clock seconds of the final fit, without those that recording diagnostics took",
    "predict_seconds_per_1000": "wall-clock seconds to predict 1000 test points",
    "sgd_ratio": "seconds per minibatch of the final fit over those of plain SGD, measured in the same process",
    "n_weights": "weights of the network",
    "n_parameters": "numbers stored in the posterior",
    "peak_memory_mib": "peak memory of the process (CPU) or the device (GPU) while the cell ran; MiB",
}

# Costs that depend on the other load of the device. Pages show them where the device had no other load.
TIMES = ("tune_seconds", "fit_seconds", "predict_seconds_per_1000", "sgd_ratio")

CELLS = pa.schema(
    [
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("suite", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("task", pa.string()),  # "regression", "binary" or "multiclass"; null if a worker died early
        pa.field("method", pa.string(), nullable=False),
        pa.field("split", pa.int32(), nullable=False),
        pa.field("preset", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("protocol", pa.string(), nullable=False),  # resolved, as JSON
        pa.field("protocol_hash", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("error_class", pa.string()),  # name of the exception, "module.Class" unless it is built in
        # The last lines that the cell's process wrote; if it is "ok", why its fits were not trained natively, or null.
        pa.field("log", pa.string()),
        pa.field("elapsed_seconds", pa.float64()),  # wall-clock, of the job that the cell was part of
        # Whether the cell had the device to itself: no other job there or on its cores, no other cell in its job.
        pa.field("exclusive", pa.bool_()),  # null if unknown
        *[pa.field(name, pa.float64()) for name in METRICS],
        *[pa.field(name, pa.float64()) for name in COSTS],
        pa.field("validation_nmll", pa.float64()),  # of the chosen trial, mean over folds
        pa.field("validation_w2_scaled", pa.float64()),  # of the chosen trial, where the weights are known
        pa.field("execution", pa.string()),  # of the final fit, one of `EXECUTIONS`
        pa.field("n_trials", pa.int32()),
        pa.field("n_trials_failed", pa.int32()),
        pa.field("hparams", pa.string()),  # chosen, as JSON
        pa.field("search_space", pa.string()),  # Optuna distributions by hyper-parameter, as a JSON object
        pa.field("diagnostics", pa.string()),  # the method's diagnostics of the final fit, as a JSON object
        pa.field("reference", pa.string()),  # of fidelity metrics: its kind and quality, as a JSON object
        pa.field("n_train", pa.int64()),
        pa.field("n_test", pa.int64()),
        pa.field("n_ood", pa.int64()),
        pa.field("code_revision", pa.string(), nullable=False),
        pa.field("code_dirty", pa.bool_()),
        pa.field("code_identity", pa.string()),  # "SHARED-METHOD", see `bench.experiment.code.identity_of`
        pa.field("checked", pa.string()),  # a key of `CHECKED`; null for a method of this project
        pa.field("data_sha256", pa.string()),
        pa.field("split_sha256", pa.string()),
        pa.field("versions", pa.string(), nullable=False),  # python, torch, ... as JSON
        pa.field("device", pa.string(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("finished_at", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)


def cell_key(suite: str, dataset: str, method: str, preset: str, protocol_hash: str, split: int, seed: int) -> str:
    """Return the path of a cell's files, without suffix, below the folder "cells" and each folder of `TABLES`."""
    method = method.replace(":", "+")  # some file systems take no colon
    return f"{suite}/{dataset}/{method}/{preset}-{protocol_hash}/split{split:02d}-seed{seed}"


# Times of a cell that was repeated alone on an idle device, one row for a method on a data set under a protocol.
TIMINGS = pa.schema(
    [
        *(CELLS.field(name) for name in ("schema_version", "suite", "dataset", "method", "preset", "protocol_hash")),
        *(CELLS.field(name) for name in ("split", "seed")),  # of the repeated cell
        *(CELLS.field(name) for name in (*TIMES, "peak_memory_mib", "elapsed_seconds")),
        *(CELLS.field(name) for name in ("code_revision", "versions", "device", "host", "finished_at")),
    ]
)


def timing_key(suite: str, dataset: str, method: str, preset: str, protocol_hash: str) -> str:
    """Return the path of the file of a row of `TIMINGS`, without suffix, below the folder "timings"."""
    return cell_key(suite, dataset, method, preset, protocol_hash, 0, 0).rpartition("/")[0]


# One cell of a method on a data set, trained again with its hyper-parameters for `factor` times as long.
LONGER = pa.schema(
    [
        *(CELLS.field(name) for name in ("schema_version", "suite", "dataset", "method", "preset", "protocol_hash")),
        *(CELLS.field(name) for name in ("split", "seed")),  # of the leaderboard's cell
        pa.field("factor", pa.int32(), nullable=False),  # 1 for the comparison
        pa.field("trained_by", pa.string(), nullable=False),  # the protocol of this training, as JSON
        *(CELLS.field(name) for name in ("status", "hparams", "nmll", "validation_nmll", "diagnostics")),
        *(CELLS.field(name) for name in ("elapsed_seconds", "code_revision", "code_identity", "versions")),
        *(CELLS.field(name) for name in ("device", "host", "finished_at")),
    ]
)


def predictions_schema(n_samples: int, n_classes: int | None = None) -> pa.Schema:
    """Return the schema of predictions: one row per test point and OOD point, S = `n_samples` samples each.

    Columns:
        row: index into the data set; of an OOD point, into the data set's OOD rows.
        ood: True for an OOD point.
        y: target in original units or class number; null for OOD points.
        mean, variance: for a regression (`n_classes` None), mean and variance of each sample, S numbers each, in
            original target units.
        log_probs: for a classification, log probabilities of C = `n_classes` classes, S C numbers: the C numbers of the
            first sample, then those of the second, and so on.
        nll: -log of the predictive density or probability at y, nats; null for OOD points.
    """
    parts = {"mean": n_samples, "variance": n_samples} if n_classes is None else {"log_probs": n_samples * n_classes}
    return _predictions_schema(parts)


def other_predictions_schema(parts: Mapping[str, int]) -> pa.Schema:
    """Return the schema of predictions by other distributions than mixtures of normals (`bench.metrics.distributions`).

    The columns are those of `predictions_schema`, where `mean` and `variance` are those of the whole distribution, one
    number each. There are also a column `pit`, the probability integral transform of y (null for OOD points), and
    columns for the parameters of the distribution.

    A parameter of shape (S, n) has S numbers per point. A parameter of shape (S, n, K) has S K numbers: the K numbers
    of the first sample, then those of the second, and so on. For weighted mixtures, S is the sum of exp(`log_weights`)
    at a point.

    Args:
        parts: the parameters of the distribution, name -> how many numbers it has per point.
    """
    return _predictions_schema({"mean": 1, "variance": 1, **parts}, pa.field("pit", pa.float64()))


def _predictions_schema(parts: Mapping[str, int], *further: pa.Field) -> pa.Schema:
    return pa.schema(
        [
            pa.field("row", pa.int64(), nullable=False),
            pa.field("ood", pa.bool_(), nullable=False),
            pa.field("y", pa.float64()),
            *[pa.field(name, pa.list_(pa.float32(), length), nullable=False) for name, length in parts.items()],
            pa.field("nll", pa.float64()),
            *further,
        ]
    )


# Moments of the weights of a linear model, one row for the method and one for the reference posterior.
POSTERIORS = pa.schema(
    [
        pa.field("who", pa.string(), nullable=False),  # "method" or "truth", which is the reference posterior
        pa.field("mean", pa.list_(pa.float64()), nullable=False),  # D numbers
        pa.field("covariance", pa.list_(pa.float64()), nullable=False),  # D D numbers, row by row
        # Of two weights, row by row: draws of a reference posterior; vectors that the method was fitted to.
        pa.field("draws", pa.list_(pa.float64())),
    ]
)

# A regression's function of one input over a grid, the method's and the reference's; original units.
BANDS = pa.schema(
    [
        pa.field(name, pa.float64(), nullable=False)
        for name in ("x", "mean", "sd", "reference_mean", "reference_sd", "noise_sd")
    ]
)

# A classifier's test points in bins of equal width of the largest class probability, one row per bin.
RELIABILITY = pa.schema(
    [
        pa.field("low", pa.float64(), nullable=False),  # not in the bin, but for the first
        pa.field("high", pa.float64(), nullable=False),  # in the bin
        pa.field("confidence", pa.float64()),  # mean of the largest probability; null if the bin is empty
        pa.field("accuracy", pa.float64()),  # null if the bin is empty
        pa.field("count", pa.int64(), nullable=False),
    ]
)

# Number of points with a class probability above each threshold, for the test points and each OOD set.
CONFIDENCE = pa.schema(
    [
        pa.field("group", pa.string(), nullable=False),  # "test" or one of `OOD_GROUPS`
        pa.field("set", pa.string(), nullable=False),  # "test" or the OOD set's name
        pa.field("threshold", pa.float64(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("n", pa.int64(), nullable=False),  # of all points
        pa.field("confidence", pa.float64()),  # mean from this threshold to the next; null for no points there
    ]
)

# A classifier's quality on the test points that it is most certain of.
SELECTIVE = pa.schema(
    [
        pa.field("uncertainty", pa.string(), nullable=False),  # "entropy" or "disagreement"
        pa.field("retained", pa.float64(), nullable=False),  # fraction of points asked for
        pa.field("n", pa.int64(), nullable=False),  # points retained
        pa.field("accuracy", pa.float64(), nullable=False),
        pa.field("f1", pa.float64()),  # of class 1, or the mean over classes of more than two; null if undefined
        pa.field("auroc", pa.float64()),  # of class 1; null for more than two classes, and if undefined
    ]
)

# The OOD metrics of each OOD set, named as in `OOD` without "ood_".
OOD_SETS = pa.schema(
    [
        pa.field("set", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),  # one of `OOD_GROUPS`
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)

# A classifier's quality on shifted test images; the first row is that on the test images as they are.
SHIFTS = pa.schema(
    [
        pa.field("family", pa.string()),  # one of `SHIFT_FAMILIES`; null for no shift
        pa.field("shift", pa.string()),  # its name; null for no shift
        pa.field("severity", pa.int32(), nullable=False),  # 0 for no shift
        *[pa.field(name, pa.float64(), nullable=False) for name in ("accuracy", "nmll", "brier", "ece", "entropy")],
    ]
)

# Distances of an estimator of a stream's Gaussian to the true moments, after some of the stream's vectors.
CURVES = pa.schema(
    [("n_samples", pa.int64()), ("rel_mean", pa.float64()), ("rel_cov", pa.float64()), ("w2_scaled", pa.float64())]
)

# Diagnostics along the training of the final fit, which the method's updates returned, averaged over an ensemble's
# members; one row per diagnostic and recorded update.
TRAINING = pa.schema(
    [
        pa.field("update", pa.int64(), nullable=False),  # 1 for the first
        pa.field("name", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),  # not finite where training diverged
    ]
)
