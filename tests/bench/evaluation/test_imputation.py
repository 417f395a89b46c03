"""Missing values are filled by the medians of a fit's own training rows, and by nothing else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation.imputation import Imputed
from lockstep_bench.bench.evaluation.prediction import PredictionRows, evaluation_of, prepared_fits
from lockstep_bench.bench.evaluation.tuned import PreparedFits, TunedEvaluation
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import ProgressReporter
from lockstep_bench.shared.protocol import Protocol

PROTOCOL = Protocol(trials=2, folds=3, epochs=2)
NAN = np.nan


def test_each_fit_imputes_its_own_training_medians():
    x = np.array([[1.0, NAN], [3.0, 10.0], [NAN, 20.0], [8.0, 40.0]])
    parts = [np.array([0, 1]), np.array([1, 3])]
    imputed = Imputed(x, 1, parts)
    filled, y = imputed.appended(np.concatenate([x, [[-1.0, -1.0]]]), np.arange(5.0))
    for part, medians in zip(parts, ([2.0, 10.0], [5.5, 25.0]), strict=True):
        rows = imputed.rows(np.arange(4), part)
        np.testing.assert_array_equal(filled[rows], np.where(np.isnan(x), medians, x))
        np.testing.assert_array_equal(y[rows], [0, 1, 2, 3])


def test_column_missing_in_all_training_rows_becomes_zero():
    x = np.array([[NAN, 1.0], [NAN, 2.0], [5.0, 3.0]])
    part = np.array([0, 1])
    imputed = Imputed(x, 0, [part])
    filled, _ = imputed.appended(x, np.zeros(3))
    assert filled[imputed.rows(np.arange(3), part)].tolist() == [[0, 1], [0, 2], [5, 3]]


@pytest.fixture
def evaluation(tmp_path):
    """`evaluation(frame)`: the evaluation of two splits of a table with missing numbers."""

    def make(frame: pd.DataFrame) -> TunedEvaluation:
        path = tmp_path / "houses.csv"
        frame.to_csv(path, index=False)
        table, _ = datasets.describe(path, "price", impute="median")
        cells = [Cell("own", "houses", "map", split, "quick", PROTOCOL, 0) for split in (0, 1)]
        job = Job(tuple(cells), (tmp_path / "a", tmp_path / "b"), None)
        source = table.source()
        x, y, splits = source.read({})
        return evaluation_of(
            job, torch.device("cpu"), lambda progress: None, (source, datasets.Dataset("houses", x, y, splits))
        )

    return make


@pytest.fixture
def frame():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(60, 3)), columns=["a", "b", "price"])
    return frame.mask(generator.uniform(size=frame.shape) < [0.3, 0.1, 0.0])


def rows_and_work(made: TunedEvaluation) -> tuple[PredictionRows, PreparedFits]:
    rows = PredictionRows(made.assignment)
    return rows, prepared_fits(made.assignment, rows, ProgressReporter(1, lambda progress: None))


def test_fits_see_only_imputed_values(evaluation, frame):
    made = evaluation(frame)
    rows, work = rows_and_work(made)
    x = frame[["a", "b"]].to_numpy()
    for number, split in enumerate(made.assignment.splits):
        fits = [(work.splits[number].final({}), split.train)]
        folds = [training for training, _ in rows.folds[number]]
        fits += zip(work.splits[number].trial(0, {}), folds, strict=True)
        for fit, training in fits:
            expected = np.where(np.isnan(x[training]), np.nanmedian(x[training], axis=0), x[training])
            np.testing.assert_array_equal(rows.data.x.numpy()[fit.rows], expected)


def test_fit_does_not_depend_on_test_rows(evaluation, frame):
    made = evaluation(frame)
    test = made.assignment.splits[0].test
    changed = frame.copy()
    changed.loc[test, ["a", "b"]] *= 100
    trained = []
    for each in (made, evaluation(changed)):
        rows, work = rows_and_work(each)
        assert work.splits[0].final({}).rows.shape == (54,)
        trained.append(rows.data.x[work.splits[0].final({}).rows])
    assert torch.equal(*trained)


def test_all_trials_share_a_folds_imputed_rows(evaluation, frame):
    _, work = rows_and_work(evaluation(frame))
    first, second = (work.splits[0].trial(trial, {}) for trial in (0, 1))
    assert all(fit.rows is other.rows for fit, other in zip(first, second, strict=True))


def test_imputed_cells_are_scored_on_the_original_rows(evaluation, frame):
    *_, outcomes = evaluation(frame).run()
    made = evaluation(frame)
    for outcome, split in zip(outcomes, made.assignment.splits, strict=True):
        assert outcome.status == "ok", outcome.error
        predictions = outcome.tables["predictions"].to_pandas()
        assert predictions["row"].tolist() == split.test.tolist()
        np.testing.assert_allclose(predictions["y"], frame["price"][split.test])
    assert replace(outcomes[0].data, split_sha256="").n_train == 54
