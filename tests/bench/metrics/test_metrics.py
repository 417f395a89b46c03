"""The front of the metrics: which ones a predictive gets."""

import math
import subprocess
import sys

import pytest
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.methods.maths.predictive import Classes, Normals
from lockstep_bench.shared.columns import LATER, METRICS, TABLES
from lockstep_bench.shared.schema import (
    CLASSIFICATION,
    CONFIDENCE,
    CORRUPTED,
    ELSEWHERE,
    FIDELITY,
    GROUP_OOD,
    JOINT,
    OOD,
    OOD_SETS,
    REGRESSION,
    RELIABILITY,
    SELECTED,
    SELECTIVE,
)


def normals(n: int) -> Normals:
    return Normals(torch.randn(3, n), torch.rand(3, n) + 0.1)


def classes(n: int, n_classes: int) -> Classes:
    return Classes(torch.randn(3, n, n_classes).log_softmax(-1))


def labels(n: int, n_classes: int) -> torch.Tensor:
    return torch.arange(n).double() % n_classes


OF_CLASS_1 = {"auroc", "precision", "recall", "f1"}
OF_PAIRS = {"ece_squared_debiased"}  # needs two points
CASES = {
    "regression": (normals(20), torch.randn(20), None, {*REGRESSION}),
    "binary": (classes(20, 2), labels(20, 2), None, {*CLASSIFICATION}),
    "multiclass": (classes(20, 4), labels(20, 4), None, {*CLASSIFICATION} - OF_CLASS_1),
    "one class": (classes(20, 2), labels(20, 1), None, {*CLASSIFICATION} - OF_CLASS_1),
    "ood": (classes(20, 4), labels(20, 4), classes(9, 4), {*CLASSIFICATION, *OOD} - OF_CLASS_1),
    "no ood points": (classes(20, 4), labels(20, 4), classes(0, 4), {*CLASSIFICATION} - OF_CLASS_1),
    "regression, ood": (normals(20), torch.randn(20), normals(5), {*REGRESSION}),
    "one point": (classes(1, 3), labels(1, 3), classes(1, 3), {*CLASSIFICATION, *OOD} - OF_CLASS_1 - OF_PAIRS),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_predictive_type_gets_its_metrics_as_floats(case):
    predictive, y, ood, expected = case
    found = metrics.evaluate(predictive, y, 2.0, ood)
    assert set(found) == {"nmll"} | expected
    assert all(type(value) is float and math.isfinite(value) for value in found.values())
    assert found["nmll"] == metrics.nmll(predictive, y) == -metrics.log_density(predictive, y).mean().item()


def test_result_schema_lists_every_metric_once():
    of_images = (SELECTED, OOD, GROUP_OOD, CORRUPTED, ELSEWHERE)
    parts = (["nmll"], REGRESSION, CLASSIFICATION, JOINT, *of_images, FIDELITY, LATER)
    assert list(METRICS) == [name for part in parts for name in part]


def test_classifier_tables_match_their_schemas():
    inside, far = (metrics.pool(classes(n, 3)) for n in (20, 9))
    found = metrics.tables(inside, labels(20, 3), {"far": {"noise": far}})
    schemas = {"reliability": RELIABILITY, "selective": SELECTIVE, "confidence": CONFIDENCE, "ood": OOD_SETS}
    assert {name: table.schema for name, table in found.items()} == schemas
    assert found.keys() < set(TABLES)
    columns = metrics.summaries(found)
    assert {name for name in columns if name.startswith("far_ood_")}
    assert {name for name in columns if not name.startswith("far_ood_")} <= SELECTED.keys()
    assert columns.keys() < METRICS.keys()


def test_selective_prediction_columns_repeat_rows_of_its_table():
    found = metrics.tables(metrics.pool(classes(40, 2)), labels(40, 2))
    columns = metrics.summaries(found)
    assert columns.keys() == SELECTED.keys()
    rows = {(row["uncertainty"], row["retained"]): row for row in found["selective"].to_pylist()}
    assert columns["f1_retain70_disagreement"] == rows["disagreement", 0.7]["f1"]
    assert columns["auroc_retain50_entropy"] == rows["entropy", 0.5]["auroc"]
    assert columns["accuracy_retain90_entropy"] == rows["entropy", 0.9]["accuracy"]


def test_sklearn_is_imported_only_when_needed():
    code = "import sys, lockstep_bench.bench.metrics; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
