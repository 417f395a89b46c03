"""Number of trials of a search, and the scores that it is told."""

from types import SimpleNamespace

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from lockstep_bench.bench.evaluation.fits import HeldOut, LargestFits, SplitFits
from lockstep_bench.bench.evaluation.search import search_protocol, tune
from lockstep_bench.bench.evaluation.tuning.tuner import Score
from lockstep_bench.bench.experiment.tasks import task_of
from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.protocol import Protocol

GIVEN = GivenHParams.read("lr=0.5")
RANGE, CHOICE, POINT = FloatDistribution(0.1, 1.0), CategoricalDistribution((1.0, 2.0)), FloatDistribution(0.5, 0.5)


@pytest.mark.parametrize(
    ("changes", "space", "sampler", "trials"),
    [
        ({}, {"lr": RANGE}, "random", 30),
        ({}, {"lr": POINT}, "random", 1),
        ({"sampler": "grid"}, {"eta": CHOICE}, "grid", 2),
        ({"sampler": "tpe"}, {"eta": CHOICE}, "tpe", 30),
        ({"hparams": GIVEN}, {"lr": RANGE}, "centre", 1),
        ({"hparams": GIVEN}, {"lr": RANGE, "eta": CHOICE}, "random", 30),
    ],
)
def test_search_runs_no_more_trials_than_distinct_values(changes, space, sampler, trials):
    found = search_protocol(Protocol(**changes), "map", space)
    assert (found.sampler, found.trials) == (sampler, trials)


def test_fixed_hyper_parameters_are_validated_on_request():
    found = search_protocol(Protocol(hparams=GIVEN), "map", {"lr": RANGE}, validated=True)
    assert (found.sampler, found.trials) == ("random", 1)


class CopyingTrainer:
    """Returns its fits untrained, and notes the sizes of its stacks."""

    def __init__(self, limit: int):
        self.limit, self.sizes = limit, []
        self.method = SimpleNamespace(proxy=lambda: "proxy")

    def train(self, method, split, fits, largest):
        assert (method, largest) == ("proxy", split.largest.trial)
        self.sizes.append(len(fits))
        return fits


def score(fits, scored_on):
    """Score a fit by its lr, and by the number of what it is scored on."""
    return [Score(fit.hparams["lr"] + number) for fit, number in zip(fits, scored_on, strict=True)]


@pytest.mark.parametrize(("limit", "sizes"), [(100, [12]), (5, [5, 5, 2])])
def test_study_gets_the_mean_score_of_its_folds(limit, sizes):
    rows, protocol, task = np.arange(4), Protocol(trials=3), task_of("uci", "diabetes")
    splits = [
        SplitFits(
            task=task,
            inputs=None,
            seed=number,
            space={"lr": RANGE},
            held_out=[HeldOut(rows, 10 * number), HeldOut(rows, 10 * number + 2)].copy,
            train=rows,
            largest=LargestFits(4, 4),
            n_points=0,
            settled={},
        )
        for number in range(2)
    ]
    trainer = CopyingTrainer(limit)
    for number, study in enumerate(tune(trainer, splits, protocol, [None, None], score)):
        best = study.best()
        assert best.score == pytest.approx(best.hparams["lr"] + 10 * number + 1)
        assert best.n_trials == 3
    assert trainer.sizes == sizes


def test_centre_sampler_takes_mid_ranges_without_training():
    split = SplitFits(
        task_of("uci", "diabetes"), None, 0, {"lr": RANGE}, list, np.arange(4), LargestFits(4, 4), 0, settled={}
    )
    (study,) = tune(CopyingTrainer(1), [split], Protocol(sampler="centre"), [None], score)
    assert study.best().hparams == pytest.approx({"lr": 0.55})
