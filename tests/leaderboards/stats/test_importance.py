"""Importances of hyper-parameters, compared with those of Optuna."""

import json

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

from lockstep_bench.leaderboards.stats.importance import Scale, importances

SPACE = {
    "lr": FloatDistribution(1e-4, 1e-1, log=True),
    "fraction": FloatDistribution(0.2, 1.0),
    "stepped": FloatDistribution(0, 1, step=0.25),
    "depth": IntDistribution(2, 5),
    "leaves": IntDistribution(4, 200, log=True),
    "rate": CategoricalDistribution((0.005, 0.01, 0.05, 0.1)),
    "fixed": FloatDistribution(2.0, 2.0),
}


@pytest.fixture
def study():
    def of(objective, n_trials, space=SPACE):
        made = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=n_trials))
        for _ in range(n_trials):
            trial = made.ask(space)
            made.tell(trial, objective(trial.params))
        return made

    return of


def ours(study, space=SPACE):
    scales = {name: Scale(**json.loads(distribution_to_json(distribution))) for name, distribution in space.items()}
    return importances(scales, [trial.params for trial in study.trials], np.array([t.value for t in study.trials]))


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("n_trials", [10, 30, 150])
@pytest.mark.parametrize(
    "objective",
    [
        lambda params: np.log(params["lr"]) ** 2 + params["rate"],
        lambda params: -params["fraction"] * params["depth"] + params["stepped"] / params["leaves"],
        lambda params: round(params["fraction"]),  # many equal objectives
    ],
)
def test_importances_equal_those_of_optuna(study, objective, n_trials):
    made = study(objective, n_trials)
    theirs = get_param_importances(made, evaluator=PedAnovaImportanceEvaluator())
    assert ours(made) == pytest.approx(theirs, rel=1e-6)


def test_only_influential_hyper_parameter_is_most_important(study):
    shares = ours(study(lambda params: params["fraction"], 100))
    assert max(shares, key=shares.get) == "fraction"
    assert shares["fixed"] == 0
    assert sum(shares.values()) == pytest.approx(1)


def test_equal_objectives_give_equal_importances(study):
    shares = ours(study(lambda params: 1.0, 20))
    assert set(shares.values()) == {1 / len(SPACE)}
