"""Nothing of the test rows of a user's table reaches tuning or training: no target, no scale and no text."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation.prediction import evaluation_of
from lockstep_bench.bench.evaluation.tuned import TunedEvaluation
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import ProgressReporter
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.studies import read_study

PROTOCOL = Protocol(trials=3, folds=2, epochs=5)
TEST = range(48, 60)  # rows of the only split's test part
Evaluations = Callable[..., TunedEvaluation]


@pytest.fixture
def frame() -> pd.DataFrame:
    """Numbers area and price, and texts city (three) and heated (two), in 60 rows."""
    generator = np.random.default_rng(0)
    texts = {"city": np.resize(["Bern", "Oslo", "Rome"], 60), "heated": np.resize(["yes", "no", "no"], 60)}
    frame = pd.DataFrame({"area": generator.uniform(30, 200, 60), **texts})
    return frame.assign(price=2 * frame["area"] + generator.normal(size=60))


@pytest.fixture
def evaluation(tmp_path) -> Evaluations:
    """`evaluation(frame, splits, method, numbers)`: that of a table on the chosen splits of a table of splits."""

    def evaluation(
        frame: pd.DataFrame,
        splits: pd.DataFrame | None = None,
        method: str = "map",
        numbers: tuple[int, ...] | None = None,
    ) -> TunedEvaluation:
        path, splits_file = tmp_path / "houses.csv", tmp_path / "splits.csv"
        frame.to_csv(path, index=False)
        if splits is None:
            splits = pd.DataFrame({"one": np.where(np.isin(range(len(frame)), TEST), "test", "train")})
        splits.to_csv(splits_file, index=False)
        table, _ = datasets.describe(path, "price", splits_file=splits_file)
        cells = [
            Cell("own", "houses", method, number, "quick", PROTOCOL, 0) for number in numbers or range(splits.shape[1])
        ]
        journals = [tmp_path / f"{number}.json" for number in range(len(cells))]
        for journal in journals:
            journal.unlink(missing_ok=True)
        source = table.source()
        loaded = source, datasets.Dataset("houses", *source.read({}))
        return evaluation_of(
            Job(tuple(cells), tuple(journals), None), torch.device("cpu"), lambda progress: None, loaded
        )

    return evaluation


def trained(made: TunedEvaluation) -> tuple[list[Outcome], list[list[tuple[dict[str, float], float | None]]]]:
    """Return the outcomes of an evaluation, and the hyper-parameters and the score of every trial of each cell."""
    *_, outcomes = made.run()
    trials = [[(trial.params, trial.value) for trial in read_study(journal).trials] for journal in made.job.journals]
    return outcomes, trials


def weights(made: TunedEvaluation, outcome: Outcome) -> list[torch.Tensor]:
    """Return the tensors of the first cell's final fit."""
    hparams = json.loads(outcome.tuning.hparams)
    work = made.prepare(ProgressReporter(1, lambda progress: None))
    (split, *_), trainer = work.splits, work.trainer
    posterior = trainer.train(trainer.method, split, [split.final(hparams)], split.largest.final).posterior
    return [leaf for leaf in torch.utils._pytree.tree_leaves(posterior) if isinstance(leaf, torch.Tensor)]


def other_targets(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(price=frame["price"].where(~frame.index.isin(TEST), 7.5 - frame["price"]))


def other_scale(frame: pd.DataFrame) -> pd.DataFrame:
    changed = frame.copy()
    changed.loc[[*TEST], ["area", "price"]] *= 1e4
    return changed


def new_text(frame: pd.DataFrame) -> pd.DataFrame:
    changed = frame.copy()
    changed.loc[[48, 51], "city"] = "Aarau", "Zug"
    return changed


def third_of_two_texts(frame: pd.DataFrame) -> pd.DataFrame:
    changed = frame.copy()
    changed.loc[51, "heated"] = "maybe"
    return changed


def text_of_all(frame: pd.DataFrame) -> pd.DataFrame:
    changed = other_scale(frame)
    changed.loc[[*TEST], "heated"] = "a bit"
    changed.loc[[*TEST], "city"] = "Paris"
    return changed


def constant_in_training(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(heated=["no"] * 60)


@pytest.mark.parametrize("method", ["map", "mfvi"])
def test_test_rows_do_not_affect_tuning_or_training(frame, evaluation, method):
    made = evaluation(frame, method=method)
    (outcome,), trials = trained(made)
    before = weights(made, outcome)
    assert outcome.status == "ok", outcome.error
    for change in (other_targets, other_scale, new_text, third_of_two_texts, text_of_all):
        other = evaluation(change(frame), method=method)
        (changed,), other_trials = trained(other)
        assert changed.status == "ok", (change, changed.error)
        assert other_trials == trials, change
        assert changed.tuning.hparams == outcome.tuning.hparams, change
        assert changed.tuning.validation_nmll == outcome.tuning.validation_nmll, change
        assert changed.search_space == outcome.search_space, change
        assert all(torch.equal(*pair) for pair in zip(before, weights(other, changed), strict=True)), change
        assert changed.metrics != outcome.metrics, change


def test_category_unseen_in_training_changes_nothing(frame, evaluation):
    frame = constant_in_training(frame)
    changed = frame.copy()
    changed.loc[50, "heated"] = "yes"
    results = [trained(evaluation(each)) for each in (frame, changed)]
    assert results[0][1] == results[1][1]
    assert results[0][0][0].metrics == results[1][0][0].metrics  # "yes" is as no text at all


def test_splits_with_different_inputs_equal_separate_runs(frame, evaluation):
    """A stack has networks of one size, so that splits with fewer texts train in another stack."""
    frame.loc[[3, 4], "city"] = "Zug"
    splits = pd.DataFrame({name: ["train"] * 60 for name in ("all", "without", "all too")})
    splits.loc[[*TEST], :] = "test"
    splits.loc[[3, 4], "without"] = "test"
    made = evaluation(frame, splits)
    assert [None if split.inputs is None else split.inputs.tolist() for split in made.assignment.splits] == [
        None,
        [0, 1, 2, 3, 5],
        None,
    ]
    together, trials = trained(made)
    assert [outcome.status for outcome in together] == ["ok"] * 3
    assert [outcome.fit.n_weights for outcome in together] == [401, 351, 401]
    for number in range(3):
        (alone,), trials_alone = trained(evaluation(frame, splits, numbers=(number,)))
        assert trials_alone[0] == trials[number]
        assert alone.metrics == pytest.approx(together[number].metrics)


def test_each_split_searches_the_range_of_its_training_targets(frame, evaluation):
    frame.loc[[*range(30)], "price"] *= 100
    splits = pd.DataFrame({"large": ["train"] * 30 + ["test"] * 30, "small": ["test"] * 30 + ["train"] * 30})
    for outcome, rows in zip(trained(evaluation(frame, splits))[0], (frame[:30], frame[30:]), strict=True):
        noise = json.loads(outcome.search_space)["noise_precision"]["attributes"]
        variance = rows["price"].var(ddof=0)
        np.testing.assert_allclose((noise["low"], noise["high"]), (1 / variance, 100 / variance))
