"""Which rows a board uses where rows contradict each other."""

from datetime import UTC, datetime

from lockstep_bench.leaderboards.data.fingerprints import decide

EARLY, LATE = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)


def used(kept) -> list[tuple]:
    return sorted(kept[["split", "nmll"]].itertuples(index=False, name=None))


def test_a_row_that_lies_in_two_folders_counts_once_without_a_word(cells):
    rows = cells({"nmll": 1.0}, {"nmll": 1.0}).assign(folder=["a", "b"])
    kept, choices = decide(rows)
    assert (used(kept), choices) == ([(0, 1.0)], [])


def test_boards_have_the_data_of_most_rows_and_failures_without_any_stay(cells):
    rows = cells(
        *({"split": s, "nmll": 1.0, "data_sha256": "old"} for s in range(3)),
        {"split": 3, "nmll": 2.0, "data_sha256": "new", "finished_at": LATE},
        {"split": 4, "status": "failed", "data_sha256": None},
    )
    kept, choices = decide(rows)
    assert sorted(kept["split"]) == [0, 1, 2, 4]
    ((kind, kept_sum, left_sum, n_used, n_left),) = [choice[4:] for choice in choices]
    assert (kind, kept_sum, left_sum, n_used, n_left) == ("data", "old", "new", 3, 1)


def test_of_as_many_rows_the_later_data_are_used(cells):
    rows = cells(
        {"split": 0, "nmll": 1.0, "data_sha256": "zz", "finished_at": EARLY},
        {"split": 1, "nmll": 2.0, "data_sha256": "aa", "finished_at": LATE},
    )
    assert used(decide(rows)[0]) == [(1, 2.0)]


def test_data_of_another_board_do_not_matter(cells):
    rows = cells({"nmll": 1.0}, {"preset": "quick", "nmll": 2.0, "data_sha256": "d2"}, {"dataset": "wine", "nmll": 3.0})
    kept, choices = decide(rows)
    assert (len(kept), choices) == (3, [])


def test_split_rows_that_differ_are_not_paired(cells):
    rows = cells(
        {"method": "a", "nmll": 1.0, "split_sha256": "x"},
        {"method": "b", "nmll": 2.0, "split_sha256": "x"},
        {"method": "c", "nmll": 3.0, "split_sha256": "y"},
        {"method": "c", "split": 1, "nmll": 4.0, "split_sha256": "z"},  # another split has other rows, of course
    )
    kept, choices = decide(rows)
    assert sorted(kept["nmll"]) == [1.0, 2.0, 4.0]
    assert [choice[4:] for choice in choices] == [("split", "x", "y", 2, 1)]


def test_a_cell_that_two_revisions_ran_is_taken_from_the_one_that_ran_last_whatever_became_of_it(cells):
    rows = cells(
        {"split": 0, "nmll": 1.0, "code_revision": "old"},
        {"split": 0, "status": "failed", "code_revision": "new", "finished_at": LATE},
        {"split": 1, "nmll": 3.0, "code_revision": "old"},
    )
    kept, choices = decide(rows)
    assert sorted(kept[["split", "status"]].itertuples(index=False, name=None)) == [(0, "failed"), (1, "ok")]
    assert [choice[4:] for choice in choices] == [("repeat", "new", "old", 1, 1)]


def test_revisions_are_judged_by_the_board_not_by_the_cell(cells):
    # "new" ran last on the board, though "old" ran split 0 after it
    rows = cells(
        {"split": 0, "nmll": 1.0, "code_revision": "new", "finished_at": EARLY},
        {"split": 0, "nmll": 2.0, "code_revision": "old", "finished_at": datetime(2026, 2, 1, tzinfo=UTC)},
        {"split": 1, "nmll": 3.0, "code_revision": "new", "finished_at": LATE},
    )
    assert used(decide(rows)[0]) == [(0, 1.0), (1, 3.0)]


def test_a_cell_that_one_revision_ran_twice_is_taken_from_the_later_run(cells):
    rows = cells({"nmll": 1.0, "finished_at": LATE}, {"nmll": 2.0, "finished_at": EARLY})
    kept, choices = decide(rows)
    assert used(kept) == [(0, 1.0)]
    assert [choice[4:] for choice in choices] == [("repeat", "0123456789", "0123456789", 1, 1)]


def test_repeats_of_equal_identity_are_the_same_code(cells):
    rows = cells(
        {"nmll": 1.0, "code_identity": "e-v", "code_revision": "old"},
        {"nmll": 2.0, "code_identity": "e-v", "code_revision": "new", "finished_at": LATE},
    )
    kept, choices = decide(rows)
    assert used(kept) == [(0, 2.0)]
    assert [choice[4:] for choice in choices] == [("repeat", "new", "new", 1, 1)]


def test_protocols_and_seeds_are_other_cells(cells):
    rows = cells({"nmll": 1.0}, {"nmll": 2.0, "protocol_hash": "bbbbbbbb"}, {"nmll": 3.0, "seed": 1})
    assert len(decide(rows)[0]) == 3


def test_nothing_is_decided_about_nothing(cells):
    kept, choices = decide(cells())
    assert (len(kept), choices) == (0, [])


def test_data_sets_differ_in_their_data_without_a_word(cells):
    rows = cells({"nmll": 1.0}, {"dataset": "wine", "data_sha256": "d2", "nmll": 1.0})
    assert decide(rows)[1] == []
