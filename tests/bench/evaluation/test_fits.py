"""The fits of a split: their seeds and hyper-parameters, and which of them share a stack."""

from dataclasses import replace

import numpy as np
import pytest

from lockstep_bench.bench.evaluation.fits import HeldOut, LargestFits, SplitFits, stacks
from lockstep_bench.bench.experiment.tasks import task_of
from lockstep_bench.shared.seeds import seed_of

ROWS = np.arange(6)
FOLDS = [HeldOut(ROWS[2:], ROWS[:2], (0,), {"beta": 2.0}), HeldOut(ROWS[:4], ROWS[4:], (1,), {"beta": 3.0})]


@pytest.fixture
def split() -> SplitFits:
    """The fits of a split with two folds, whose model fixes beta."""
    task = task_of("uci", "diabetes")
    return SplitFits(task, None, 7, {}, lambda: FOLDS, ROWS, LargestFits(4, 6), 0, {"beta": 1.0})


def test_each_fold_of_a_trial_has_its_own_seed(split):
    fits = split.trial(3, {"lr": 0.1})
    assert [fit.seed for fit in fits] == [seed_of(7, "trial", 3, fold) for fold in (0, 1)]
    assert [fit.rows is part.train for fit, part in zip(fits, FOLDS, strict=True)] == [True, True]


def test_fixed_hyper_parameters_replace_searched_ones(split):
    assert [fit.hparams for fit in split.trial(0, {"lr": 0.1, "beta": 9.0})] == [
        {"lr": 0.1, "beta": 2.0},
        {"lr": 0.1, "beta": 3.0},
    ]
    assert split.final({"lr": 0.2, "beta": 9.0}).hparams == {"lr": 0.2, "beta": 1.0}


def test_stacks_combine_only_splits_of_equal_shape(split):
    larger, narrower = replace(split, largest=LargestFits(5, 7)), replace(split, inputs=np.array([0, 2]))
    assert list(stacks([split, larger, split, narrower, split], limit=9)) == [[0, 2, 4], [1], [3]]


def test_stacks_respect_the_limit_of_fits(split):
    assert list(stacks([split] * 5, limit=2)) == [[0, 1], [2, 3], [4]]
