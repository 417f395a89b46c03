"""Sentences on rows that contradict each other or differ otherwise."""

import json
from datetime import UTC, datetime

import pytest

from lockstep_bench.leaderboards.data.fingerprints import decide
from lockstep_bench.leaderboards.wording.mixtures import Mixture, mixtures

LATE = datetime(2026, 3, 4, tzinfo=UTC)


def said(rows) -> list[str]:
    return [mixture.sentence for mixture in mixtures(*decide(rows))]


def test_note_groups_data_sets_by_preset():
    mixture = Mixture("So it is", (("boston", "paper"), ("boston", "quick"), ("energy", "paper")))
    assert mixture.sentence == "So it is: boston, energy (paper); boston (quick)."
    assert Mixture("So it is").sentence == "So it is."


def test_note_names_the_first_data_sets_and_presets():
    mixture = Mixture("So it is", tuple((dataset, preset) for preset in "pqrst" for dataset in "abcdef"))
    assert mixture.sentence == "So it is: a, b, c and 3 more (p); a, b, c and 3 more (q) and 3 more."


def test_note_reports_dropped_rows_of_different_data(cells):
    old = [{"split": s, "nmll": 1.0, "data_sha256": "old-data-and-more"} for s in range(3)]
    new = {"split": 3, "nmll": 2.0, "data_sha256": "new", "finished_at": LATE}
    assert said(cells(*old, new)) == ["1 cell with data new left out; most cells have old-data-a: energy (paper)."]


def test_note_reports_dropped_rows_of_different_splits(cells):
    rows = [{"method": method, "nmll": 1.0, "split_sha256": "x"} for method in "ab"]
    (sentence,) = said(cells(*rows, {"method": "c", "nmll": 3.0, "split_sha256": "y"}))
    assert sentence == "1 cell with split rows y left out; most cells have x: energy (paper)."


def test_equal_contradictions_share_one_note(cells):
    rows = [{"dataset": d, "nmll": 1.0, "code_revision": "old"} for d in ("wine", "yacht")]
    rows += [row | {"code_revision": "new", "finished_at": LATE} for row in rows]
    assert said(cells(*rows)) == ["2 cells of code old left out, which code new ran again later: wine, yacht (paper)."]


def test_notes_of_one_kind_are_one_note(cells):
    rows = []
    for dataset, old, new in (("wine", "a", "b"), ("yacht", "c", "d")):
        first = {"dataset": dataset, "nmll": 1.0, "code_revision": old}
        rows += [first, first | {"split": 1}, first | {"code_revision": new, "finished_at": LATE}]
    assert said(cells(*rows)) == [
        "2 cells of code a and 1 more left out, which code b and 1 more ran again later: wine, yacht (paper).",
        "Results of code a (1 cell), b (1 cell), c (1 cell) and 1 more stand side by side: wine, yacht (paper).",
    ]


def test_note_reports_cells_run_twice(cells):
    assert said(cells({"nmll": 1.0, "finished_at": LATE}, {"nmll": 2.0})) == [
        "1 cell of code 0123456789 left out, which code 0123456789 ran again later: energy (paper)."
    ]


def test_note_counts_rows_of_each_code_version(cells):
    changed = {"split": 2, "nmll": 2.0, "code_revision": "fed", "code_dirty": True}
    energy = [{"nmll": 1.0}, {"split": 1, "nmll": 2.0}, changed]
    rows = cells(*energy, *(row | {"dataset": "wine"} for row in energy[1:]), {"dataset": "yacht"})
    assert said(rows) == [
        "Results of code 0123456789 (3 cells), fed with uncommitted changes (2 cells) stand side by side: "
        "energy, wine (paper)."
    ]


OTHERS = [{"method": "map", "nmll": 1.0}, {"method": "map", "split": 1, "nmll": 1.0}]


@pytest.mark.parametrize(
    ("identities", "alike"),
    [
        (("e-v", "e-v", "e-m", "e-m"), True),
        (("e-v", "e-w", "e-m", "e-m"), False),  # the method changed
        (("e-v", "e-v", "f-m", "f-m"), False),  # the evaluation changed between methods
        (("e-v", None, "e-m", "e-m"), False),  # a row that does not know
        ((None, None, None, None), False),
    ],
)
def test_commits_of_equal_code_identity_need_no_note(cells, identities, alike):
    rows = [{"nmll": 1.0}, {"split": 1, "nmll": 2.0, "code_revision": "fed", "finished_at": LATE}, *OTHERS]
    sentences = said(cells(*(row | {"code_identity": code} for row, code in zip(rows, identities, strict=True))))
    assert sentences == [] if alike else "stand side by side" in sentences[0]


@pytest.mark.parametrize(("column", "value", "words"), [("seed", 1, "seeds"), ("device", "cuda", "kinds of device")])
def test_note_reports_mixed_seeds_and_devices(cells, column, value, words):
    (sentence,) = said(cells({"nmll": 1.0}, {"split": 1, "nmll": 2.0, column: value}))
    assert sentence == f"Results of different {words} stand side by side: energy (paper)."


def test_noise_ranges_of_each_split_are_one_search_space(cells):
    def space(low: float, high: float) -> str:
        attributes = {"step": None, "low": low, "high": high, "log": True}
        return json.dumps({"noise_precision": {"name": "FloatDistribution", "attributes": attributes}})

    rows = [{"split": split, "search_space": space(low, 100 * low)} for split, low in enumerate((0.162, 0.163))]
    assert said(cells(*rows)) == []
    assert len(said(cells(*rows, {"split": 2, "search_space": space(0.1, 1.0)}))) == 1


def test_note_reports_mixed_search_spaces_of_a_method(cells):
    rows = [{"split": split, "search_space": '{"lr": 1}'} for split in range(2)]
    assert said(cells(*rows, {"method": "map", "search_space": '{"lr": 2}'})) == []
    (sentence,) = said(cells(*rows, {"split": 2, "search_space": '{"lr": 2}'}))
    assert sentence == "Results of different search spaces of vifa stand side by side: energy (paper)."


def test_note_says_changed_protocols_are_shown_separately(cells):
    rows = [{"suite": suite, "protocol_hash": protocol} for suite in ("toy", "uci") for protocol in "abc"]
    (sentence,) = said(cells(*rows, {"preset": "quick"}))
    assert sentence == (
        "Shown apart, as they were run under several protocols: paper of suite toy (3), paper of suite uci (3)."
    )


def test_uniform_rows_need_no_note(cells):
    assert said(cells()) == []
    assert said(cells({"nmll": 1.0}, {"dataset": "wine", "data_sha256": "d2", "nmll": 1.0})) == []


def test_note_counts_rows_of_an_earlier_engine(cells):
    table = cells({"execution": None}, {"split": 1, "execution": None}, {"dataset": "yacht"}, {"status": "failed"})
    (said,) = mixtures(table.assign(code_revision="same"), [])
    assert said.sentence.startswith("2 cells trained before loops were compiled")
    assert said.boards == (("energy", "paper"),)


def test_rechecked_code_versions_need_no_note(cells):
    table = cells({"code_revision": "old"}, {"code_revision": "new", "split": 1})
    assert len(mixtures(table, [])) == 1
    vouched = ["2026-01-05 by code 0123456789", None]
    assert mixtures(table.assign(rechecked=vouched), []) == []
