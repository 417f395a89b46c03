"""Runs in words."""

from lockstep_bench.leaderboards.wording.run_facts import runs, versions


def test_run_description_counts_only_statuses_that_occur(cells):
    table = cells({"split": 0}, {"split": 1}, {"split": 2, "status": "failed"}, {"preset": "quick"})
    of_preset = {run.preset: run.cells for run in runs(table.astype({"status": "category"}))}
    assert sorted(of_preset.values()) == ["1 finished", "2 finished, 1 failed"]


def test_packages_that_only_some_runs_had_are_marked():
    documents = (
        '{"numpy": "2.5.2", "optuna": "not installed"}',
        '{"numpy": "not installed", "optuna": "not installed"}',
    )
    assert versions(documents) == "numpy 2.5.2 (not in all runs), optuna not installed"
