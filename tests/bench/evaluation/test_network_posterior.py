"""Cells of the suite `function-posterior`, from data to row."""

import json

import numpy as np
import pyarrow as pa
import pytest

from lockstep_bench.bench.evaluation import network_posterior
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.reference.kept import PROBES, KeptDraws
from lockstep_bench.shared.columns import CELLS, FUNCTIONS
from lockstep_bench.shared.protocol import Protocol

TINY = Protocol(epochs=3, batch_size=20, trials=1, folds=2, samples=20, validation_samples=5)
FACTS = {"sampler": "none", "chains": 8, "r_hat": 1.001, "effective_samples": 900.0}


def row_of(tmp_path, monkeypatch, dataset, method, n_outputs):
    values = np.random.default_rng(0).standard_normal((200, PROBES, n_outputs))
    monkeypatch.setattr(network_posterior, "reference_of", lambda *_: KeptDraws(values, FACTS))
    cells = (Cell("function-posterior", dataset, method, 0, "tiny", TINY, 0),)
    (outcome,) = run(Job(cells, (tmp_path / "study.json",), None), on_progress=print)
    assert outcome.row["status"] == "ok", outcome.row["error"]
    pa.Table.from_pylist([outcome.row], schema=CELLS)
    return outcome.row


def test_point_estimate_has_zero_covariance_and_the_distance_of_a_point_mass(tmp_path, monkeypatch):
    row = row_of(tmp_path, monkeypatch, "ref-gap-17", "map", 1)
    assert row["function_cov"] == 1.0
    assert row["function_w2"] >= 0.95
    assert json.loads(row["reference"])["r_hat"] == 1.001
    assert set(json.loads(row["hparams"])) == {"lr"}
    assert row["nmll"] is not None


def test_model_with_predicted_noise_trains_two_outputs(tmp_path, monkeypatch):
    row = row_of(tmp_path, monkeypatch, "ref-wave-17-predicted", "mfvi", 2)
    assert row["n_weights"] == 70
    assert all(np.isfinite(row[name]) for name in (*FUNCTIONS, "total_variation", "sd_ratio"))


@pytest.mark.parametrize(
    ("dataset", "kind"), [("ref-gap-17", "gaussian"), ("ref-wave-17-predicted", "heteroscedastic")]
)
def test_methods_are_excluded_by_the_noise_of_the_model(dataset, kind):
    from lockstep_bench import methods
    from lockstep_bench.bench.experiment.suites import SUITES
    from lockstep_bench.bench.experiment.tasks import task_of

    suite = SUITES["function-posterior"]

    def reason(name):
        return suite.kind.excludes(name, dataset, lambda: task_of(suite.name, dataset))

    assert reason("map") is None
    assert kind in methods.get("map").likelihoods
    assert bool(reason("vbll")) is (kind not in methods.get("vbll").likelihoods) is (kind == "heteroscedastic")
