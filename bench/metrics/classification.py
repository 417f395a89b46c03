"""Metrics of classification: the predictive at a point is the mean of S samples' class probabilities."""

import math

import numpy as np
import torch
from torch import Tensor

from bench.metrics import calibration
from bench.metrics.pooling import Pooled
from methods.maths.predictive import Classes


def log_density(predictive: Classes, y: Tensor) -> Tensor:
    """log (1/S) sum_s p_s(y) at each of the n points, (n,), nats, for class numbers y (n,)."""
    log_probs = predictive.log_probs
    own = log_probs.gather(-1, y.long().expand(len(log_probs), -1)[..., None])[..., 0]
    return torch.logsumexp(own.double(), dim=0) - math.log(len(log_probs))


def evaluate(pooled: Pooled, y: Tensor) -> dict[str, float]:
    """`bench.schema.CLASSIFICATION` for class numbers y (n,); without those of class 1 unless both of two occur."""
    labels, probabilities = y.long().numpy(), pooled.probabilities.numpy()
    n_classes = probabilities.shape[1]
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == labels
    low, high = calibration.ece_interval(confidence, correct)
    found = {
        "accuracy": float(correct.mean()),
        "brier": brier(probabilities, labels),
        "ece": calibration.ece(confidence, correct),
        "ece_low": low,
        "ece_high": high,
        "ece_equal_mass": calibration.ece_equal_mass(confidence, correct),
        "ece_20": calibration.ece_20(confidence, correct),
        "entropy": pooled.entropy.mean().item(),
        "mutual_information": pooled.mutual_information.mean().item(),
        "disagreement": pooled.disagreement.mean().item(),
    }
    if n_classes == 2 and len(np.unique(labels)) == 2:
        from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

        found["auroc"] = float(roc_auc_score(labels, probabilities[:, 1]))
        predicted = probabilities.argmax(1)
        of_class_1 = precision_recall_fscore_support(labels, predicted, average="binary", zero_division=0)
        found |= dict(zip(("precision", "recall", "f1"), map(float, of_class_1[:3]), strict=True))
    return found


def brier(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The mean over points of sum_c (p(c) - 1{y = c})^2, from 0 to 2 (Brier 1950).

    Of two classes this is twice the score that counts class 1 alone.
    """
    residuals = probabilities - np.eye(probabilities.shape[1])[labels]
    return float(np.square(residuals).sum(1).mean())
