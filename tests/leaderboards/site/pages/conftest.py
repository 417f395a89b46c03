"""Sites that the tests of pages share."""

import pytest
from built_pages import Built

from lockstep_bench import leaderboards


@pytest.fixture
def built(folder, tmp_path):
    """Build the site of some cells and return its pages."""
    return lambda *rows: Built(leaderboards.build(folder(*rows), tmp_path / "site"))


@pytest.fixture(scope="session")
def small_site(shared_folder, small_run, tmp_path_factory):
    """The pages of `small_run`, built once."""
    return Built(leaderboards.build(shared_folder(*small_run), tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="session")
def classification_site(shared_folder, classification_run, tmp_path_factory):
    """The pages of `classification_run` beside one row of energy, built once."""
    regression = {"nmll": 2.0, "rmse": 3.0, "coverage_90": 0.9, "fit_seconds": 1.0, "exclusive": True}
    out = shared_folder(regression, *classification_run)
    return Built(leaderboards.build(out, tmp_path_factory.mktemp("classification")))
