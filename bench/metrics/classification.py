"""Metrics of classification. The predictive at a point is the mean of the class probabilities of S samples."""

import math

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.pooling import Pooled
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.shared.uncertainty import calibration_error
from lockstep_bench.shared.uncertainty.calibrated_errors import calibrated_errors
from lockstep_bench.shared.uncertainty.risk_coverage import augrc, aurc


def log_densities(predictive: Classes, y: Tensor) -> Tensor:
    """Return log p_s(y) of each sample s at each point, (S, n), nats, for class numbers y (n,)."""
    labels, log_probs = checks.targets(predictive, y, Classes), predictive.log_probs
    return log_probs.gather(-1, labels.expand(len(log_probs), -1)[..., None])[..., 0].double()


def log_density(predictive: Classes, y: Tensor) -> Tensor:
    """Return the log predictive probability log (1/S) sum_s p_s(y) of class numbers y (n,), per point, (n,), nats."""
    components = log_densities(predictive, y)
    return torch.logsumexp(components, dim=0) - math.log(len(components))


def evaluate(pooled: Pooled, y: Tensor) -> dict[str, float]:
    """Return the metrics of `shared.schema.CLASSIFICATION` for class numbers y (n,).

    AUROC, precision, recall and F1 are left out unless the task is binary and both classes occur in y. The debiased
    calibration error is left out if no bin has two points.
    """
    labels, probabilities = labels_of(pooled, y), pooled.probabilities.numpy()
    n_classes = probabilities.shape[1]
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == labels
    low, high = calibration_error.ece_interval(confidence, correct)
    ranked = pooled.one_minus_confidence.numpy(), 1.0 - correct
    values = {
        "accuracy": float(correct.mean()),
        "brier": brier(probabilities, labels),
        "ece": calibration_error.ece(confidence, correct),
        "ece_low": low,
        "ece_high": high,
        "ece_equal_mass": calibration_error.ece_equal_mass(confidence, correct),
        "ece_20": calibration_error.ece_20(confidence, correct),
        "ece_classwise": calibration_error.ece_classwise(probabilities, labels),
        **calibrated_errors(probabilities),
        "aurc": aurc(*ranked),
        "augrc": augrc(*ranked),
        "entropy": pooled.entropy.mean().item(),
        "mutual_information": pooled.mutual_information.mean().item(),
        "disagreement": pooled.disagreement.mean().item(),
    }
    debiased = calibration_error.squared_debiased(confidence, correct)
    if not math.isnan(debiased):
        values["ece_squared_debiased"] = debiased
    if n_classes == 2 and len(np.unique(labels)) == 2:
        from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

        values["auroc"] = float(roc_auc_score(labels, probabilities[:, 1]))
        predicted = probabilities.argmax(1)
        of_class_1 = precision_recall_fscore_support(labels, predicted, average="binary", zero_division=0)
        values |= dict(zip(("precision", "recall", "f1"), map(float, of_class_1[:3]), strict=True))
    return values


def labels_of(pooled: Pooled, y: Tensor) -> np.ndarray:
    """Return class numbers y (n,) as integers, after a check that these are classes of the predictive."""
    labels = checks.class_numbers(y, pooled.probabilities.shape[1])
    return checks.of_length(labels, len(pooled.probabilities), "y", "the predictive's points")


def brier(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return the Brier score, the mean over points of sum_c (p(c) - 1{y = c})^2, from 0 to 2 (Brier 1950).

    For two classes this is twice the score of class 1 alone.

    Args:
        probabilities: (n, C), predicted class probabilities.
        labels: (n,), class numbers.
    """
    residuals = probabilities - np.eye(probabilities.shape[1])[labels]
    return float(np.square(residuals).sum(1).mean())
