"""Cells of a made-up set with a gap: block folds and scores against their closed form."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from lockstep_bench import datasets
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.datasets import Source, Split, registry
from lockstep_bench.shared.protocol import Protocol

N_ROWS, TAILS = 36, {"gaps": False, "tails": True}
BLOCKS = Protocol(epochs=1, batch_size=8, trials=1, folds=3, samples=2, validation_samples=2, fold_kind="block")


def read(_):
    """Return y = 100 x + 5 cos(x) on a grid, its rows shuffled, and its middle third as the gap."""
    x = np.random.default_rng(0).permutation(N_ROWS).astype(float)
    order = np.argsort(x)
    train, test = np.concatenate([order[:12], order[24:]]), order[12:24]
    return x[:, None], 100 * x + 5 * np.cos(x), (Split(train[::-1], test, feature=0),)


@pytest.fixture(params=TAILS)
def cell(request, monkeypatch) -> Cell:
    source = Source(
        name="made-up-gap",
        title="Made up",
        n_rows=N_ROWS,
        n_features=1,
        n_splits=1,
        origin="a test",
        licence="none",
        read=read,
        split_scheme=request.param,
        suites=("uci-gap",),
    )
    everything = registry._built_in() | {source.name: source}
    monkeypatch.setattr(registry, "_built_in", lambda: everything)
    return Cell("uci-gap", source.name, "constant", 0, "blocks", BLOCKS, seed=0)


def result_of(cell: Cell, folder: Path) -> CellResult:
    (result,) = run(Job((cell,), (folder / "study.json",), None))
    return result


def test_constant_baseline_scores_have_closed_form_in_gap(cell, tmp_path):
    row = result_of(cell, tmp_path).row
    dataset = datasets.load(cell.dataset)
    (split,) = dataset.splits
    y, y_test = dataset.y[split.train], dataset.y[split.test]
    assert (row["n_train"], row["n_test"]) == (24, 12)
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((y_test - y.mean()) ** 2)), rel=1e-5)
    assert row["nmll"] == pytest.approx(-norm(y.mean(), y.std()).logpdf(y_test).mean(), rel=1e-5)


def test_validation_score_is_computed_on_block_folds(cell, tmp_path):
    """A fold's score is that of the Gaussian of its training targets, on those that it holds out."""
    row = result_of(cell, tmp_path).row
    dataset = datasets.load(cell.dataset)
    y = np.sort(dataset.y[dataset.splits[0].train])  # y rises with x
    if TAILS[datasets.entry(cell.dataset).split_scheme]:
        held_out = [range(16, 24), [*range(4), *range(20, 24)], range(8)]
    else:
        held_out = [range(4, 12), range(8, 16), range(12, 20)]
    scores = []
    for part in held_out:
        training = np.delete(y, part)
        scores.append(-norm(training.mean(), training.std()).logpdf(y[part]).mean())
    assert row["validation_nmll"] == pytest.approx(np.mean(scores), rel=1e-5)
