"""One cell from data to row: right numbers, honest failures, no look at the test part."""

import dataclasses
import errno
import itertools
import json
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import datasets
import methods
from bench import metrics
from bench.engine.convergence import gain_of
from bench.engine.minibatches import Schedule
from bench.engine.replica import Data, Fit
from bench.engine.seeds import seed_of
from bench.engine.stacked_training import train_stacked
from bench.engine.training_record import Trace, TrainingRecord
from bench.evaluation.prediction import largest_alike
from bench.evaluation.tuned import RECORDED_UPDATES
from bench.execution import run as run_module
from bench.execution.run import run
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.experiment.protocol import Protocol
from bench.experiment.tasks import task_of
from bench.results.record import CellResult
from bench.schema import CELLS, COSTS, METRICS, TRAINING
from bench.tuning.storing import StudyNotStored
from methods.map import MAP
from methods.maths.predictive import Normals
from methods.maths.search_spaces import OneOf

REGRESSION = {
    *("nmll", "nmll_moment", "nmll_standardised", "nmll_moment_standardised", "rmse", "rmse_standardised", "crps"),
    *(f"{name}_{level}" for name in ("coverage", "interval_score") for level in (50, 80, 90, 95)),
    *("pit_p_value", "aurc_squared_error", "augrc_squared_error"),
}
TINY = Protocol(epochs=3, batch_size=50, trials=3, folds=3, samples=20, validation_samples=10)


@pytest.fixture
def job(tmp_path):
    def make(method: str = "vifa", split: int = 0, **changes) -> Job:
        cell = Cell("uci", "diabetes", method, split, "tiny", TINY.changed(**changes), seed=0)
        return Job((cell,), (tmp_path / f"{method}-{split}.jsonl",), None)

    return make


def outcome_of(job: Job) -> CellResult:
    (outcome,) = run(job)
    return outcome


def side_by_side(*jobs: Job) -> Job:
    """One job of the cells of several."""
    return dataclasses.replace(
        jobs[0], cells=tuple(job.cells[0] for job in jobs), journals=tuple(job.journals[0] for job in jobs)
    )


def elsewhere(job: Job) -> Job:
    """The same cell with a journal of its own."""
    return dataclasses.replace(job, journals=(job.journals[0].with_name("elsewhere.jsonl"),))


def numbers(row: dict) -> dict:
    return {name: row.get(name) for name in (*METRICS, "validation_nmll", "hparams", "status", "n_parameters")}


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_a_row_is_complete_and_fits_the_schema(job, method):
    outcome = outcome_of(job(method))
    table = pa.Table.from_pylist([outcome.row], schema=CELLS)
    missing = [name for name in table.column_names if table[name].null_count]
    of_others = {"error", "error_class", "reference", "validation_w2_scaled", "sgd_ratio", "checked"}
    of_others |= {"log", "exclusive"}  # what the scheduler alone knows
    assert set(missing) == of_others | (set(METRICS) - REGRESSION)
    assert outcome.row["status"] == "ok"
    assert outcome.row["n_train"] + outcome.row["n_test"] == 442
    assert all(outcome.row[cost] > 0 for cost in COSTS if cost not in missing)
    assert json.loads(outcome.row["protocol"])["trials"] == 3
    assert json.loads(outcome.row["search_space"]).keys() == json.loads(outcome.row["hparams"]).keys()


def test_metrics_can_be_computed_again_from_the_stored_predictions(job):
    outcome = outcome_of(job())
    table = outcome.tables["predictions"]
    dataset = datasets.load("diabetes")
    np.testing.assert_array_equal(table["row"].to_numpy(), dataset.splits[0].test)
    np.testing.assert_array_equal(table["y"].to_numpy(), dataset.y[dataset.splits[0].test])
    samples = [torch.tensor(np.stack(table[name].to_numpy())).T for name in ("mean", "variance")]
    assert samples[0].shape == (20, outcome.row["n_test"])
    scale = dataset.y[dataset.splits[0].train].std()
    again = metrics.evaluate(Normals(*samples), torch.tensor(table["y"].to_numpy()), scale)
    assert set(again) == REGRESSION
    assert again == pytest.approx({name: outcome.row[name] for name in again}, rel=1e-5)
    assert table["nll"].to_numpy().mean() == pytest.approx(outcome.row["nmll"])


def test_running_again_gives_the_same_numbers_and_another_seed_others(job, tmp_path):
    first = outcome_of(job())
    (tmp_path / "vifa-0.jsonl").unlink()
    assert numbers(outcome_of(job()).row) == numbers(first.row)
    other = elsewhere(job())
    other = dataclasses.replace(other, cells=(dataclasses.replace(other.cells[0], seed=1),))
    assert numbers(outcome_of(other).row) != numbers(first.row)


def test_nothing_chosen_looks_at_the_test_part(job, monkeypatch):
    clean = outcome_of(job())
    original = datasets.load("diabetes")
    test = original.splits[0].test
    x, y = original.x.copy(), original.y.copy()
    x[test], y[test] = 1e9, -1e9
    poisoned = dataclasses.replace(original, x=x, y=y)
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: poisoned)
    row = outcome_of(elsewhere(job())).row
    for chosen in ("hparams", "validation_nmll", "n_trials", "n_trials_failed"):
        assert row[chosen] == clean.row[chosen]
    assert row["nmll"] > 1e6  # the poison was really there


def test_the_final_fit_never_saw_a_test_target(job, monkeypatch):
    clean = outcome_of(job("mfvi"))
    original = datasets.load("diabetes")
    y = original.y.copy()
    y[original.splits[0].test] = -1e9
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: dataclasses.replace(original, y=y))
    outcome = outcome_of(elsewhere(job("mfvi")))
    assert outcome.tables["predictions"]["mean"] == clean.tables["predictions"]["mean"]
    assert outcome.row["nmll"] > 1e6  # the poison was really there


def test_predictions_are_those_of_the_final_fit_at_the_test_rows(job):
    one = job("mfvi")
    outcome = outcome_of(one)
    dataset = datasets.load("diabetes")
    train, test = dataset.splits[0].train, dataset.splits[0].test
    fit = Fit(train, json.loads(outcome.row["hparams"]), seed_of(one.cells[0].fit_seed, "final"))
    stack = train_stacked(
        methods.get("mfvi"),
        task_of("uci", "diabetes"),
        Data.of(dataset.x, dataset.y),
        [fit],
        Schedule(len(train), TINY.batch_size, TINY.epochs, 1),
    )
    (wanted,) = stack.predict([test], TINY.samples)
    found = np.stack(outcome.tables["predictions"]["mean"].to_numpy()).T
    np.testing.assert_allclose(found, wanted.mean.numpy(), rtol=1e-6)


def test_training_diagnostics_are_stored_beside_the_row(job, monkeypatch):
    update = MAP.update

    def reporting(self, problem, state, *others):
        after, _ = update(self, problem, state, *others)
        return after, {"norm": state.weights.norm(), "zero": 0 * state.weights.sum()}

    monkeypatch.setattr(MAP, "update", lambda *arguments: update(*arguments)[0])
    silent = outcome_of(job("map"))
    monkeypatch.setattr(MAP, "update", reporting)
    job("map").journals[0].unlink()
    outcome = outcome_of(job("map"))
    assert numbers(outcome.row) == numbers(silent.row)
    assert "training" not in silent.tables
    table = outcome.tables["training"].to_pandas()
    assert outcome.tables["training"].schema == TRAINING
    train = datasets.load("diabetes").splits[0].train
    n_updates = Schedule(len(train), TINY.batch_size, TINY.epochs, 1).plan.n_updates
    record = TrainingRecord(n_updates, RECORDED_UPDATES, in_pairs=True)
    for _, rows in table.groupby("name"):
        assert rows["update"].tolist() == [update for update in range(1, n_updates + 1) if record.wants(update)]
    assert set(table["name"]) == {"norm", "zero"}
    assert (table["value"][table["name"] == "norm"] > 0).all()


def test_rows_say_whether_the_objective_had_settled(job):
    outcome = outcome_of(job("map"))
    said = json.loads(outcome.row["diagnostics"])
    table = outcome.tables["training"].to_pandas()
    traces = {name: Trace(rows["update"].to_numpy(), rows["value"].to_numpy()) for name, rows in table.groupby("name")}
    gain = gain_of(traces, table["update"].max(), len(datasets.load("diabetes").splits[0].train))
    assert (said["objective_gain"], said["objective_gain_stderr"]) == pytest.approx((gain.mean, gain.stderr))
    assert said["still_improving"] == gain.still_improving


def test_every_method_is_validated_on_the_same_folds(job, monkeypatch):
    seen = {}

    def scores(self, fits, validation, numbers):
        seen[self.method.name] = [tuple(part) for part in validation]
        return np.ones(len(fits))

    monkeypatch.setattr("bench.evaluation.tuned.TunedEvaluation._scores", scores)
    outcome_of(job("map"))
    outcome_of(job("mfvi"))
    assert seen["map"] == seen["mfvi"]


def test_every_trial_is_validated_on_the_rows_that_it_was_not_trained_on(job, monkeypatch):
    seen = []

    def scores(self, fits, validation, numbers):
        seen.extend(zip(fits, validation, strict=True))
        return np.arange(1.0, len(fits) + 1)

    monkeypatch.setattr("bench.evaluation.tuned.TunedEvaluation._scores", scores)
    outcome_of(job("map"))
    train = datasets.load("diabetes").splits[0].train
    assert len(seen) == 3 * 3
    for fit, validation in seen:
        np.testing.assert_array_equal(np.sort(np.concatenate([fit.rows, validation])), np.sort(train))
    for trial in range(3):
        folds = seen[3 * trial : 3 * trial + 3]
        np.testing.assert_array_equal(np.sort(np.concatenate([part for _, part in folds])), np.sort(train))
        assert len({tuple(fit.hparams.items()) for fit, _ in folds}) == 1
    assert len({fit.seed for fit, _ in seen}) == 9


def test_a_holdout_part_validates_and_is_never_trained_on(job, monkeypatch):
    seen = []

    def scores(self, fits, validation, numbers):
        seen.extend(zip(fits, validation, strict=True))
        return np.arange(1.0, len(fits) + 1)

    def watched(method, task, data, fits, *arguments, **others):
        seen.extend((fit, None) for fit in fits)
        return train_stacked(method, task, data, fits, *arguments, **others)

    monkeypatch.setattr("bench.evaluation.tuned.TunedEvaluation._scores", scores)
    monkeypatch.setattr("bench.evaluation.tuned.train_stacked", watched)
    row = outcome_of(job("map", folds=9, validation="holdout")).row
    train = datasets.load("diabetes").splits[0].train
    (final, _), validation = seen[-1], seen[0][1]
    assert len(seen) == 3 + 1
    assert row["n_train"] == len(final.rows) == 353  # of 442: 45 test, and 44 validate
    for fit, _ in seen:
        np.testing.assert_array_equal(fit.rows, final.rows)
    np.testing.assert_array_equal(np.sort(np.concatenate([final.rows, validation])), np.sort(train))


def test_a_grid_takes_no_more_trials_than_it_has_points(job, monkeypatch):
    etas = (0.1, 1.0)
    monkeypatch.setattr("methods.map.MAP.search_space", lambda *_: {"lr": OneOf(0.01), "prior_precision": OneOf(*etas)})
    row = outcome_of(job("map", sampler="grid", likelihood="heteroscedastic")).row
    assert (row["status"], row["n_trials"]) == ("ok", 2)


def test_tuning_trains_the_proxy_and_the_end_the_method(job, monkeypatch):
    trained = []

    def watched(method, *arguments, **others):
        trained.append(method.name)
        return train_stacked(method, *arguments, **others)

    monkeypatch.setattr("bench.evaluation.tuned.train_stacked", watched)
    monkeypatch.setattr("methods.mfvi.MeanFieldVI.proxy", lambda method: methods.get("map"))
    assert outcome_of(job("mfvi")).row["status"] == "ok"
    assert trained == ["map", "mfvi"]


def partition(sizes: list[int]) -> datasets.Dataset:
    """The set diabetes in splits whose test parts are disjoint and have these sizes."""
    original = datasets.load("diabetes")
    ends = np.cumsum([0, *sizes])
    tests = [np.arange(start, end) for start, end in itertools.pairwise(ends)]
    rows = np.arange(len(original.x))
    return dataclasses.replace(original, splits=[datasets.Split(np.setdiff1d(rows, test), test) for test in tests])


def test_a_k_fold_partition_trains_side_by_side(job, monkeypatch):
    thirds = partition([148, 147, 147])
    # 294, 295 and 295 training rows: with minibatches of 49, 6 or 7 updates to the epoch by each one's own.
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: thirds)
    jobs = [job("mfvi", split, batch_size=49) for split in range(3)]
    together = run(side_by_side(*jobs))
    for one, outcome in zip(jobs, together, strict=True):
        alone = outcome_of(elsewhere(one)).row
        assert (outcome.row["status"], outcome.row["hparams"]) == ("ok", alone["hparams"])
        assert outcome.row["validation_nmll"] == pytest.approx(alone["validation_nmll"], rel=1e-6)
        assert outcome.row["nmll"] == pytest.approx(alone["nmll"], rel=1e-6)
        one.journals[0].with_name("elsewhere.jsonl").unlink()


def test_splits_of_any_sizes_share_a_job(job, monkeypatch):
    # 302, 300, 297 and 249 training rows: the first three in one stack, the last by itself.
    uneven = partition([140, 142, 145, 15])
    uneven = dataclasses.replace(
        uneven, splits=[*uneven.splits[:3], datasets.Split(np.arange(249), np.arange(249, 442))]
    )
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: uneven)
    sizes = []

    def watched(method, task, data, fits, *arguments, **others):
        sizes.append(sorted(len(fit.rows) for fit in fits if others["n_recorded"]))
        return train_stacked(method, task, data, fits, *arguments, **others)

    monkeypatch.setattr("bench.evaluation.tuned.train_stacked", watched)
    jobs = [job("mfvi", split, batch_size=49) for split in range(4)]
    together = run(side_by_side(*jobs))
    assert [stack for stack in sizes if stack] == [[297, 300, 302], [249]]
    for one, outcome in zip(jobs, together, strict=True):
        alone = outcome_of(elsewhere(one)).row
        assert (outcome.row["status"], outcome.row["hparams"]) == ("ok", alone["hparams"])
        assert outcome.row["validation_nmll"] == pytest.approx(alone["validation_nmll"], rel=1e-6)
        assert outcome.row["nmll"] == pytest.approx(alone["nmll"], rel=1e-6)
        one.journals[0].with_name("elsewhere.jsonl").unlink()


def test_other_evaluations_need_equal_sizes(job, monkeypatch):
    uneven = partition([148, 146, 148])
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: uneven)
    monkeypatch.setattr("bench.evaluation.prediction.PredictionEvaluation.largest_fits", lambda *_: None)
    for outcome in run(side_by_side(job("map", 0), job("map", 1))):
        assert "splits of diabetes have 294, 296 training rows" in outcome.row["error"]


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [
        ([90, 90], {90: 90}),
        ([8, 7, 6], {8: 8, 7: 8, 6: 6}),
        ([200, 195, 190, 189, 180], {200: 200, 195: 200, 190: 200, 189: 189, 180: 189}),
    ],
)
def test_sizes_within_five_percent_train_together(sizes, largest):
    assert largest_alike(sizes) == largest


def test_a_single_point_to_search_takes_one_trial(job, monkeypatch):
    monkeypatch.setattr(
        "methods.map.MAP.search_space",
        lambda *_: {
            name: OneOf(value) for name, value in {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 3e-4}.items()
        },
    )
    row = outcome_of(job("map")).row
    assert (row["status"], row["n_trials"]) == ("ok", 1)


def test_a_resumed_study_is_not_tuned_again_and_ends_the_same(job, monkeypatch):
    first = outcome_of(job())
    monkeypatch.setattr("bench.evaluation.tuned.TunedEvaluation._scores", lambda *_: pytest.fail("tuned again"))
    assert numbers(outcome_of(job()).row) == numbers(first.row)


def test_a_failure_is_a_row_with_its_reason_and_what_was_known(job, monkeypatch):
    monkeypatch.setattr("bench.metrics.evaluate", lambda *_: 1 / np.zeros(0).item())
    row = outcome_of(job()).row
    assert row["status"] == "failed"
    assert "ValueError" in row["error"]
    assert row["error_class"] == "ValueError"
    assert row["hparams"]
    pa.Table.from_pylist([row], schema=CELLS)


@pytest.mark.parametrize(
    ("made", "got"),
    [
        (lambda found: Normals(found.mean.T, found.variance.T), r"a Normals of the shapes \((\d+), 1\), \(\1, 1\)$"),
        (lambda found: Normals(found.mean, found.variance[0]), r"a Normals of the shapes \(1, (\d+)\), \(\1,\)$"),
        (lambda found: found.mean, r"a Tensor of the shapes \(1, \d+\)$"),
        (lambda found: None, "a NoneType of no tensors$"),
    ],
)
def test_a_predictive_of_the_wrong_shape_is_told_with_the_right_one(job, monkeypatch, made, got):
    real = methods.get("map").__class__.predict
    monkeypatch.setattr("methods.map.MAP.predict", lambda *arguments: made(real(*arguments)))
    row = outcome_of(job("map")).row
    assert (row["status"], row["error_class"]) == ("failed", "TypeError")
    said = row["error"].strip().splitlines()[-1]
    assert re.search(r"map\.predict must return, for the (\d+) points .* the shape \(S, \1\), or .*\(S, \1, C\)", said)
    assert re.search(got, said)


def test_a_cell_whose_trials_all_diverge_is_a_row_too(job, monkeypatch):
    monkeypatch.setattr("bench.metrics.nmll", lambda *_: float("nan"))
    outcome = outcome_of(job("map"))
    assert outcome.row["status"] == "diverged"
    assert "all 3 trials diverged" in outcome.row["error"]
    assert outcome.row["error_class"] == "bench.tuning.tuner.Diverged"
    assert outcome.tables == {}
    pa.Table.from_pylist([outcome.row], schema=CELLS)


def test_error_ends_with_the_rule_that_a_method_breaks(job, monkeypatch):
    def update(self, problem, state, batch, noise, step):
        return state if state.weights.sum() > 0 else (state, {})

    monkeypatch.setattr(MAP, "update", update)
    error = outcome_of(job("map")).row["error"]
    assert "data-dependent control flow" in error or "reads the value" in error
    last = error.strip().splitlines()[-1]
    assert re.match(r"test_run.py, line \d+, `return state if .*`: it reads the value of a tensor", last), error


def test_a_missing_data_set_fails_the_cell_with_the_remedy(tmp_path):
    cell = Cell("uci", "yacht", "map", 0, "tiny", TINY, seed=0)
    row = outcome_of(Job((cell,), (tmp_path / "y.jsonl",), Path(tmp_path / "nothing"))).row
    assert row["status"] == "failed"
    assert "python -m datasets fetch yacht" in row["error"]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_progress_is_told_in_growing_fractions_up_to_one(job, monkeypatch, sampler):
    monkeypatch.setattr("bench.experiment.progress.REPORT_SECONDS", 0.0)
    told = []
    run(job("deep-ensemble", sampler=sampler, trials=12), on_progress=told.append)
    fractions = [one.done for one in told]
    assert fractions == sorted(fractions)
    assert fractions[0] > 0
    assert fractions[-1] == 1


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_cells_side_by_side_predict_the_bits_that_each_predicts_alone(job, method):
    """Which is what makes a run that was interrupted, and is packed otherwise, end with the same rows."""
    alone = []
    for split in (0, 1, 2):
        one = job(method, split)
        alone.append(outcome_of(one))
        one.journals[0].unlink()
    together = run(side_by_side(*(job(method, split) for split in (0, 1, 2))))
    for one, other in zip(alone, together, strict=True):
        assert one.row["hparams"] == other.row["hparams"]
        assert one.row["validation_nmll"] == pytest.approx(other.row["validation_nmll"], rel=1e-6)
        assert one.tables == other.tables


def test_a_failure_side_by_side_is_everybodys_with_what_was_known(job, monkeypatch):
    monkeypatch.setattr(metrics, "evaluate", lambda *_: 1 / 0)
    for outcome in run(side_by_side(job("map", 0), job("map", 1))):
        assert (outcome.row["status"], outcome.row["error_class"]) == ("failed", "ZeroDivisionError")
        assert outcome.row["hparams"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_disk_is_no_cells_fault(job, monkeypatch, number):
    def opened(journal, protocol):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("bench.tuning.tuner._opened", opened)
    with pytest.raises(OSError, match=os.strerror(number)):
        run(job("map"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_full_scratch_disk_fails_its_cell_alone(job, monkeypatch, number):
    one = job("map")

    def init(self, problem, noise):
        raise OSError(number, os.strerror(number), str(one.journals[0].parent / "scratch"))

    monkeypatch.setattr(MAP, "init", init)
    row = outcome_of(one).row
    assert row["status"] == "failed"
    assert os.strerror(number) in row["error"]


def test_full_disk_is_reported_with_its_file(job, monkeypatch):
    def store(self):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    one = job("map")
    monkeypatch.setattr("bench.tuning.journal.Journal.store", store)
    with pytest.raises(StudyNotStored) as raised:
        run(one)
    assert pickle.loads(pickle.dumps(raised.value)).filename == str(one.journals[0])


def test_a_study_that_may_not_be_written_is_no_cells_fault_but_another_file_is(job, monkeypatch):
    one = job("map")

    def raising(name: str):
        def opened(journal, protocol):
            raise PermissionError(errno.EACCES, "Permission denied", name)

        return opened

    monkeypatch.setattr("bench.tuning.tuner._opened", raising(str(one.journals[0])))
    with pytest.raises(StudyNotStored):
        run(one)
    monkeypatch.setattr("bench.tuning.tuner._opened", raising("/somewhere/else"))
    assert outcome_of(one).row["error_class"] == "bench.tuning.storing.StudyNotStored"


def test_a_classification_cell_with_ood_rows_is_complete(job):
    cell = dataclasses.replace(job().cells[0], dataset="digits-ood", method="map")
    outcome = outcome_of(dataclasses.replace(job(), cells=(cell,)))
    assert outcome.row["status"] == "ok", outcome.row["error"]
    dataset = datasets.load("digits-ood")
    table = outcome.tables["predictions"].to_pandas()
    assert (~table["ood"]).sum() == len(dataset.splits[0].test)
    assert table["ood"].sum() == len(dataset.ood) == outcome.row["n_ood"]
    assert table["y"].isna().equals(table["ood"])
    log_probs = np.stack(table["log_probs"]).reshape(len(table), -1, 5)  # MAP: one sample
    np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-5)
    chosen = log_probs[~table["ood"], 0].argmax(-1)
    assert (chosen == table["y"][~table["ood"]]).mean() == pytest.approx(outcome.row["accuracy"])
    assert 0.5 < outcome.row["ood_auroc"] <= 1
    pa.Table.from_pylist([outcome.row], schema=CELLS)


@pytest.mark.parametrize(
    ("limits", "updates"), [({"max_updates": 7}, 7), ({"max_updates": 7, "max_minibatches": 8}, 2)]
)
def test_a_budget_of_updates_does_not_ask_how_many_minibatches_each_takes(job, monkeypatch, limits, updates):
    seen = []

    def watched(method, task, data, fits, schedule, **others):
        seen.append(schedule.plan.n_updates)
        return train_stacked(method, task, data, fits, schedule, **others)

    monkeypatch.setattr("bench.evaluation.tuned.train_stacked", watched)
    assert outcome_of(job("vifa", epochs=50, **limits)).row["status"] == "ok"
    assert seen == [updates, updates]


def test_log_says_once_what_is_not_native(monkeypatch, capsys):
    monkeypatch.setattr(run_module, "UNAVAILABLE", {"mine": "operator aten.sort has no native form"})
    monkeypatch.setattr(run_module, "_SAID", set())
    run_module._say_what_is_not_native()
    run_module._say_what_is_not_native()
    assert capsys.readouterr().err == "mine is not trained natively: operator aten.sort has no native form\n"
