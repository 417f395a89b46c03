"""Both estimators keep scikit-learn's contract: no check is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lockstep_bench import PosteriorClassifier, PosteriorRegressor

HPARAMS = {"lr": 0.02, "prior_precision": 0.1}
SETTINGS = {"epochs": 60}


@parametrize_with_checks(
    [
        PosteriorRegressor("map", preset="quick", hparams={**HPARAMS, "noise_precision": 10.0}, settings=SETTINGS),
        PosteriorClassifier("map", preset="quick", hparams=HPARAMS, settings=SETTINGS),
    ]
)
def test_estimators_pass_scikit_learns_own_checks(estimator, check):
    check(estimator)
