"""Notes on results that contradict each other, and on results of different code, seeds or devices in one table.

A board is the leaderboard of one suite, data set, preset and protocol. There is one note of each kind, and it names the
first few boards, codes and methods: several sentences of one kind, with all names, would hide the table that they are
on. The page of a data set has the notes on its boards alone.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data.fingerprints import BOARD, SHORT, Choice, codes
from lockstep_bench.leaderboards.data.frames import groups
from lockstep_bench.leaderboards.data.rechecks import EQUAL, NOT_RUN, WITHIN, Recheck
from lockstep_bench.leaderboards.wording.formats import counted, listed

CODE = ["method", "code_revision", "code_dirty", "code_identity", "finished_at"]  # that `codes` needs
ALIKE = {"seed": "seeds", "device": "kinds of device"}
CHECKSUMS = {"data": "data", "split": "split rows"}  # kinds of `Choice` that are about a checksum, in words
MOST_LISTED, MOST_PRESETS = 3, 2


class Mixture(NamedTuple):
    """A note on the results of some boards (one suite, data set, preset and protocol each).

    Attributes:
        text: the note, as a sentence without its full stop.
        boards: pairs (data set, preset), one for each board concerned; empty if the sentence names them.
    """

    text: str
    boards: tuple[tuple[str, str], ...] = ()

    @property
    def sentence(self) -> str:
        """The note followed by its boards: "...: boston, energy (paper); yacht (tuned)."."""
        by_preset: dict[str, list[str]] = {}
        for dataset, preset in self.boards:
            by_preset.setdefault(preset, []).append(dataset)
        parts = [f"{listed([*dict.fromkeys(names)], MOST_LISTED)} ({preset})" for preset, names in by_preset.items()]
        boards = listed(parts, MOST_PRESETS, "; ")
        return f"{self.text}: {boards}." if boards else f"{self.text}."


def mixtures(cells: pd.DataFrame, choices: list[Choice]) -> list[Mixture]:
    """Return notes on rows that were left out (`choices`), and on code, seeds or devices that differ within a board."""
    return [
        *left_out(choices),
        *_earlier_engines(cells),
        *_codes(cells),
        *_seeds_and_devices(cells),
        *_search_spaces(cells),
        *_protocols(cells),
    ]


def revisions_in_words(cells: pd.DataFrame, rechecks: Sequence[Recheck]) -> str:
    """Return a sentence on whether numbers differ between code revisions, as far as rechecks say; "" for one revision.

    Args:
        cells: columns of `shared.schema.CELLS`.
        rechecks: rechecks of the results folders.
    """
    n_revisions = cells["code_revision"].nunique()
    if n_revisions < 2:
        return ""
    outcomes = Counter(cell.outcome for recheck in rechecks for cell in recheck.cells)
    n_again = outcomes.total() - outcomes[NOT_RUN]
    known = f"Results come from {n_revisions} code revisions"
    if not n_again:
        return f"{known}; none was run again to see whether numbers differ between them."
    n_same = outcomes[EQUAL] + outcomes[WITHIN]
    same = "all" if n_same == n_again else str(n_same)
    return (
        f"{known}. Of {counted(n_again, 'result')} drawn at random and run again with later code, {same} gave the same "
        f"number or one within the noise of a seed."
    )


def left_out(choices: Iterable[Choice]) -> list[Mixture]:
    """Return a note for each reason why rows were left out."""
    by_kind: dict[str, list[Choice]] = {}
    for choice in choices:
        by_kind.setdefault(choice.kind, []).append(choice)
    return [
        Mixture(_reason(kind, some), tuple((choice.dataset, choice.preset) for choice in some))
        for kind, some in by_kind.items()
    ]


def _reason(kind: str, choices: list[Choice]) -> str:
    rows = counted(sum(choice.n_left_out for choice in choices), "cell")
    checksum = kind in CHECKSUMS
    used, out = (
        listed([name[:SHORT] if checksum else name for name in dict.fromkeys(versions)], 1)
        for versions in zip(*((choice.used, choice.left_out) for choice in choices), strict=True)
    )
    if checksum:
        return f"{rows} with {CHECKSUMS[kind]} {out} left out; most cells have {used}"
    return f"{rows} of code {out} left out, which code {used} ran again later"


def _earlier_engines(cells: pd.DataFrame) -> list[Mixture]:
    rows = cells.loc[cells["status"].eq("ok") & cells["execution"].isna(), BOARD[:3]]
    boards = tuple((dataset, preset) for (_, dataset, preset), _ in groups(rows, BOARD[:3]))
    text = f"{counted(len(rows), 'cell')} trained before loops were compiled; today's code may give other numbers (§)"
    return [Mixture(text, boards)] if boards else []


def _codes(cells: pd.DataFrame) -> list[Mixture]:
    """Return notes on boards with results of different code; rows with a successful recheck do not count."""
    unchecked = cells["rechecked"].isna() if "rechecked" in cells else slice(None)
    cells = cells.loc[unchecked, [*BOARD[:3], *CODE]]
    if len(cells[["code_revision", "code_dirty"]].drop_duplicates()) < 2:
        return []
    boards, total = [], Counter[str]()
    for (_, dataset, preset), part in groups(cells[BOARD[:3]].assign(_code=codes(cells)), BOARD[:3]):
        counts = Counter(part["_code"].dropna())
        if len(counts) > 1:
            boards.append((dataset, preset))
            total += counts
    each = listed([f"{name} ({counted(n, 'cell')})" for name, n in total.most_common()], MOST_LISTED)
    return [Mixture(f"Results of code {each} stand side by side", tuple(boards))] if boards else []


def _seeds_and_devices(cells: pd.DataFrame) -> list[Mixture]:
    notes = []
    for column, plural in ALIKE.items():
        if cells[column].nunique() < 2:
            continue
        count = cells.groupby(BOARD[:3])[column].nunique()
        if boards := tuple((dataset, preset) for _, dataset, preset in count[count > 1].index):
            notes.append(Mixture(f"Results of different {plural} stand side by side", boards))
    return notes


def _search_spaces(cells: pd.DataFrame) -> list[Mixture]:
    known = {space: _without_unit(space) for space in cells["search_space"].dropna().unique()}
    if len(set(known.values())) < 2:
        return []
    comparable = cells.assign(search_space=cells["search_space"].map(known))
    spaces = comparable.groupby([*BOARD, "method"])["search_space"].nunique()
    mixed = spaces.index[spaces > 1]
    methods = listed(list(mixed.unique("method")), MOST_LISTED)
    boards = tuple((dataset, preset) for _, dataset, preset, *_ in mixed)
    return [Mixture(f"Results of different search spaces of {methods} stand side by side", boards)] if boards else []


def _without_unit(space: str) -> str:
    """Return a search space with the range of the noise precision replaced by the ratio of its ends.

    On many data sets this range follows the variance of a split's own training targets, so that all splits differ.
    """
    distributions = json.loads(space)
    ends = distributions.get("noise_precision", {}).get("attributes", {}) if isinstance(distributions, dict) else {}
    if not ends.get("low") or "high" not in ends:
        return space
    return json.dumps(distributions | {"noise_precision": f"{ends['high'] / ends['low']:.6g}"})


def _protocols(cells: pd.DataFrame) -> list[Mixture]:
    names = cells["preset"].map({label: label.partition("@")[0] for label in cells["preset"].unique()})
    several = [
        f"{preset} of suite {suite} ({n})"
        for (suite, preset), hashes in cells["protocol_hash"].groupby([cells["suite"], names])
        if (n := hashes.nunique()) > 1
    ]
    text = f"Shown apart, as they were run under several protocols: {listed(several, MOST_LISTED)}"
    return [Mixture(text)] if several else []
