"""The results that the project keeps: what others find beside the code."""

from pathlib import Path

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results

KEPT = Path(leaderboards.__file__).parent / "results"


def test_stored_results_are_complete_small_and_from_committed_code():
    found = read_results(KEPT)
    assert not found.skipped
    assert not found.rows.empty
    assert not found.rows["code_dirty"].any()
    assert all(path.stat().st_size < 2**20 for path in KEPT.rglob("*.*"))
    predictions = set(KEPT.glob("predictions/**/*.parquet"))
    assert sum(path.stat().st_size for path in predictions) < 20e6
    assert sum(path.stat().st_size for path in set(KEPT.rglob("*.parquet")) - predictions) < 8e6


def test_stored_results_contain_no_local_paths():
    rows = read_results(KEPT).rows
    words = rows.drop(columns="folder").select_dtypes(exclude=["number", "bool"]).astype(str)
    assert not words.apply(lambda column: column.str.contains(r"/(?:home|root|tmp|Users|work)/")).any(axis=None)


def test_all_methods_in_stored_results_share_splits():
    """Except variants and slow methods, which may have only the first splits."""
    rows = read_results(KEPT).rows
    splits = rows.groupby(["suite", "preset", "protocol_hash", "dataset", "method"])["split"].agg(frozenset)
    for board, by_method in splits.groupby(["suite", "preset", "protocol_hash", "dataset"]):
        most = sorted(max(by_method, key=len))
        assert all(own == frozenset(most[: len(own)]) for own in by_method), board
