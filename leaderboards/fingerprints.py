"""Which rows a board uses where rows contradict each other, and why.

A board is one suite, data set, preset and protocol. A row is chosen by what is recorded about how it came to be, never
by the numbers in it:

1. A row that lies in several folders, every value the same, counts once.
2. A board has one checksum of its data, and one of each split: that which most of its rows have, the latest if several
   have as many. Rows of others are left out; those of cells that failed before they saw the data stay.
3. Of a cell (a board's method, split and seed) that was run several times, the row of the code revision that was used
   last on the board is taken, and of the same revision the row that finished last.

What differs otherwise between rows of a board (code, seeds, devices) stands side by side, and `side_by_side` says
so.
"""

from typing import NamedTuple

import pandas as pd

from leaderboards.formats import counted

BOARD = ["suite", "dataset", "preset", "protocol_hash"]
CELL = [*BOARD, "method", "split", "seed"]
REVISION = ["code_revision", "code_dirty"]
SHORT = 10  # characters of a revision or checksum that are printed

ALIKE = {"seed": "seeds", "device": "kinds of device"}


class Choice(NamedTuple):
    """Rows of one board that were left out.

    Attributes:
        suite, dataset, preset, protocol_hash: of the board.
        kind: "data", "split" or "repeat", for rules 2 and 3 above.
        used, left_out: the checksums or code revisions in question.
        n_used, n_left_out: rows of each.
    """

    suite: str
    dataset: str
    preset: str
    protocol_hash: str
    kind: str
    used: str
    left_out: str
    n_used: int
    n_left_out: int


def decide(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[Choice]]:
    """The rows of `cells` (those of `bench.schema.CELLS`) that boards use, in their order, and what that leaves out."""
    kept, choices = _without_copies(cells), []
    for kind, key, column in (("data", BOARD, "data_sha256"), ("split", [*BOARD, "split"], "split_sha256")):
        kept, left = _one_checksum(kept, kind, key, column)
        choices += left
    kept, left = _one_row_each(kept)
    return kept.reset_index(drop=True), choices + left


def _without_copies(cells: pd.DataFrame) -> pd.DataFrame:
    repeated = cells[cells.duplicated(CELL, keep=False)]
    copies = repeated.duplicated([name for name in cells.columns if name != "folder"])
    return cells.drop(index=repeated.index[copies]).reset_index(drop=True)


def _one_checksum(cells: pd.DataFrame, kind: str, key: list[str], column: str) -> tuple[pd.DataFrame, list[Choice]]:
    several = cells.groupby(key)[column].transform("nunique") > 1
    if not several.any():
        return cells, []
    choices, out = [], pd.Series(False, cells.index)
    for _, part in cells[several].groupby(key):
        sums = part.groupby(column)["finished_at"].agg(["size", "max"]).sort_values(["size", "max"])
        used = sums.index[-1]
        wrong = part[part[column].notna() & (part[column] != used)]
        out[wrong.index] = True
        for other, rows in wrong.groupby(column):
            choices.append(_choice(part, kind, used, other, int(sums.loc[used, "size"]), len(rows)))
    return cells[~out], choices


def _one_row_each(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[Choice]]:
    repeated = cells.duplicated(CELL, keep=False)
    if not repeated.any():
        return cells, []
    revision = _revisions(cells)
    last_use = cells.groupby([*(cells[name] for name in BOARD), revision])["finished_at"].transform("max")
    order = cells.assign(_last_use=last_use).sort_values(["_last_use", "finished_at"], kind="stable")
    out = order.duplicated(CELL, keep="last").reindex(cells.index)
    choices = []
    for _, part in cells[repeated].groupby(BOARD):
        lost = out[part.index]
        winners = part[~lost].set_index(CELL[len(BOARD) :]).index
        by_cell = pd.Series(revision[part.index[~lost]].to_numpy(), winners)
        losers = part[lost]
        beaten_by = by_cell.reindex(losers.set_index(CELL[len(BOARD) :]).index).to_numpy()
        for (used, left_out), rows in losers.groupby([beaten_by, revision[losers.index].to_numpy()]):
            choices.append(_choice(part, "repeat", used, left_out, int((by_cell == used).sum()), len(rows)))
    return cells[~out], choices


def _choice(board: pd.DataFrame, kind: str, used: str, left_out: str, n_used: int, n_left_out: int) -> Choice:
    return Choice(*board[BOARD].iloc[0], kind, used, left_out, n_used, n_left_out)


def _revisions(cells: pd.DataFrame) -> pd.Series:
    changed = cells["code_dirty"].eq(True).map({True: " with uncommitted changes", False: ""})
    return cells["code_revision"].str[:SHORT] + changed


def in_words(choices: list[Choice]) -> list[str]:
    """A sentence for each kind of contradiction and pair of fingerprints, naming the boards and the numbers of rows."""
    found = {}
    for choice in choices:
        found.setdefault((choice.kind, choice.used, choice.left_out), []).append(choice)
    return [_sentence(*key, some) for key, some in found.items()]


def _sentence(kind: str, used: str, left_out: str, choices: list[Choice]) -> str:
    boards = ", ".join(dict.fromkeys(f"{choice.dataset} ({choice.preset})" for choice in choices))
    n_used, n_left_out = (sum(getattr(choice, name) for choice in choices) for name in ("n_used", "n_left_out"))
    rows = counted(n_left_out, "cell")
    if kind == "repeat" and used == left_out:
        return f"{boards}: {rows} of code {used} left out, which the same code ran again later."
    if kind == "repeat":
        return f"{boards}: code {used} ({counted(n_used, 'cell')}) used, as it ran last; {rows} of {left_out} left out."
    what = "data" if kind == "data" else "split rows"
    return (
        f"{boards}: {what} {used[:SHORT]} ({counted(n_used, 'cell')}) used, as most cells have them; {rows} of "
        f"{left_out[:SHORT]} left out."
    )


def side_by_side(cells: pd.DataFrame) -> list[str]:
    """A sentence for each mixture of code revisions, seeds or devices within boards of `cells`, naming the boards."""
    sentences = []
    codes = {}
    named = cells.assign(_revision=_revisions(cells))
    for (_, dataset, preset), part in named.groupby(BOARD[:3]):
        counts = part["_revision"].value_counts()
        if len(counts) > 1:
            codes.setdefault(tuple(sorted(counts.index)), []).append((f"{dataset} ({preset})", counts))
    for revisions, boards in codes.items():
        total = sum(counts for _, counts in boards)
        parts = ", ".join(f"{name} ({counted(int(total[name]), 'cell')})" for name in revisions)
        names = ", ".join(name for name, _ in boards)
        sentences.append(f"Results of different code revisions stand side by side in {names}: {parts}.")
    for column, plural in ALIKE.items():
        count = cells.groupby(BOARD[:3])[column].nunique()
        boards = ", ".join(f"{dataset} ({preset})" for _, dataset, preset in count[count > 1].index)
        if boards:
            sentences.append(f"Results of different {plural} stand side by side in: {boards}.")
    spaces = cells.groupby([*BOARD, "method"])["search_space"].nunique()
    if boards := ", ".join(
        f"{method} on {dataset} ({preset})" for _, dataset, preset, _, method in spaces[spaces > 1].index
    ):
        sentences.append(f"Results of different search spaces of one method stand side by side: {boards}.")
    for (suite, preset), hashes in cells.groupby(["suite", cells["preset"].str.split("@").str[0]])["protocol_hash"]:
        rows = hashes.str[:8].value_counts().sort_index()
        if len(rows) > 1:
            parts = ", ".join(f"{preset}@{name} ({counted(int(n), 'cell')})" for name, n in rows.items())
            sentences.append(f"Preset {preset} of suite {suite} was run under several protocols, shown apart: {parts}.")
    return sentences
