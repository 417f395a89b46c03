"""Choice among result rows that contradict each other: which are used, and which are left out for what reason.

A board is the leaderboard of one suite, data set, preset and protocol. Its rows are chosen by their recorded
provenance, never by their numbers:

1. A row that lies in several folders, every value the same, counts once.
2. A board has one checksum of its data, and one of each split: the most frequent among its rows, and the latest of
   equally frequent ones. Rows with another checksum are left out. Cells that failed before they read the data have no
   checksum, and stay.
3. If a cell (a board's method, split and seed) was run several times, the row of the code version that was used last on
   the board is taken. Among rows of the same code (see `codes`), the one that finished last is taken.

Rows of a board that differ otherwise (in code, seeds, devices) are all used; `wording.mixtures` reports them.
"""

from typing import NamedTuple

import pandas as pd

BOARD = ["suite", "dataset", "preset", "protocol_hash"]
CELL = [*BOARD, "method", "split", "seed"]
SHORT = 10  # characters of a revision or checksum that are printed


class Choice(NamedTuple):
    """Rows that were left out of one board (suite, data set, preset and protocol), and why.

    Attributes:
        suite, dataset, preset, protocol_hash: identity of the board.
        kind: reason: "data" and "split" for a differing checksum of the data or the split, "repeat" for a repeated
            cell.
        used, left_out: the checksum or code revision of the rows that are used, and of those that are left out.
        n_left_out: number of rows left out.
    """

    suite: str
    dataset: str
    preset: str
    protocol_hash: str
    kind: str
    used: str
    left_out: str
    n_left_out: int


def decide(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[Choice]]:
    """Return the result rows that leaderboards use, in their original order, and a record of those left out."""
    repeated = cells.duplicated(CELL, keep=False)
    kept, choices = _without_copies(cells, repeated), []
    for kind, key, column in (("data", BOARD, "data_sha256"), ("split", [*BOARD, "split"], "split_sha256")):
        kept, left = _one_checksum(kept, kind, key, column)
        choices += left
    kept, left = _one_row_each(kept) if repeated.any() else (kept, [])
    return kept.reset_index(drop=True), choices + left


def _without_copies(cells: pd.DataFrame, several: pd.Series) -> pd.DataFrame:
    if not several.any():  # a copy of 100,000 rows takes 150 MB
        return cells
    repeated = cells[several]
    copies = repeated.duplicated([name for name in cells.columns if name not in ("folder", "rechecked")])
    return cells.drop(index=repeated.index[copies]).reset_index(drop=True)


def _one_checksum(cells: pd.DataFrame, kind: str, key: list[str], column: str) -> tuple[pd.DataFrame, list[Choice]]:
    pairs = cells[[*key, column]].drop_duplicates().dropna(subset=column)
    if not pairs.duplicated(key).any():  # fewer and smaller groups than those of all rows
        return cells, []
    several = cells.groupby(key)[column].transform("nunique") > 1
    choices, out = [], pd.Series(False, cells.index)
    for _, part in cells[several].groupby(key):
        sums = part.groupby(column)["finished_at"].agg(["size", "max"]).sort_values(["size", "max"])
        used = sums.index[-1]
        wrong = part[part[column].notna() & (part[column] != used)]
        out[wrong.index] = True
        for other, rows in wrong.groupby(column):
            choices.append(_choice(part, kind, str(used), str(other), len(rows)))
    return cells[~out], choices


def _one_row_each(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[Choice]]:
    repeated = cells.duplicated(CELL, keep=False)
    if not repeated.any():
        return cells, []
    revision = codes(cells)
    last_use = cells.groupby([*(cells[name] for name in BOARD), revision])["finished_at"].transform("max")
    keys = cells[[*CELL, "finished_at"]]
    order = keys.assign(_last_use=last_use).sort_values(["_last_use", "finished_at"], kind="stable")
    out = order.duplicated(CELL, keep="last").reindex(cells.index)
    choices = []
    for _, part in keys[repeated].groupby(BOARD):
        lost = out[part.index]
        winners = part[~lost].set_index(CELL[len(BOARD) :]).index
        by_cell = pd.Series(revision[part.index[~lost]].to_numpy(), winners)
        losers = part[lost]
        beaten_by = by_cell.reindex(losers.set_index(CELL[len(BOARD) :]).index).to_numpy()
        for (used, left_out), rows in losers.groupby([beaten_by, revision[losers.index].to_numpy()]):
            choices.append(_choice(part, "repeat", str(used), str(left_out), len(rows)))
    return cells[~out], choices


def _choice(board: pd.DataFrame, kind: str, used: str, left_out: str, n_left_out: int) -> Choice:
    suite, dataset, preset, protocol_hash = board[BOARD].iloc[0]
    return Choice(suite, dataset, preset, protocol_hash, kind, used, left_out, n_left_out)


def codes(cells: pd.DataFrame) -> pd.Series:
    """Return a name of the code version of each row; rows whose code gives the same numbers get the same name.

    A board is one suite, data set, preset and protocol. `code_identity` is a hash of the code that a number depends on,
    in two parts: evaluation and method. Rows of one board have the same code, whatever their commits, if the first part
    agrees among all rows, and both parts agree among the rows of each method. The code is then named after the commit
    that was used last. Rows without an identity, and those of boards where identities differ, are distinguished by
    their commits.
    """
    changed = cells["code_dirty"].eq(True).map({True: " with uncommitted changes", False: ""})
    commits = cells["code_revision"].str[:SHORT] + changed
    known = cells[cells["code_identity"].notna()]
    if known.empty:
        return commits
    board = [known[name] for name in BOARD[:3]]
    shared = known["code_identity"].str.partition("-")[0].groupby(board).transform("nunique")
    of_method = known["code_identity"].groupby([*board, known["method"]]).transform("nunique").groupby(board)
    same = known[(shared == 1) & (of_method.transform("max") == 1)].sort_values("finished_at", kind="stable")
    latest = commits[same.index].groupby([same[name] for name in BOARD[:3]]).transform("last")
    return latest.reindex(cells.index).fillna(commits)
