"""Which rows a board uses where rows contradict each other."""

from datetime import UTC, datetime

import pytest

from leaderboards.fingerprints import decide, in_words, side_by_side

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
    (sentence,) = in_words(choices)
    assert sentence == "energy (paper): data old (3 cells) used, as most cells have them; 1 cell of new left out."


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
    assert "split rows x (2 cells) used" in in_words(choices)[0]


def test_a_cell_that_two_revisions_ran_is_taken_from_the_one_that_ran_last_whatever_became_of_it(cells):
    rows = cells(
        {"split": 0, "nmll": 1.0, "code_revision": "old"},
        {"split": 0, "status": "failed", "code_revision": "new", "finished_at": LATE},
        {"split": 1, "nmll": 3.0, "code_revision": "old"},
    )
    kept, choices = decide(rows)
    assert sorted(kept[["split", "status"]].itertuples(index=False, name=None)) == [(0, "failed"), (1, "ok")]
    assert in_words(choices) == ["energy (paper): code new (1 cell) used, as it ran last; 1 cell of old left out."]


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
    assert "which the same code ran again later" in in_words(choices)[0]


def test_protocols_and_seeds_are_other_cells(cells):
    rows = cells({"nmll": 1.0}, {"nmll": 2.0, "protocol_hash": "bbbbbbbb"}, {"nmll": 3.0, "seed": 1})
    assert len(decide(rows)[0]) == 3


def test_boards_with_the_same_contradiction_share_a_sentence(cells):
    rows = [{"dataset": d, "nmll": 1.0, "code_revision": "old"} for d in ("wine", "yacht")]
    rows += [row | {"code_revision": "new", "finished_at": LATE} for row in rows]
    (sentence,) = in_words(decide(cells(*rows))[1])
    assert sentence == "wine (paper), yacht (paper): code new (2 cells) used, as it ran last; 2 cells of old left out."


def test_nothing_is_decided_about_nothing(cells):
    kept, choices = decide(cells())
    assert (len(kept), choices, side_by_side(kept)) == (0, [], [])


def test_code_that_stands_side_by_side_is_said_with_its_numbers(cells):
    rows = cells(
        {"nmll": 1.0}, {"split": 1, "nmll": 2.0}, {"split": 2, "nmll": 2.0, "code_revision": "fed", "code_dirty": True}
    )
    assert side_by_side(rows) == [
        "Results of different code revisions stand side by side in energy (paper): 0123456789 (2 cells), fed with "
        "uncommitted changes (1 cell)."
    ]


@pytest.mark.parametrize(("column", "value", "words"), [("seed", 1, "seeds"), ("device", "cuda", "kinds of device")])
def test_other_mixtures_are_said(cells, column, value, words):
    (sentence,) = side_by_side(cells({"nmll": 1.0}, {"split": 1, "nmll": 2.0, column: value}))
    assert sentence == f"Results of different {words} stand side by side in: energy (paper)."


def test_a_method_is_searched_over_one_space_on_a_board(cells):
    rows = [{"split": split, "search_space": '{"lr": 1}'} for split in range(2)]
    assert side_by_side(cells(*rows, {"method": "map", "search_space": '{"lr": 2}'})) == []
    (sentence,) = side_by_side(cells(*rows, {"split": 2, "search_space": '{"lr": 2}'}))
    assert sentence == "Results of different search spaces of one method stand side by side: vifa on energy (paper)."


def test_protocols_under_one_name_are_said_to_be_shown_apart(cells):
    (sentence,) = side_by_side(cells({"nmll": 1.0}, {"nmll": 2.0, "protocol_hash": "bbbbbbbb"}, {"preset": "quick"}))
    assert sentence == (
        "Preset paper of suite uci was run under several protocols, shown apart: paper@aaaaaaaa (1 cell), "
        "paper@bbbbbbbb (1 cell)."
    )


def test_data_sets_differ_in_their_data_without_a_word(cells):
    rows = cells({"nmll": 1.0}, {"dataset": "wine", "data_sha256": "d2", "nmll": 1.0})
    assert (decide(rows)[1], side_by_side(rows)) == ([], [])
