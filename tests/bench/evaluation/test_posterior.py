"""Cells of the suites `posterior` and `toy`, from data to row."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import function_posterior, weight_posterior
from lockstep_bench.bench.evaluation.function_posterior import regions
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import JobProgress
from lockstep_bench.bench.reference.posterior import ReferencePosterior
from lockstep_bench.bench.reference.sampled import UnconvergedReference
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import BANDS, POSTERIORS

TINY = Protocol(epochs=60, batch_size=100, trials=2, folds=2, samples=50, validation_samples=10)


def outcomes(
    tmp_path: Path, dataset: str, method: str, splits=(0,), suite: str = "posterior", on_progress=print, **changes
) -> list[CellResult]:
    cells = tuple(Cell(suite, dataset, method, split, "tiny", TINY.changed(**changes), 0) for split in splits)
    journals = tuple(tmp_path / f"{dataset}-{method}-{cell.split}.json" for cell in cells)
    return run(Job(cells, journals, None), on_progress=on_progress)


def test_laplace_on_a_linear_model_is_exact(tmp_path):
    first, second = outcomes(tmp_path, "synthetic-linear-2d", "laplace-full", (0, 1), epochs=600)
    for outcome in (first, second):
        row = outcome.row
        assert row["status"] == "ok", row["error"]
        assert row["rel_cov"] < 1e-6
        assert row["rel_mean"] < 0.02
        assert row["total_variation"] < 0.01
        assert json.loads(row["reference"]) == {"kind": "exact"}
        assert row["validation_w2_scaled"] > 0
        assert json.loads(row["diagnostics"])["w2_scaled_single"] == pytest.approx(row["w2_scaled"], rel=1e-2)
        assert set(json.loads(row["hparams"])) == {"lr"}
        pa.Table.from_pylist([row], schema=CELLS)
    assert first.row["rel_mean"] != second.row["rel_mean"]
    table = first.tables["posteriors"]
    assert table.schema == POSTERIORS
    method, truth = table.to_pylist()
    np.testing.assert_allclose(method["covariance"], truth["covariance"], rtol=1e-6)
    assert len(truth["draws"]) == 2 * weight_posterior.DRAWS_KEPT


def test_scores_are_those_of_the_exact_predictive_at_the_test_targets(tmp_path):
    (outcome,) = outcomes(tmp_path, "synthetic-linear-2d", "laplace-full", epochs=600, samples=2000)
    dataset, (truth,) = datasets.load("synthetic-linear-2d"), outcome.tables["posteriors"].to_pylist()[1:]
    test, mean = dataset.splits[0].test[: weight_posterior.COMPARED], np.array(truth["mean"])
    x, y, covariance = dataset.x[test], dataset.y[test], np.reshape(truth["covariance"], (2, 2))
    variance = 1 / datasets.entry("synthetic-linear-2d").model.noise_precision + ((x @ covariance) * x).sum(1)
    exact = 0.5 * np.mean((y - x @ mean) ** 2 / variance + np.log(2 * np.pi * variance))
    assert json.loads(outcome.row["diagnostics"])["nmll_of_reference"] == pytest.approx(exact, abs=0.005)
    assert outcome.row["nmll"] == pytest.approx(exact, abs=0.01)


def test_point_estimate_has_relative_covariance_error_one(tmp_path):
    (outcome,) = outcomes(tmp_path, "synthetic-linear-2d", "map", epochs=300)
    assert outcome.row["rel_cov"] == 1.0
    assert outcome.row["kl"] == np.inf
    assert outcome.row["nmll_joint_10"] == pytest.approx(outcome.row["nmll"], rel=1e-9)


def test_closed_form_moments_agree_with_sample_moments(tmp_path, monkeypatch):
    (known,) = outcomes(tmp_path, "synthetic-linear-2d", "mfvi")
    monkeypatch.setattr("lockstep_bench.bench.engine.stacked_fits.StackedFits.moments", lambda stack: None)
    (tmp_path / "synthetic-linear-2d-mfvi-0.json").unlink()
    (sampled,) = outcomes(tmp_path, "synthetic-linear-2d", "mfvi")
    spread = 3 * np.sqrt(2 / weight_posterior.SAMPLES)
    for one, other in zip(
        *(x.tables["posteriors"].to_pylist()[0]["covariance"] for x in (known, sampled)), strict=True
    ):
        assert one == pytest.approx(
            other, rel=spread, abs=spread * max(known.tables["posteriors"]["covariance"][0].as_py())
        )


def test_logistic_regression_is_compared_with_the_grid_posterior(tmp_path):
    (outcome,) = outcomes(tmp_path, "synthetic-logistic-2d", "laplace-full", epochs=100)
    assert outcome.row["status"] == "ok", outcome.row["error"]
    assert json.loads(outcome.row["reference"]) == {"kind": "grid"}
    assert 0 <= outcome.row["total_variation"] <= 1
    assert 0.9 < outcome.row["agreement"] <= 1


def gaussian_weights(part, name, seed, probes, on_progress) -> ReferencePosterior:
    draws = 0.3 * np.random.default_rng(0).standard_normal((40, part.network.dim))
    return ReferencePosterior(draws, draws.mean(0), np.cov(draws.T), "nuts", {"r_hat": 1.001})


def test_networks_are_compared_in_function_space_by_region(tmp_path, monkeypatch):
    monkeypatch.setattr(function_posterior, "sampled", gaussian_weights)
    (outcome,) = outcomes(tmp_path, "toy", "mfvi", suite="toy", epochs=5, batch_size=20)
    row = outcome.row
    assert row["status"] == "ok", row["error"]
    assert set(json.loads(row["hparams"])) == {"lr"}
    assert json.loads(row["reference"])["r_hat"] == 1.001
    bands = outcome.tables["bands"]
    assert bands.schema == BANDS
    x, sd, theirs = (bands[name].to_numpy() for name in ("x", "sd", "reference_sd"))
    train = datasets.load("toy").x[datasets.load("toy").splits[0].train, 0]
    between, far = regions(x, train)
    assert row["sd_ratio_between"] == pytest.approx(sd[between].mean() / theirs[between].mean(), rel=1e-5)
    assert row["sd_ratio_far"] == pytest.approx(sd[far].mean() / theirs[far].mean(), rel=1e-5)
    np.testing.assert_allclose(bands["noise_sd"].to_numpy(), 0.1, rtol=1e-5)


def test_progress_reports_sampling_of_the_reference_posterior(tmp_path, monkeypatch):
    def slow(part, name, seed, probes, on_progress):
        on_progress(0.43)
        return gaussian_weights(part, name, seed, probes, on_progress)

    monkeypatch.setattr("lockstep_bench.bench.experiment.progress.REPORT_SECONDS", 0.0)
    monkeypatch.setattr(function_posterior, "sampled", slow)
    told = []
    outcomes(tmp_path, "toy", "map", suite="toy", on_progress=told.append, epochs=2, batch_size=50)
    assert told[-1] == JobProgress(1.0, "sampling the reference toy-split00", 0.43)


def test_reference_posterior_functions_are_in_original_units(tmp_path, monkeypatch):
    """A reference whose network is zero predicts the training targets' mean."""

    def zeros(part, name, seed, probes, on_progress):
        return gaussian_weights(part, name, seed, probes, on_progress).__class__(
            np.zeros((3, part.network.dim)), np.zeros(part.network.dim), np.zeros((1, 1)), "nuts", {"r_hat": 1.0}
        )

    monkeypatch.setattr(function_posterior, "sampled", zeros)
    (outcome,) = outcomes(tmp_path, "toy", "map", suite="toy", epochs=2, batch_size=50)
    toy = datasets.load("toy")
    np.testing.assert_allclose(outcome.tables["bands"]["reference_mean"], toy.y[toy.splits[0].train].mean())


def test_unconverged_reference_posterior_fails_the_cell_with_reason(tmp_path, monkeypatch):
    def refuse(*_):
        raise UnconvergedReference("the reference is refused: R-hat is 1.2")

    monkeypatch.setattr(function_posterior, "sampled", refuse)
    (outcome,) = outcomes(tmp_path, "toy", "map", suite="toy", epochs=2, batch_size=50)
    assert outcome.row["status"] == "failed"
    assert "R-hat is 1.2" in outcome.row["error"]


def test_function_regions_are_widest_gap_and_extrapolation():
    between, far = regions(np.array([-2.0, -0.8, 0.0, 0.7, 3.0]), np.array([0.5, -1.0, 1.0, -0.7]))
    np.testing.assert_array_equal(between, [False, False, True, False, False])
    np.testing.assert_array_equal(far, [True, False, False, False, True])


def test_tuning_uses_only_the_validation_half_posterior(tmp_path, monkeypatch):
    """Poisoned targets of the judged part change no choice of hyper-parameters."""
    (clean,) = outcomes(tmp_path, "synthetic-linear-2d", "mfvi")
    original = datasets.load("synthetic-linear-2d")
    y = original.y.copy()
    y[original.splits[0].train] = 1e3
    poisoned = datasets.Dataset(original.name, original.x, y, original.splits)
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: poisoned)
    (tmp_path / "synthetic-linear-2d-mfvi-0.json").unlink()
    (other,) = outcomes(tmp_path, "synthetic-linear-2d", "mfvi")
    for chosen in ("hparams", "validation_w2_scaled"):
        assert other.row[chosen] == clean.row[chosen]
    assert other.row["w2_scaled"] != clean.row["w2_scaled"]
