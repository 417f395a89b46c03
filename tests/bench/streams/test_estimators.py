"""The estimators against numpy, scikit-learn and the single fits that they stack."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import FactorAnalysis

from lockstep_bench import datasets
from lockstep_bench.bench.engine.random_streams import RandomStream
from lockstep_bench.bench.experiment.estimators import ESTIMATORS, excludes, names
from lockstep_bench.bench.streams.batch import BatchSVD, Empirical, WindowAverages, rows_with_covariance
from lockstep_bench.bench.streams.online import OnlineEMFitting, OnlineSGAFitting
from lockstep_bench.methods.maths.factor_analysis import WARM_UP, Averages
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.shared.seeds import seed_of

ROOT = Path(__file__).resolve().parents[3]
B, T, D, K = 3, 300, 12, 2
ALL = [BatchSVD, Empirical, WindowAverages, OnlineEMFitting, OnlineSGAFitting]
SEEDS = [11, 12, 13]


def vectors(count: int = T, dim: int = D) -> torch.Tensor:
    """B streams of correlated vectors (B, T, D), far from the origin for their size."""
    generator = np.random.default_rng(0)
    latent = generator.standard_normal((B, count, K)) @ generator.standard_normal((B, K, dim))
    return torch.tensor(20 + latent + generator.standard_normal((B, count, dim)))


def fitted(cls, stream, seeds=SEEDS, cuts=(), **options):
    fitting = cls(stream.shape[2], K, seeds, torch.float64, **options)
    for piece in np.split(stream, cuts, axis=1) if cuts else [stream]:
        fitting.absorb(piece)
    return fitting


def test_estimator_names_are_listed_without_heavy_imports():
    code = "import sys; from lockstep_bench.bench.experiment import estimators; "
    code += "print(*estimators.names()); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    found, modules = done.stdout.splitlines()
    assert found.split() == list(names())
    assert {"torch", "sklearn", "scipy", "pyarrow"}.isdisjoint(modules.split())


def test_every_estimator_loads_and_can_run_on_a_stream():
    assert {estimator.load() for estimator in ESTIMATORS.values()} == set(ALL)
    streams = [name for name in datasets.names() if "factor-analysis" in datasets.entry(name).suites]
    for name in names():
        assert any(excludes(name, stream) is None for stream in streams)


def test_estimators_exclude_unsuitable_streams():
    factor, sgd = "fa-D100-K10-spectrum1-10", "sgd-iterates-lr0.1-lambda0.1"
    assert [name for name in names() if not excludes(name, factor)] == ["batch-svd", "online-em-fa", "online-sga-fa"]
    assert [name for name in names() if not excludes(name, sgd)] == ["online-em-fa", "empirical", "empirical-window"]
    assert excludes("empirical", "yacht") == "yacht is no stream of vectors"
    assert (
        excludes("batch-svd", sgd)
        == "its streams come from SGDIterates; the estimator is for streams from FactorModels"
    )


def test_empirical_mean_and_covariance_equal_numpy():
    for (mean, covariance), stream in zip(fitted(Empirical, vectors()).estimates(), vectors().numpy(), strict=True):
        np.testing.assert_allclose(mean, stream.mean(0))
        np.testing.assert_allclose(covariance, np.cov(stream.T, bias=True), atol=1e-12)


@pytest.mark.parametrize("window", [10, 50])
def test_window_averages_do_not_depend_on_chunk_sizes(window):
    stream = vectors(count=307)
    averages = stream[:, :300].numpy().reshape(B, 300 // window, window, D).mean(2)
    for cuts in ((), (3, 5, 104, 300)):
        for (mean, covariance), own in zip(
            fitted(WindowAverages, stream, cuts=cuts, window=window).estimates(), averages, strict=True
        ):
            np.testing.assert_allclose(mean, own.mean(0))
            np.testing.assert_allclose(covariance, np.cov(own.T, bias=True), atol=1e-12)


def test_batch_svd_covariance_equals_sklearn():
    # 3,000 vectors, so that scikit-learn's tolerance on the sum of log-likelihoods matters.
    stream = vectors(count=3000)
    for (mean, covariance), own in zip(fitted(BatchSVD, stream).estimates(), stream.numpy(), strict=True):
        reference = FactorAnalysis(K, svd_method="randomized").fit(own)
        np.testing.assert_allclose(mean, reference.mean_)
        np.testing.assert_allclose(covariance, reference.get_covariance(), atol=1e-8)


def test_batch_svd_equals_sklearn_with_fewer_vectors_than_dimensions():
    # The randomised SVD draws in another space there, so only what does not hang on the draw is the same.
    stream = vectors(count=60, dim=80)
    for (_, covariance), own in zip(fitted(BatchSVD, stream).estimates(), stream.numpy(), strict=True):
        reference = FactorAnalysis(K, svd_method="lapack").fit(own).get_covariance()
        assert np.linalg.norm(covariance - reference) < 0.05 * np.linalg.norm(reference)


def test_pseudo_data_have_the_given_covariance_and_zero_mean():
    for rank in (D, 4):
        half = np.random.default_rng(1).standard_normal((D, rank))
        rows = rows_with_covariance(half @ half.T)
        np.testing.assert_allclose(rows.T @ rows / (D + 1), half @ half.T, atol=1e-12)
        np.testing.assert_allclose(rows.mean(0), 0, atol=1e-12)


@pytest.mark.parametrize("cls", [OnlineEMFitting, OnlineSGAFitting])
def test_stacked_online_fit_equals_single_vector_by_vector_fit(cls):
    stream = vectors()
    for estimate, own, seed in zip(fitted(cls, stream).estimates(), stream, SEEDS, strict=True):
        (tape,) = next(RandomStream([seed_of(seed, "init")], D * K, torch.float64, torch.device("cpu")))
        state = cls.algorithm.init(D, K, Noise(tape))
        for number, theta in enumerate(own):
            state = state.update(theta, learn=number >= WARM_UP)
        np.testing.assert_allclose(estimate.mean, own.mean(0))
        np.testing.assert_allclose(estimate.covariance, state.normal().covariance(), rtol=1e-9)


def test_online_em_accumulates_sufficient_statistics_of_whole_stream():
    stream = vectors()
    averages = Averages(*fitted(OnlineEMFitting, stream)._state[:6])
    running = stream.cumsum(1) / torch.arange(1, T + 1)[:, None]
    torch.testing.assert_close(averages.mean, stream.mean(1))
    torch.testing.assert_close(averages.square, ((stream - running) ** 2).mean(1))


@pytest.mark.parametrize("cls", ALL)
def test_stacked_estimator_fit_equals_single_fit(cls):
    stream = vectors()
    beside, alone = fitted(cls, stream), fitted(cls, stream[1:2], SEEDS[1:2])
    assert beside.n_parameters == alone.n_parameters
    for part, own in zip(beside.estimates()[1], alone.estimates()[0], strict=True):
        np.testing.assert_allclose(part, own, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cls", ALL)
def test_chunk_sizes_and_intermediate_estimates_do_not_change_fits(cls):
    stream = vectors()
    whole, cut = fitted(cls, stream), cls(D, K, SEEDS, torch.float64)
    for piece in np.split(stream, (40, 100, 101, 250), axis=1):
        cut.absorb(piece)
        cut.estimates()
    for one, other in zip(whole.estimates(), cut.estimates(), strict=True):
        np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-8)
        np.testing.assert_allclose(one.mean, other.mean)


def test_parameter_counts_equal_the_numbers_stored():
    counts = {cls: cls(D, K, SEEDS, torch.float64).n_parameters for cls in ALL}
    low_rank, dense = D + D * K + D, D + D * (D + 1) // 2
    assert counts == {
        **dict.fromkeys((BatchSVD, OnlineEMFitting, OnlineSGAFitting), low_rank),
        **dict.fromkeys((Empirical, WindowAverages), dense),
    }
