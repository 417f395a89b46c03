"""One cell from data to row: right numbers, honest failures, no look at the test part."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import datasets
import methods
from bench import metrics
from bench.cells import Cell
from bench.minibatches import Schedule
from bench.protocol import Protocol
from bench.row import Data, Fit
from bench.schema import CELLS, COSTS, METRICS
from bench.seeds import seed_of
from bench.stack import Stack
from bench.worker import Job, run, task_of
from methods.predictive import Normals

TINY = Protocol(epochs=3, batch_size=50, trials=3, folds=3, samples=20, validation_samples=10)


@pytest.fixture
def job(tmp_path):
    def make(method: str = "vifa", split: int = 0, **changes) -> Job:
        cell = Cell("uci", "diabetes", method, split, "tiny", TINY.changed(**changes), seed=0)
        return Job(cell, tmp_path / f"{method}-{split}.jsonl", None, "cpu")

    return make


def numbers(row: dict) -> dict:
    return {name: row[name] for name in (*METRICS, "validation_nmll", "hparams", "status", "n_parameters")}


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_a_row_is_complete_and_fits_the_schema(job, method):
    outcome = run(job(method))
    table = pa.Table.from_pylist([outcome.row], schema=CELLS)
    missing = [name for name in table.column_names if table[name].null_count]
    assert missing == ["error"]
    assert outcome.row["status"] == "ok"
    assert outcome.row["n_train"] + outcome.row["n_test"] == 442
    assert all(outcome.row[cost] > 0 for cost in COSTS)
    assert json.loads(outcome.row["protocol"])["trials"] == 3


def test_metrics_can_be_computed_again_from_the_stored_predictions(job):
    outcome = run(job())
    table = outcome.predictions
    dataset = datasets.load("diabetes")
    np.testing.assert_array_equal(table["row"].to_numpy(), dataset.splits[0].test)
    np.testing.assert_array_equal(table["y"].to_numpy(), dataset.y[dataset.splits[0].test])
    samples = [torch.tensor(np.stack(table[name].to_numpy())).T for name in ("mean", "variance")]
    assert samples[0].shape == (20, outcome.row["n_test"])
    scale = dataset.y[dataset.splits[0].train].std()
    again = metrics.evaluate(Normals(*samples), torch.tensor(table["y"].to_numpy()), scale)
    assert again == pytest.approx({name: outcome.row[name] for name in METRICS}, rel=1e-5)
    assert table["nll"].to_numpy().mean() == pytest.approx(outcome.row["nmll"])


def test_running_again_gives_the_same_numbers_and_another_seed_others(job, tmp_path):
    first = run(job())
    (tmp_path / "vifa-0.jsonl").unlink()
    assert numbers(run(job()).row) == numbers(first.row)
    other = job()
    other = dataclasses.replace(
        other, cell=dataclasses.replace(other.cell, seed=1), journal=other.journal.with_name("other.jsonl")
    )
    assert numbers(run(other).row) != numbers(first.row)


def test_nothing_chosen_looks_at_the_test_part(job, monkeypatch):
    clean = run(job())
    original = datasets.load("diabetes")
    test = original.splits[0].test
    x, y = original.x.copy(), original.y.copy()
    x[test], y[test] = 1e9, -1e9
    poisoned = dataclasses.replace(original, x=x, y=y)
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: poisoned)
    again = job()
    again = dataclasses.replace(again, journal=again.journal.with_name("poisoned.jsonl"))
    row = run(again).row
    for chosen in ("hparams", "validation_nmll", "n_trials", "n_trials_failed"):
        assert row[chosen] == clean.row[chosen]
    assert row["nmll"] > 1e6  # the poison was really there


def test_the_final_fit_never_saw_a_test_target(job, monkeypatch):
    clean = run(job("mfvi"))
    original = datasets.load("diabetes")
    y = original.y.copy()
    y[original.splits[0].test] = -1e9
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: dataclasses.replace(original, y=y))
    again = job("mfvi")
    again = dataclasses.replace(again, journal=again.journal.with_name("poisoned.jsonl"))
    outcome = run(again)
    assert outcome.predictions["mean"] == clean.predictions["mean"]
    assert outcome.row["nmll"] > 1e6  # the poison was really there


def test_predictions_are_those_of_the_final_fit_at_the_test_rows(job):
    one = job("mfvi")
    outcome = run(one)
    dataset = datasets.load("diabetes")
    train, test = dataset.splits[0].train, dataset.splits[0].test
    fit = Fit(train, json.loads(outcome.row["hparams"]), seed_of(one.cell.fit_seed, "final"))
    stack = Stack(
        methods.get("mfvi"),
        task_of("uci", "diabetes"),
        Data.of(dataset.x, dataset.y),
        [fit],
        Schedule(len(train), TINY.batch_size, TINY.epochs, 1),
    )
    (wanted,) = stack.predict([test], TINY.samples)
    found = np.stack(outcome.predictions["mean"].to_numpy()).T
    np.testing.assert_allclose(found, wanted.mean.numpy(), rtol=1e-6)


def test_every_method_is_validated_on_the_same_folds(job, monkeypatch):
    seen = {}

    def scores(self, fits, validation, largest):
        seen[self.cell.method] = [tuple(part) for part in validation]
        return np.ones(len(fits))

    monkeypatch.setattr("bench.worker._CellRun._scores", scores)
    run(job("map"))
    run(job("mfvi"))
    assert seen["map"] == seen["mfvi"]


def test_every_trial_is_validated_on_the_rows_that_it_was_not_trained_on(job, monkeypatch):
    seen = []

    def scores(self, fits, validation, largest):
        seen.extend(zip(fits, validation, strict=True))
        assert largest == max(len(fit.rows) for fit in fits)
        return np.arange(1.0, len(fits) + 1)

    monkeypatch.setattr("bench.worker._CellRun._scores", scores)
    run(job("map"))
    train = datasets.load("diabetes").splits[0].train
    assert len(seen) == 3 * 3
    for fit, validation in seen:
        np.testing.assert_array_equal(np.sort(np.concatenate([fit.rows, validation])), np.sort(train))
    for trial in range(3):
        folds = seen[3 * trial : 3 * trial + 3]
        np.testing.assert_array_equal(np.sort(np.concatenate([part for _, part in folds])), np.sort(train))
        assert len({tuple(fit.hparams.items()) for fit, _ in folds}) == 1
    assert len({fit.seed for fit, _ in seen}) == 9


def test_a_resumed_study_is_not_tuned_again_and_ends_the_same(job, monkeypatch):
    first = run(job())
    monkeypatch.setattr("bench.worker._CellRun._scores", lambda *_: pytest.fail("tuned again"))
    assert numbers(run(job()).row) == numbers(first.row)


def test_a_failure_is_a_row_with_its_reason_and_what_was_known(job, monkeypatch):
    monkeypatch.setattr("bench.metrics.evaluate", lambda *_: 1 / np.zeros(0).item())
    row = run(job()).row
    assert row["status"] == "failed"
    assert "ValueError" in row["error"]
    assert row["hparams"]
    pa.Table.from_pylist([row], schema=CELLS)


def test_a_cell_whose_trials_all_diverge_is_a_row_too(job, monkeypatch):
    monkeypatch.setattr("bench.metrics.nmll", lambda *_: float("nan"))
    outcome = run(job("map"))
    assert outcome.row["status"] == "diverged"
    assert "all 3 trials diverged" in outcome.row["error"]
    assert outcome.predictions is None
    pa.Table.from_pylist([outcome.row], schema=CELLS)


def test_a_missing_data_set_fails_the_cell_with_the_remedy(tmp_path):
    cell = Cell("uci", "yacht", "map", 0, "tiny", TINY, seed=0)
    row = run(Job(cell, tmp_path / "y.jsonl", Path(tmp_path / "nothing"), "cpu")).row
    assert row["status"] == "failed"
    assert "python -m datasets fetch yacht" in row["error"]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_progress_is_told_in_growing_fractions_up_to_one(job, monkeypatch, sampler):
    monkeypatch.setattr("bench.worker.TELL_SECONDS", 0.0)
    told = []
    run(job("deep-ensemble", sampler=sampler, trials=12), tell=told.append)
    assert told == sorted(told)
    assert told[0] > 0
    assert told[-1] == 1
