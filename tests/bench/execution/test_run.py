"""One cell from data to row: right numbers, no look at the test part."""

import dataclasses
import json
from collections import OrderedDict

import numpy as np
import pyarrow as pa
import pytest
import torch
from call_depth import MOST_FRAMES, depths_of_updates
from cell_runs import TINY, elsewhere, numbers, outcome_of, side_by_side

from lockstep_bench import datasets, methods
from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine import native_training
from lockstep_bench.bench.engine.convergence import gain_of
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.training_record import Trace, TrainingRecord
from lockstep_bench.bench.evaluation.tuned import RECORDED_UPDATES
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.tasks import task_of
from lockstep_bench.bench.native import loop
from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.methods.vifa import VIFA
from lockstep_bench.shared.columns import CELLS, METRICS
from lockstep_bench.shared.schema import COSTS, TRAINING
from lockstep_bench.shared.seeds import seed_of

REGRESSION = {
    *("nmll", "nmll_moment", "nmll_standardised", "nmll_moment_standardised", "rmse", "rmse_standardised", "crps"),
    *(f"{name}_{level}" for name in ("coverage", "interval_score") for level in (50, 80, 90, 95)),
    *("pit_p_value", "aurc_squared_error", "augrc_squared_error"),
}
JOINT = {"nmll_joint_10", "nmll_dyadic", "energy_score"}


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_result_row_is_complete_and_fits_the_schema(job, method):
    outcome = outcome_of(job(method))
    table = pa.Table.from_pylist([outcome.row], schema=CELLS)
    missing = [name for name in table.column_names if table[name].null_count]
    of_others = {"error", "error_class", "reference", "validation_w2_scaled", "sgd_ratio", "checked"}
    of_others |= {"log", "exclusive"}  # what only the scheduler knows
    assert set(missing) == of_others | (set(METRICS) - REGRESSION - JOINT)
    assert outcome.row["status"] == "ok"
    assert outcome.row["n_train"] + outcome.row["n_test"] == 442
    assert all(outcome.row[cost] > 0 for cost in COSTS if cost not in missing)
    assert json.loads(outcome.row["protocol"])["trials"] == 3
    assert json.loads(outcome.row["search_space"]).keys() == json.loads(outcome.row["hparams"]).keys()


def test_metrics_can_be_recomputed_from_stored_predictions(job):
    outcome = outcome_of(job())
    table = outcome.tables["predictions"]
    dataset = datasets.load("diabetes")
    np.testing.assert_array_equal(table["row"].to_numpy(), dataset.splits[0].test)
    np.testing.assert_array_equal(table["y"].to_numpy(), dataset.y[dataset.splits[0].test])
    samples = [torch.tensor(np.stack(table[name].to_numpy())).T for name in ("mean", "variance")]
    assert samples[0].shape == (20, outcome.row["n_test"])
    scale = dataset.y[dataset.splits[0].train].std()
    again, joint = (
        score(Normals(*samples), torch.tensor(table["y"].to_numpy()), scale)
        for score in (metrics.evaluate, metrics.evaluate_joint)
    )
    assert (set(again), set(joint)) == (REGRESSION, JOINT)
    again |= joint
    assert again == pytest.approx({name: outcome.row[name] for name in again}, rel=1e-5)
    assert table["nll"].to_numpy().mean() == pytest.approx(outcome.row["nmll"])


def test_results_are_reproducible_and_depend_on_the_seed(job, tmp_path):
    first = outcome_of(job())
    (tmp_path / "vifa-0.json").unlink()
    assert numbers(outcome_of(job()).row) == numbers(first.row)
    other = elsewhere(job())
    other = dataclasses.replace(other, cells=(dataclasses.replace(other.cells[0], seed=1),))
    assert numbers(outcome_of(other).row) != numbers(first.row)


def test_chosen_hparams_do_not_depend_on_test_rows(job, monkeypatch):
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


def test_final_fit_never_uses_test_targets(job, monkeypatch):
    clean = outcome_of(job("mfvi"))
    original = datasets.load("diabetes")
    y = original.y.copy()
    y[original.splits[0].test] = -1e9
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: dataclasses.replace(original, y=y))
    outcome = outcome_of(elsewhere(job("mfvi")))
    assert outcome.tables["predictions"]["mean"] == clean.tables["predictions"]["mean"]
    assert outcome.row["nmll"] > 1e6  # the poison was really there


def test_stored_predictions_are_the_final_fits_at_test_rows(job):
    one = job("mfvi")
    outcome = outcome_of(one)
    dataset = datasets.load("diabetes")
    train, test = dataset.splits[0].train, dataset.splits[0].test
    fit = Fit(train, json.loads(outcome.row["hparams"]), seed_of(one.cells[0].seeded.fit_seed, "final"))
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


def test_rows_record_convergence_of_the_objective(job):
    outcome = outcome_of(job("map"))
    said = json.loads(outcome.row["diagnostics"])
    table = outcome.tables["training"].to_pandas()
    traces = {name: Trace(rows["update"].to_numpy(), rows["value"].to_numpy()) for name, rows in table.groupby("name")}
    gain = gain_of(traces, table["update"].max(), len(datasets.load("diabetes").splits[0].train))
    assert (said["objective_gain"], said["objective_gain_stderr"]) == pytest.approx((gain.mean, gain.stderr))
    assert said["still_improving"] == gain.still_improving


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_reported_progress_of_a_run_grows_to_one(job, monkeypatch, sampler):
    monkeypatch.setattr("lockstep_bench.bench.experiment.progress.REPORT_SECONDS", 0.0)
    told = []
    run(job("deep-ensemble", sampler=sampler, trials=12), on_progress=told.append)
    fractions = [one.done for one in told]
    assert fractions == sorted(fractions)
    assert fractions[0] > 0
    assert fractions[-1] == 1


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_cells_trained_together_predict_identically_to_alone(job, method):
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


def test_classification_result_with_ood_rows_is_complete(job):
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


def test_log_states_why_fits_are_not_compiled(job, monkeypatch, capsys):
    """Reasons are those of each job anew; earlier jobs do not count."""

    def refuse(*arguments):
        raise NoCompiler("the cache of compiled loops is full")

    monkeypatch.setattr(native_training, "MIN_UPDATES", 1)
    monkeypatch.setattr(loop, "compiled", refuse)
    monkeypatch.setattr(native_training, "_LOOPS", OrderedDict())
    for split in (0, 1):
        result = outcome_of(job("map", split))
        assert (result.status, result.row["execution"]) == ("ok", "captured")
        assert result.row["log"] == "not trained natively: the cache of compiled loops is full"
        assert capsys.readouterr().err == result.row["log"] + "\n"
    monkeypatch.setattr(native_training, "MIN_UPDATES", 10_000)
    assert outcome_of(job("map", 2)).row["log"] is None


@pytest.mark.parametrize(("max_phases", "epochs", "execution"), [(0, 2, "eager"), (32, 150, "native")])
def test_call_stack_from_job_to_update_is_short(job, monkeypatch, max_phases, epochs, execution):
    monkeypatch.setattr("lockstep_bench.bench.engine.stacked_training.MAX_PHASES", max_phases)
    depths = depths_of_updates(VIFA, monkeypatch)
    assert outcome_of(job("vifa", trials=1, epochs=epochs)).row["execution"] == execution
    assert max(depths) <= MOST_FRAMES
