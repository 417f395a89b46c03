"""Evaluation of streams: what is measured, when, and that cells do not affect each other."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lockstep_bench.bench.evaluation.streams import StreamEvaluation, counts, distances, pieces
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.reference.distances import GaussianTarget
from lockstep_bench.bench.streams.fitting import FittedGaussian
from lockstep_bench.leaderboards.data.published import difference, read_published
from lockstep_bench.shared.protocol import Protocol

FACTOR, SGD = "fa-D100-K10-spectrum1-10", "sgd-iterates-lr0.1-lambda0.001"


def evaluation_of(method, name=FACTOR, splits=(0,), length=300, seed=0):
    protocol = Protocol(stream_length=length)
    cells = tuple(Cell("factor-analysis", name, method, split, "paper", protocol, seed) for split in splits)
    job, reports = Job(cells, tuple(Path("unused") for _ in cells), None), []
    return StreamEvaluation(job, torch.device("cpu"), reports.append), reports


def run(*arguments, **options):
    evaluation, _ = evaluation_of(*arguments, **options)
    *_, outcomes = evaluation.run()
    return outcomes


def test_measured_stream_lengths_are_1_2_5_per_decade():
    assert counts(1000) == [100, 200, 500, 1000]
    assert counts(2500) == [100, 200, 500, 1000, 2000, 2500]
    assert counts(100_000)[-3:] == [20_000, 50_000, 100_000]
    assert counts(60) == [60]


def test_stream_pieces_concatenate_and_end_at_given_lengths():
    blocks = torch.arange(50.0).reshape(1, 50, 1).split(20, dim=1)
    stream = SimpleNamespace(blocks=lambda: iter(blocks))
    ends, parts = zip(*pieces(stream, [5, 20, 45]), strict=True)
    assert ends == (5, 20, 40, 45)
    assert torch.equal(torch.cat(parts, dim=1).flatten(), torch.arange(45.0))


def test_distance_to_the_target_itself_is_zero():
    target = GaussianTarget(np.ones(3), np.diag([1.0, 2.0, 3.0]))
    assert distances(target, FittedGaussian(target.mean, target.covariance)) == {
        "rel_mean": 0,
        "rel_cov": 0,
        "w2_scaled": pytest.approx(0, abs=1e-7),
    }
    assert np.isnan(list(distances(target, FittedGaussian(target.mean, target.covariance * np.nan)).values())).all()


@pytest.mark.parametrize("method", ["batch-svd", "online-em-fa", "online-sga-fa"])
def test_stream_cell_stores_row_and_error_curve(method):
    (outcome,) = run(method)
    assert (outcome.status, outcome.error) == ("ok", None)
    curve = outcome.tables["curves"].to_pydict()
    assert curve["n_samples"] == [100, 200, 300]
    for name in ("rel_mean", "rel_cov", "w2_scaled"):
        assert outcome.metrics[name] == curve[name][-1] > 0
    assert curve["rel_mean"][0] > curve["rel_mean"][-1]
    data, fit = outcome.data, outcome.fit
    assert (data.task, data.n_train, data.n_test, data.n_ood) == ("regression", 11, 1, 0)
    assert (fit.n_weights, fit.n_parameters) == (100, 1200)
    assert fit.execution == ("eager" if method == "batch-svd" else "captured")
    assert fit.fit_seconds > 0
    # Distances of single precision are not below the exact ones, but for rounding.
    assert json.loads(fit.diagnostics)["w2_scaled_single"] > 0.999 * outcome.metrics["w2_scaled"]
    assert len(data.data_sha256) == len(data.split_sha256) == 64


def test_two_dimensional_streams_store_their_vectors():
    (plain,), (windows,) = (run(method, name=SGD, length=1000) for method in ("empirical", "empirical-window"))
    for outcome, count in ((plain, 1000), (windows, 100)):
        method, truth = outcome.tables["posteriors"].to_pylist()
        vectors = np.reshape(method["draws"], (count, 2))
        np.testing.assert_allclose(vectors.mean(0), method["mean"])
        np.testing.assert_allclose(np.cov(vectors.T, bias=True).ravel(), method["covariance"])
        assert len(truth["draws"]) == 2000
    assert "posteriors" not in run("online-em-fa")[0].tables


def test_all_estimators_see_the_same_stream():
    # The running mean is each estimator's own, and the same function of the vectors.
    means = [run(method)[0].metrics["rel_mean"] for method in ("batch-svd", "online-em-fa", "online-sga-fa")]
    np.testing.assert_allclose(means, means[0], rtol=1e-5)


@pytest.mark.parametrize(("method", "name"), [("online-em-fa", FACTOR), ("batch-svd", FACTOR), ("online-em-fa", SGD)])
def test_stream_results_do_not_depend_on_other_cells(method, name):
    outcomes = run(method, name=name, splits=(0, 1, 2))
    beside, alone = (
        np.array([*zip(*outcome.tables["curves"].to_pydict().values(), strict=True)])
        for outcome in (outcomes[1], *run(method, name=name, splits=(1,)))
    )
    np.testing.assert_allclose(beside, alone, rtol=1e-9)
    assert outcomes[0].tables["curves"] != outcomes[1].tables["curves"]


def test_different_seeds_give_different_streams():
    first, second = (run("empirical", name=SGD, seed=seed)[0].metrics for seed in (0, 1))
    assert first["rel_mean"] != second["rel_mean"]


def test_short_stream_is_measured_to_its_end():
    (outcome,) = run("empirical", name=SGD, length=100_000)
    assert outcome.tables["curves"]["n_samples"].to_pylist() == [100, 200, 500, 1000]


def test_stream_progress_reaches_one(monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.experiment.progress.REPORT_SECONDS", 0)
    evaluation, reports = evaluation_of("empirical", name=SGD, length=500)
    list(evaluation.run())
    assert [report.done for report in reports] == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_nan_estimate_marks_only_its_cell_diverged(monkeypatch):
    evaluation, _ = evaluation_of("empirical", name=SGD, splits=(0, 1))
    estimates = evaluation.fitting.estimates
    monkeypatch.setattr(
        evaluation.fitting,
        "estimates",
        lambda: [FittedGaussian(*(part * np.nan for part in estimates()[0])), estimates()[1]],
    )
    *_, (first, second) = evaluation.run()
    assert (first.status, second.status) == ("diverged", "ok")
    assert "not finite" in first.error
    assert first.metrics == {}
    assert np.isfinite(second.metrics["rel_cov"])


def test_outcomes_before_an_exception_are_kept():
    evaluation, _ = evaluation_of("online-em-fa", name=SGD)
    assert evaluation.fitting
    evaluation.stream = replace_blocks(evaluation.stream)
    steps = evaluation.run()
    (known,) = next(steps)
    with pytest.raises(RuntimeError, match="no more"):
        next(steps)
    assert known.data.n_train == 1000


def replace_blocks(stream):
    def blocks():
        raise RuntimeError("no more")
        yield

    return SimpleNamespace(blocks=blocks, targets=stream.targets)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rel_mean", "rel_cov", "w2_scaled"),
    [
        ("sgd-iterates-lr0.1-lambda0.1", (0.0666, 0.0078), (0.6200, 0.0750), (0.4946, 0.1013)),
        ("sgd-iterates-lr0.1-lambda0.001", (0.0006, 0.0001), (0.8065, 0.0101), (0.0439, 0.0012)),
        ("sgd-iterates-lr0.01-lambda0.1", (0.0620, 0.0070), (1.7110, 0.6187), (0.4641, 0.0937)),
        ("sgd-iterates-lr0.01-lambda0.001", (0.0010, 0.0002), (0.9870, 0.0042), (0.0739, 0.0010)),
    ],
)
def test_results_reproduce_thesis_table_4_1(name, rel_mean, rel_cov, w2_scaled):
    """Each mean over ten seeds within two joint standard errors of the published one."""
    outcomes = run("empirical", name=name, splits=range(10), length=1000)
    published = {"rel_mean": rel_mean, "rel_cov": rel_cov, "w2_scaled": w2_scaled}
    for measure, (value, stderr) in published.items():
        ours = np.array([outcome.metrics[measure] for outcome in outcomes])
        assert abs(difference(ours.mean(), ours.std(ddof=1) / np.sqrt(10), value, stderr)) < 2


@pytest.mark.slow
@pytest.mark.parametrize("method", ["batch-svd", "online-em-fa", "online-sga-fa"])
@pytest.mark.parametrize("high", [10, 100, 1000])
def test_results_reproduce_thesis_tables_b_1_and_b_2_in_100_dimensions(high, method):
    """Each mean over ten models within two joint standard errors of the published one; half a minute each."""
    name = f"fa-D100-K10-spectrum1-{high}"
    outcomes = run(method, name=name, splits=range(10), length=100_000)
    published = read_published().query("dataset == @name and method == @method").set_index("metric")
    measured = {
        "rel_cov": [outcome.metrics["rel_cov"] for outcome in outcomes],
        "w2_scaled": [json.loads(outcome.fit.diagnostics)["w2_scaled_single"] for outcome in outcomes],
    }
    for measure, numbers in measured.items():
        ours = np.array(numbers)
        theirs = published.loc[measure]
        assert abs(difference(ours.mean(), ours.std(ddof=1) / np.sqrt(10), theirs.value, theirs.stderr)) < 2
