"""Studies that were run in one go, to compare others with."""

import pytest
from tuning_runs import GP_TRIALS, ROUNDS, run, trials_of


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The outcome and trials of each sampler's study, run in one go."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return {name: (run(folder / name, name), trials_of(folder / name)) for name in ROUNDS}


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "study" / "cell.json"


@pytest.fixture(scope="module")
def optimised(tmp_path_factory):
    """The outcome and trials of Bayesian optimisation, run in one go."""
    journal = tmp_path_factory.mktemp("optimised") / "cell.json"
    return run(journal, "gp", trials=GP_TRIALS), trials_of(journal)
