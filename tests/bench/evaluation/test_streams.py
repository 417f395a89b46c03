"""The steps of a job: what is measured, when, and that cells do not feel each other."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bench.evaluation.streams import StreamPack, counts, distances, pieces
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.reference.distances import Target
from bench.streams.fitting import Gaussian
from leaderboards.data.published import difference, read_published

FACTOR, SGD = "fa-D100-K10-spectrum1-10", "sgd-iterates-lr0.1-lambda0.001"


def pack_of(method, name=FACTOR, splits=(0,), length=300, seed=0):
    protocol = SimpleNamespace(stream_length=length)
    cells = tuple(Cell("factor-analysis", name, method, split, "paper", protocol, seed) for split in splits)
    found, told = [{} for _ in cells], []
    pack = StreamPack(Job(cells, tuple(Path("unused") for _ in cells), None), torch.device("cpu"), found, told.append)
    return pack, found, told


def run(*arguments, **options):
    pack, found, _ = pack_of(*arguments, **options)
    return pack.go(), found


def test_counts_double_and_halve_decades_and_end_at_the_length():
    assert counts(1000) == [100, 200, 500, 1000]
    assert counts(2500) == [100, 200, 500, 1000, 2000, 2500]
    assert counts(100_000)[-3:] == [20_000, 50_000, 100_000]
    assert counts(60) == [60]


def test_pieces_put_together_are_the_stream_and_end_where_they_should():
    blocks = torch.arange(50.0).reshape(1, 50, 1).split(20, dim=1)
    stream = SimpleNamespace(blocks=lambda: iter(blocks))
    ends, parts = zip(*pieces(stream, [5, 20, 45]), strict=True)
    assert ends == (5, 20, 40, 45)
    assert torch.equal(torch.cat(parts, dim=1).flatten(), torch.arange(45.0))


def test_the_truth_is_at_distance_zero_from_itself_and_nothing_at_any_from_nan():
    target = Target(np.ones(3), np.diag([1.0, 2.0, 3.0]))
    assert distances(target, Gaussian(target.mean, target.covariance)) == {
        "rel_mean": 0,
        "rel_cov": 0,
        "w2_scaled": pytest.approx(0, abs=1e-7),
    }
    assert np.isnan(list(distances(target, Gaussian(target.mean, target.covariance * np.nan)).values())).all()


@pytest.mark.parametrize("method", ["batch-svd", "online-em-fa", "online-sga-fa"])
def test_a_cell_gets_its_row_and_its_curve(method):
    (end,), (own,) = run(method)
    assert (end.status, end.error) == ("ok", None)
    curve = end.tables["curves"].to_pydict()
    assert curve["n_samples"] == [100, 200, 300]
    for name in ("rel_mean", "rel_cov", "w2_scaled"):
        assert own[name] == curve[name][-1] > 0
    assert curve["rel_mean"][0] > curve["rel_mean"][-1]
    assert (own["task"], own["n_train"], own["n_test"], own["n_ood"]) == ("regression", 11, 1, 0)
    assert (own["n_weights"], own["n_parameters"]) == (100, 1200)
    assert own["fit_seconds"] > 0
    assert len(own["data_sha256"]) == len(own["split_sha256"]) == 64


def test_every_estimator_sees_the_same_stream():
    # The running mean is each estimator's own, and the same function of the vectors.
    means = [run(method)[1][0]["rel_mean"] for method in ("batch-svd", "online-em-fa", "online-sga-fa")]
    np.testing.assert_allclose(means, means[0], rtol=1e-5)


@pytest.mark.parametrize(("method", "name"), [("online-em-fa", FACTOR), ("batch-svd", FACTOR), ("online-em-fa", SGD)])
def test_a_cell_beside_others_equals_the_same_cell_alone(method, name):
    ends, _ = run(method, name=name, splits=(0, 1, 2))
    (alone,), _ = run(method, name=name, splits=(1,))
    beside, own = (
        np.array([*zip(*end.tables["curves"].to_pydict().values(), strict=True)]) for end in (ends[1], alone)
    )
    np.testing.assert_allclose(beside, own, rtol=1e-9)
    assert ends[0].tables["curves"] != ends[1].tables["curves"]


def test_another_seed_is_another_stream():
    assert run("empirical", name=SGD)[1][0]["rel_mean"] != run("empirical", name=SGD, seed=1)[1][0]["rel_mean"]


def test_a_stream_that_ends_by_itself_is_measured_to_its_end():
    (end,), _ = run("empirical", name=SGD, length=100_000)
    assert end.tables["curves"]["n_samples"].to_pylist() == [100, 200, 500, 1000]


def test_progress_is_told_up_to_the_whole(monkeypatch):
    monkeypatch.setattr("bench.experiment.progress.TELL_SECONDS", 0)
    pack, _, told = pack_of("empirical", name=SGD, length=500)
    pack.go()
    assert [one.done for one in told] == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_an_estimate_that_is_no_number_makes_its_cell_diverged_and_no_other(monkeypatch):
    pack, found, _ = pack_of("empirical", name=SGD, splits=(0, 1))
    estimates = pack.fitting.estimates
    monkeypatch.setattr(
        pack.fitting, "estimates", lambda: [Gaussian(*(part * np.nan for part in estimates()[0])), estimates()[1]]
    )
    ends = pack.go()
    assert [end.status for end in ends] == ["diverged", "ok"]
    assert "not finite" in ends[0].error
    assert "rel_cov" not in found[0]
    assert np.isfinite(found[1]["rel_cov"])


def test_what_was_found_before_a_failure_is_kept():
    pack, found, _ = pack_of("online-em-fa", name=SGD)
    pack.stream = replace_blocks(pack.stream)
    with pytest.raises(RuntimeError, match="no more"):
        pack.go()
    assert found[0]["n_train"] == 1000


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
def test_table_4_1_of_the_thesis(name, rel_mean, rel_cov, w2_scaled):
    """Each mean over ten seeds within two joint standard errors of the published one."""
    _, found = run("empirical", name=name, splits=range(10), length=1000)
    published = {"rel_mean": rel_mean, "rel_cov": rel_cov, "w2_scaled": w2_scaled}
    for measure, (value, stderr) in published.items():
        ours = np.array([own[measure] for own in found])
        assert abs(difference(ours.mean(), ours.std(ddof=1) / np.sqrt(10), value, stderr)) < 2


def float32_wasserstein(target: Target, estimate: Gaussian) -> float:
    """The scaled 2-Wasserstein distance as the thesis's numbers have it, too large where a variance is near zero.

    In float32, by symmetric square roots without the eigenvalues below 1.2e-4 of the largest.
    """

    def root(matrix: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(matrix)
        kept = np.where(values > 1.2e-4 * values.max(), values, 0)
        return vectors * np.sqrt(kept) @ vectors.T

    truth, own = np.float32(target.covariance), np.float32(estimate.covariance)
    spread = np.trace(truth + own - 2 * root(root(own) @ truth @ root(own)))
    return np.sqrt(np.square(estimate.mean - target.mean).sum() + spread) / len(truth)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["batch-svd", "online-em-fa", "online-sga-fa"])
@pytest.mark.parametrize("high", [10, 100, 1000])
def test_tables_b_1_and_b_2_of_the_thesis_for_100_dimensions(monkeypatch, high, method):
    """Each mean over ten models within two joint standard errors of the published one; half a minute each."""
    name = f"fa-D100-K10-spectrum1-{high}"

    def as_published(target, estimate):
        return distances(target, estimate) | {"w2_scaled": float32_wasserstein(target, estimate)}

    monkeypatch.setattr("bench.evaluation.streams.distances", as_published)
    _, found = run(method, name=name, splits=range(10), length=100_000)
    published = read_published().query("dataset == @name and method == @method").set_index("metric")
    for measure in ("rel_cov", "w2_scaled"):
        ours = np.array([own[measure] for own in found])
        theirs = published.loc[measure]
        assert abs(difference(ours.mean(), ours.std(ddof=1) / np.sqrt(10), theirs.value, theirs.stderr)) < 2
