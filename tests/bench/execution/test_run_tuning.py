"""Data that a cell is tuned on: folds, holdout parts, splits of any sizes, budgets."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from cell_runs import elsewhere, numbers, outcome_of, side_by_side

from lockstep_bench import datasets, methods
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.prediction import largest_alike
from lockstep_bench.bench.evaluation.tuned import require_equal_sizes
from lockstep_bench.bench.evaluation.tuning.tuner import Score
from lockstep_bench.bench.execution.run import run
from lockstep_bench.methods.maths.search_spaces import OneOf


def test_all_methods_are_validated_on_the_same_folds(job, monkeypatch):
    seen = {}

    def scores(self, fits, scored_on):
        seen[fits.method.name] = [tuple(part) for part in scored_on]
        return [Score(1.0)] * len(scored_on)

    monkeypatch.setattr("lockstep_bench.bench.evaluation.prediction.PredictionScorer.trials", scores)
    outcome_of(job("map"))
    outcome_of(job("mfvi"))
    assert seen["map"] == seen["mfvi"]


def test_trials_are_validated_on_held_out_rows(job, monkeypatch):
    seen = []

    def scores(self, trained, validation):
        seen.extend(zip(trained.fits, validation, strict=True))
        return [Score(float(place)) for place in range(1, len(validation) + 1)]

    monkeypatch.setattr("lockstep_bench.bench.evaluation.prediction.PredictionScorer.trials", scores)
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


def test_holdout_rows_validate_and_are_never_trained_on(job, monkeypatch):
    seen = []

    def scores(self, trained, validation):
        seen.extend(zip(trained.fits, validation, strict=True))
        return [Score(float(place)) for place in range(1, len(validation) + 1)]

    def watched(method, task, data, fits, *arguments, **others):
        seen.extend((fit, None) for fit in fits if others["n_recorded"])
        return train_stacked(method, task, data, fits, *arguments, **others)

    monkeypatch.setattr("lockstep_bench.bench.evaluation.prediction.PredictionScorer.trials", scores)
    monkeypatch.setattr("lockstep_bench.bench.evaluation.trainer.train_stacked", watched)
    row = outcome_of(job("map", folds=9, validation="holdout")).row
    train = datasets.load("diabetes").splits[0].train
    (final, _), validation = seen[-1], seen[0][1]
    assert len(seen) == 3 + 1
    assert row["n_train"] == len(final.rows) == 353  # of 442: 45 test, and 44 validate
    for fit, _ in seen:
        np.testing.assert_array_equal(fit.rows, final.rows)
    np.testing.assert_array_equal(np.sort(np.concatenate([final.rows, validation])), np.sort(train))


def test_grid_search_has_at_most_one_trial_per_point(job, monkeypatch):
    etas = (0.1, 1.0)
    monkeypatch.setattr(
        "lockstep_bench.methods.map.MAP.search_space", lambda *_: {"lr": OneOf(0.01), "prior_precision": OneOf(*etas)}
    )
    row = outcome_of(job("map", sampler="grid", likelihood="heteroscedastic")).row
    assert (row["status"], row["n_trials"]) == ("ok", 2)


def test_tuning_trains_the_proxy_method_not_the_final(job, monkeypatch):
    trained = []

    def watched(method, *arguments, **others):
        trained.append(method.name)
        return train_stacked(method, *arguments, **others)

    monkeypatch.setattr("lockstep_bench.bench.evaluation.trainer.train_stacked", watched)
    monkeypatch.setattr("lockstep_bench.methods.mfvi.MeanFieldVI.proxy", lambda method: methods.get("map"))
    assert outcome_of(job("mfvi")).row["status"] == "ok"
    assert trained == ["map", "mfvi"]


def partition(sizes: list[int]) -> datasets.Dataset:
    """The set diabetes in splits whose test parts are disjoint and have these sizes."""
    original = datasets.load("diabetes")
    ends = np.cumsum([0, *sizes])
    tests = [np.arange(start, end) for start, end in itertools.pairwise(ends)]
    rows = np.arange(len(original.x))
    return dataclasses.replace(original, splits=[datasets.Split(np.setdiff1d(rows, test), test) for test in tests])


def assert_each_equals_its_job_alone(together, jobs):
    for one, outcome in zip(jobs, together, strict=True):
        alone = outcome_of(elsewhere(one)).row
        assert (outcome.row["status"], outcome.row["hparams"]) == ("ok", alone["hparams"])
        assert outcome.row["validation_nmll"] == pytest.approx(alone["validation_nmll"], rel=1e-6)
        assert outcome.row["nmll"] == pytest.approx(alone["nmll"], rel=1e-6)
        one.journals[0].with_name("elsewhere.json").unlink()


def test_splits_of_a_k_fold_partition_train_together(job, monkeypatch):
    thirds = partition([148, 147, 147])
    # 294, 295 and 295 training rows: with minibatches of 49, 6 or 7 updates to the epoch by each one's own.
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: thirds)
    jobs = [job("mfvi", split, batch_size=49) for split in range(3)]
    together = run(side_by_side(*jobs))
    assert_each_equals_its_job_alone(together, jobs)


def test_splits_of_different_sizes_share_a_job(job, monkeypatch):
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

    monkeypatch.setattr("lockstep_bench.bench.evaluation.trainer.train_stacked", watched)
    jobs = [job("mfvi", split, batch_size=49) for split in range(4)]
    together = run(side_by_side(*jobs))
    assert [stack for stack in sizes if stack] == [[297, 300, 302], [249]]
    assert_each_equals_its_job_alone(together, jobs)


def test_other_evaluations_require_splits_of_equal_size(job, monkeypatch):
    uneven = partition([148, 146, 148])
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: uneven)
    assignment = Assignment.of(side_by_side(job("map", 0), job("map", 1)), torch.device("cpu"))
    with pytest.raises(ValueError, match="splits of diabetes have 294, 296 training rows"):
        require_equal_sizes(assignment)


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [
        ([90, 90], {90: 90}),
        ([8, 7, 6], {8: 8, 7: 8, 6: 6}),
        ([200, 195, 190, 189, 180], {200: 200, 195: 200, 190: 200, 189: 189, 180: 189}),
    ],
)
def test_splits_within_five_percent_in_size_share_a_stack(sizes, largest):
    assert largest_alike(sizes) == largest


def test_single_point_search_space_takes_one_trial(job, monkeypatch):
    monkeypatch.setattr(
        "lockstep_bench.methods.map.MAP.search_space",
        lambda *_: {
            name: OneOf(value) for name, value in {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 3e-4}.items()
        },
    )
    row = outcome_of(job("map")).row
    assert (row["status"], row["n_trials"]) == ("ok", 1)


def test_resumed_tuning_study_gives_the_same_trials(job, monkeypatch):
    first = outcome_of(job())
    monkeypatch.setattr(
        "lockstep_bench.bench.evaluation.prediction.PredictionScorer.trials", lambda *_: pytest.fail("tuned again")
    )
    assert numbers(outcome_of(job()).row) == numbers(first.row)


@pytest.mark.parametrize(
    ("limits", "updates"), [({"max_updates": 7}, 7), ({"max_updates": 7, "max_minibatches": 8}, 2)]
)
def test_limit_of_updates_ignores_minibatches_per_update(job, monkeypatch, limits, updates):
    seen = []

    def watched(method, task, data, fits, schedule, **others):
        seen.append(schedule.plan.n_updates)
        return train_stacked(method, task, data, fits, schedule, **others)

    monkeypatch.setattr("lockstep_bench.bench.evaluation.trainer.train_stacked", watched)
    assert outcome_of(job("vifa", epochs=50, **limits)).row["status"] == "ok"
    assert seen == [updates, updates]
