"""Tests of the published files are skipped without them, and fail where REQUIRE_DATA=1 says that they are there."""

import pytest


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
@pytest.mark.parametrize("folder", ["empty", ""])
def test_missing_data_fail_tests_if_required(tmp_path, monkeypatch, require_data, folder, required, outcome):
    monkeypatch.setenv("BENCH_DATA_DIR", folder and str(tmp_path))
    monkeypatch.setenv("REQUIRE_DATA", required)
    with pytest.raises(outcome, match="BENCH_DATA_DIR"):
        require_data("yacht")


def test_data_sets_without_files_are_never_missing(tmp_path, monkeypatch, require_data):
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    require_data("diabetes")
