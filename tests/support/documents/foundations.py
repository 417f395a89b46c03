"""The stored results behind the numbers of a document, and whether the current code reproduces them."""

import re
import shlex
from fnmatch import fnmatchcase
from itertools import pairwise

import pandas as pd

from documents.evidence import matches, of_preset
from documents.references import Item, Numbers, kind, numbers
from documents.texts import Block
from lockstep_bench.bench.experiment.code import identity_of
from lockstep_bench.shared.papers.entries import entries


def rested_on(comment: str, block: Block, after: Block | None, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the result rows behind a source comment: those of the values, table, command or replication that it names.

    Args:
        comment: a source comment of any kind; one that names no results gives no rows.
        block: the block that the comment belongs to.
        after: the next block, which may be the table that the comment is about.
        rows: the result rows that the repository contains.
    """
    if kind(comment) == "rows":
        wanted = numbers(comment)
        if wanted.items:
            board = _board(*wanted.where, rows)
            return pd.concat([_of_item(item, board) for item in wanted.items])
        table = block if block.rows or after is None else after
        return _of_table(table.rows, wanted, comment, rows)
    if kind(comment) == "replication":
        name = comment.removeprefix("replication").strip()
        return rows[rows["preset"].isin([entry.rows for entry in entries() if entry.name == name])]
    if command := re.fullmatch(r"from (python -m leaderboards rank leaderboards/results .+)", comment):
        return _of_command(shlex.split(command[1]), rows)
    return rows.iloc[:0]


def of_earlier_engines(rows: pd.DataFrame) -> list[str]:
    """Return data sets, presets and methods of results so old that they do not record how they were trained."""
    return _named(rows[rows["status"].eq("ok") & rows["execution"].isna()])


def without_support(rows: pd.DataFrame) -> list[str]:
    """Return data sets, presets and methods of results of older code that no recheck has reproduced."""
    unsupported = rows[rows["rechecked"].isna()]
    cells = unsupported[["suite", "dataset", "method"]].drop_duplicates()
    today = {cell: identity_of(*cell) for cell in cells.itertuples(index=False, name=None)}
    theirs = unsupported[["suite", "dataset", "method"]].apply(lambda cell: today[tuple(cell)], axis=1)
    return _named(unsupported[unsupported["code_identity"] != theirs] if len(unsupported) else unsupported)


def _named(rows: pd.DataFrame) -> list[str]:
    return sorted({" ".join(cell) for cell in rows[["suite", "preset", "dataset", "method"]].to_numpy()})


def _of_item(item: Item, board: pd.DataFrame) -> pd.DataFrame:
    names = re.sub(r" [-/] ", "+", item.method)
    wanted_names, _, without = names.partition(" but ")
    chosen = board["method"].map(lambda name: matches(name, wanted_names) and not matches(name, without)).astype(bool)
    return board[chosen & board["dataset"].map(lambda name: fnmatchcase(name, item.dataset)).astype(bool)]


def _of_table(table: list[list[str]], wanted: Numbers, comment: str, rows: pd.DataFrame) -> pd.DataFrame:
    (suite, preset), (heading, *body) = wanted.where, table
    others = re.findall(r"(?:else|gain over) ([^\s,]+)", comment)
    chosen = rows[(rows["suite"] == suite) & rows["preset"].isin([preset, *others])]
    methods = [first.strip("`") for first, *_ in body]
    return chosen[chosen["dataset"].isin(heading) & chosen["method"].isin(methods)]


def _of_command(words: list[str], rows: pd.DataFrame) -> pd.DataFrame:
    given = {name: value for name, value in pairwise(words) if name.startswith("--")}
    board = _board(given["--suite"], given["--preset"], rows)
    return board[board["dataset"].isin(given["--datasets"].split(","))] if "--datasets" in given else board


def _board(suite: str, preset: str, rows: pd.DataFrame) -> pd.DataFrame:
    return of_preset(rows[rows["suite"] == suite], preset)
