"""Functions of `bench.metrics` refuse predictives and targets of other types, shapes, labels or sums, with a remedy."""

import numpy as np
import pandas as pd
import pytest
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import (
    agreement,
    checks,
    classification,
    distributions,
    intervals,
    pool,
    prediction_table,
    regression,
    shifted,
)
from lockstep_bench.methods.maths.predictive import Classes, Histogram, Normals, Quantiles, StudentT

NAN, INF = float("nan"), float("inf")
NORMALS = Normals(torch.zeros(2, 3), torch.ones(2, 3))
CLASSES = Classes(torch.tensor([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]).log()[None])
Y, LABELS = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 1, 1])
POOLED = pool(CLASSES)
SCORES, ROWS = np.array([0.1, 0.5, 0.3]), np.arange(3)
COLUMN = Y[:, None]

# public function -> good arguments
GOOD = {
    metrics.log_density: (NORMALS, Y),
    metrics.expected_log_density: (NORMALS, Y),
    metrics.nmll: (NORMALS, Y),
    metrics.evaluate: (NORMALS, Y, 1.0),
    metrics.diagnostics: (NORMALS, Y),
    metrics.flaw: (NORMALS,),
    pool: (CLASSES,),
    agreement.compare: (NORMALS, NORMALS),
    classification.log_densities: (CLASSES, LABELS),
    classification.log_density: (CLASSES, LABELS),
    intervals.quantiles: (NORMALS, 0.5),
    intervals.interval_scores: (NORMALS, Y.numpy(), (50,)),
    prediction_table.predictions_table: (NORMALS, ROWS, Y),
    regression.log_densities: (NORMALS, Y),
    regression.log_density: (NORMALS, Y),
    regression.evaluate: (NORMALS, Y, 1.0),
    regression.joint_nmll: (NORMALS, Y),
    regression.cdf: (NORMALS, Y),
    regression.crps: (NORMALS, Y),
    regression.moments: (NORMALS,),
    shifted.scores: (CLASSES, LABELS),
    shifted.table: (CLASSES, [], LABELS),
    shifted.elsewhere: (CLASSES, LABELS),
    distributions.distribution_of: (StudentT(*torch.full((3, 1, 2), 3.0)),),
}
# what replaces a good argument of each kind
BAD_TARGETS = [COLUMN, Y[:2], Y[:1], torch.zeros(()), Y + 0j, torch.tensor([1, NAN, 2]), torch.tensor([1, INF, 2])]
BAD_LABELS = [LABELS[:, None], LABELS[:1], LABELS * 0.5, LABELS + 1, LABELS - 1, np.array(["a", "b", "b"])]
BAD_NORMALS = [
    None,
    Normals(*(part[0] for part in NORMALS)),
    Normals(NORMALS.mean, NORMALS.variance[:, :1]),
    Normals(NORMALS.mean, NORMALS.variance[:1]),
    Normals(NORMALS.mean[:0], NORMALS.variance[:0]),
    Normals(NORMALS.mean + 0j, NORMALS.variance),
    Normals(NORMALS.mean.numpy(), NORMALS.variance.numpy()),
]
BAD_CLASSES = [
    None,
    Classes(CLASSES.log_probs[0]),
    Classes(CLASSES.log_probs + 3),
    Classes(CLASSES.log_probs - 0.01),
    Classes(CLASSES.log_probs.exp()),
    Classes(CLASSES.log_probs * 2),
    Classes(CLASSES.log_probs.long()),
]


def replacements(argument) -> list:
    """Return what a function should refuse in the place of a good argument."""
    match argument:
        case torch.Tensor() if argument is Y:
            return BAD_TARGETS
        case torch.Tensor() if argument is LABELS:
            return BAD_LABELS
        case Normals():
            return BAD_NORMALS
        case Classes():
            return BAD_CLASSES
        case float():
            return [0.0, -1.0, NAN, "1"]
    return []


@pytest.mark.parametrize("function", GOOD, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_metrics_accept_valid_and_refuse_invalid_arguments(function):
    good = GOOD[function]
    function(*good)
    for place, argument in enumerate(good):
        for bad in replacements(argument):
            with pytest.raises((TypeError, ValueError), match=r"should|lacks|not to 1"):
                function(*good[:place], bad, *good[place + 1 :])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (COLUMN, r"y should have the shape \(n,\), got \(3, 1\); give y\[:, 0\]"),
        (Y[:1], "y should have the length 3, one for each of the predictive's points, got 1"),
        ([[1.0], [2.0, 3.0]], "real numbers, got the type object"),
        (np.array(["1", "2", "3"]), "real numbers, got the type <U1"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), "real numbers, got the type datetime64"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]), "got 1 masked values; fill or remove"),
        (np.array([1.0, NAN, INF]), "finite numbers, got NaN or infinite ones at 2 of 3 places"),
    ],
)
def test_error_describes_invalid_targets(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        metrics.nmll(NORMALS, y)


@pytest.mark.parametrize("y", [Y, Y.numpy(), Y.double(), pd.Series(Y.numpy()), [1.0, 2.0, 3.0], np.array([1, 2, 3])])
def test_score_does_not_depend_on_target_array_type(y):
    assert metrics.nmll(NORMALS, y) == pytest.approx(3.2522718665)  # scipy.stats.norm.logpdf


@pytest.mark.parametrize("labels", [LABELS, LABELS.double(), LABELS.bool(), LABELS.numpy().astype(np.uint8), [0, 1, 1]])
def test_score_does_not_depend_on_label_array_type(labels):
    assert metrics.nmll(CLASSES, labels) == pytest.approx(-np.log([0.2, 0.5, 0.1]).mean())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0.5, 0.5], "class numbers 0 to 1, got 0.5 at the first of 2 such places of 3; number the classes"),
        ([1, 2, 2], "class numbers 0 to 1, got 2 at the first of 2"),
        ([-1, 1, 1], "class numbers 0 to 1, got -1 at the first of 1"),
        (["no", "yes", "yes"], "real numbers, got the type <U3"),
        ([0, NAN, 1], "finite numbers"),
        ([0, None, 1], "real numbers, got the type object"),
    ],
)
def test_error_describes_invalid_labels(labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        metrics.nmll(CLASSES, labels)


@pytest.mark.parametrize(
    ("predictive", "reason"),
    [
        (NORMALS, None),
        (CLASSES, None),
        (Classes(torch.tensor([[[0.0, -1000.0]]])), None),
        (
            Normals(NORMALS.mean, torch.tensor([[1.0, -1.0, 1.0], [1.0, 1.0, -2.0]])),
            "variance is negative at 2 of 3 test",
        ),
        (Normals(NORMALS.mean, torch.tensor([[1.0, 0.0, 1.0]]).expand(2, 3)), "variance is 0 at 1 of 3 test points"),
        (Normals(NORMALS.mean, NORMALS.variance * NAN), "variance is NaN at 3 of 3 test points"),
        (Normals(NORMALS.mean / 0 + INF, NORMALS.variance), "mean is NaN at 3 of 3 test points"),
        (Normals(NORMALS.mean + INF, NORMALS.variance), "mean is infinite at 3 of 3 test points"),
        (Classes(CLASSES.log_probs + 3), "sum to 20.09 and not to 1 at 3 of 3 points; normalise log_probs"),
        (Classes(CLASSES.log_probs.exp()), "and not to 1 at 3 of 3 points"),
        (Classes(CLASSES.log_probs[..., :1]), "sum to 0.2 and not to 1 at 3 of 3 points"),
        (Classes(torch.full((1, 3, 2), NAN)), "log_probs is NaN at 3 of 3 test points"),
        (StudentT(*torch.full((3, 1, 2), NAN)), "df is NaN at 2 of 2 test points"),
        (StudentT(*torch.ones(3, 1, 2)), "`df` of StudentT must be above 2"),
        (Quantiles.of(torch.tensor([0.1, 0.9]), torch.tensor([[1.0, 0.0]])), "must increase strictly"),
        (Histogram.of(torch.tensor([0.0, 1.0]), torch.tensor([[0.5]])), "must sum to 1 at each point"),
    ],
)
def test_invalid_predictives_are_described(predictive, reason):
    found = metrics.flaw(predictive)
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, torch.float32), (1000, torch.float32), (3, torch.float64)])
def test_rounding_errors_do_not_count_as_unnormalised(n_classes, dtype):
    logits = 40 * torch.randn(20, 50, n_classes, generator=torch.Generator().manual_seed(0), dtype=dtype)
    assert metrics.flaw(Classes(logits.log_softmax(-1))) is None
    assert metrics.flaw(Classes(logits.softmax(-1).clamp(1e-10).log())) is None


def test_chunked_check_of_probability_sums_equals_unchunked(monkeypatch):
    whole = metrics.flaw(Classes(CLASSES.log_probs + 3))
    monkeypatch.setattr(checks, "AT_ONCE", 1)
    assert metrics.flaw(Classes(CLASSES.log_probs + 3)) == whole
