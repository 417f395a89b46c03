"""Which rows a board uses where rows contradict each other."""

from datetime import UTC, datetime

from lockstep_bench.leaderboards.data.fingerprints import decide

EARLY, LATE = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)


def used(kept) -> list[tuple]:
    return sorted(kept[["split", "nmll"]].itertuples(index=False, name=None))


def test_identical_row_in_two_folders_counts_once(cells):
    rows = cells({"nmll": 1.0}, {"nmll": 1.0}).assign(folder=["a", "b"])
    kept, choices = decide(rows)
    assert (used(kept), choices) == ([(0, 1.0)], [])


def test_most_frequent_data_checksum_is_used(cells):
    rows = cells(
        *({"split": s, "nmll": 1.0, "data_sha256": "old"} for s in range(3)),
        {"split": 3, "nmll": 2.0, "data_sha256": "new", "finished_at": LATE},
        {"split": 4, "status": "failed", "data_sha256": None},
    )
    kept, choices = decide(rows)
    assert sorted(kept["split"]) == [0, 1, 2, 4]
    assert [choice[4:] for choice in choices] == [("data", "old", "new", 1)]


def test_equally_frequent_checksums_use_the_latest(cells):
    rows = cells(
        {"split": 0, "nmll": 1.0, "data_sha256": "zz", "finished_at": EARLY},
        {"split": 1, "nmll": 2.0, "data_sha256": "aa", "finished_at": LATE},
    )
    assert used(decide(rows)[0]) == [(1, 2.0)]


def test_data_of_other_leaderboards_do_not_matter(cells):
    rows = cells({"nmll": 1.0}, {"preset": "quick", "nmll": 2.0, "data_sha256": "d2"}, {"dataset": "wine", "nmll": 3.0})
    kept, choices = decide(rows)
    assert (len(kept), choices) == (3, [])


def test_rows_of_minority_split_checksums_are_dropped(cells):
    rows = cells(
        {"method": "a", "nmll": 1.0, "split_sha256": "x"},
        {"method": "b", "nmll": 2.0, "split_sha256": "x"},
        {"method": "c", "nmll": 3.0, "split_sha256": "y"},
        {"method": "c", "split": 1, "nmll": 4.0, "split_sha256": "z"},  # another split has other rows, of course
    )
    kept, choices = decide(rows)
    assert sorted(kept["nmll"]) == [1.0, 2.0, 4.0]
    assert [choice[4:] for choice in choices] == [("split", "x", "y", 1)]


def test_repeated_cell_uses_its_latest_code_revision(cells):
    rows = cells(
        {"split": 0, "nmll": 1.0, "code_revision": "old"},
        {"split": 0, "status": "failed", "code_revision": "new", "finished_at": LATE},
        {"split": 1, "nmll": 3.0, "code_revision": "old"},
    )
    kept, choices = decide(rows)
    assert sorted(kept[["split", "status"]].itertuples(index=False, name=None)) == [(0, "failed"), (1, "ok")]
    assert [choice[4:] for choice in choices] == [("repeat", "new", "old", 1)]


def test_latest_code_revision_is_chosen_per_board(cells):
    # "new" ran last on the board, though "old" ran split 0 after it
    rows = cells(
        {"split": 0, "nmll": 1.0, "code_revision": "new", "finished_at": EARLY},
        {"split": 0, "nmll": 2.0, "code_revision": "old", "finished_at": datetime(2026, 2, 1, tzinfo=UTC)},
        {"split": 1, "nmll": 3.0, "code_revision": "new", "finished_at": LATE},
    )
    assert used(decide(rows)[0]) == [(0, 1.0), (1, 3.0)]


def test_repeat_under_one_revision_uses_the_later_run(cells):
    rows = cells({"nmll": 1.0, "finished_at": LATE}, {"nmll": 2.0, "finished_at": EARLY})
    kept, choices = decide(rows)
    assert used(kept) == [(0, 1.0)]
    assert [choice[4:] for choice in choices] == [("repeat", "0123456789", "0123456789", 1)]


def test_commits_of_equal_code_identity_count_as_same_code(cells):
    rows = cells(
        {"nmll": 1.0, "code_identity": "e-v", "code_revision": "old"},
        {"nmll": 2.0, "code_identity": "e-v", "code_revision": "new", "finished_at": LATE},
    )
    kept, choices = decide(rows)
    assert used(kept) == [(0, 2.0)]
    assert [choice[4:] for choice in choices] == [("repeat", "new", "new", 1)]


def test_cells_of_different_protocols_or_seeds_are_kept(cells):
    rows = cells({"nmll": 1.0}, {"nmll": 2.0, "protocol_hash": "bbbbbbbb"}, {"nmll": 3.0, "seed": 1})
    assert len(decide(rows)[0]) == 3


def test_empty_table_drops_no_rows(cells):
    kept, choices = decide(cells())
    assert (len(kept), choices) == (0, [])


def test_checksums_may_differ_between_data_sets(cells):
    rows = cells({"nmll": 1.0}, {"dataset": "wine", "data_sha256": "d2", "nmll": 1.0})
    assert decide(rows)[1] == []
