"""Rechecks: stored results that were drawn at random and run again, and whether the numbers were reproduced.

`FOLDER/rechecks.json` is a list of rechecks, the latest last. `python -m leaderboards recheck` adds one.
"""

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lockstep_bench.shared.rows.atomic import write_atomically

FILE = "rechecks.json"
EQUAL, WITHIN, DIFFERENT, NOT_RUN = "equal", "within noise", "different", "not run"
OUTCOMES = {
    EQUAL: "the number is equal to the last bit",
    WITHIN: "the number differs by no more than the noise of a seed",
    DIFFERENT: "the number differs by more, or there is none any more",
    NOT_RUN: "the command gave no row",
}


class Again(NamedTuple):
    """A stored result (one method on one split) and its repetition with the code of the recheck.

    Attributes:
        suite, dataset, method, preset, protocol_hash, split, seed: identify the result.
        metric: name of the metric that is compared.
        kept, new: stored and repeated value of the metric; `new` is None if the repetition has none.
        noise: the largest difference that counts as noise.
        kept_identity, new_identity: hashes of the code that the two values depend on (`code_identity`); None if
            unknown.
        outcome: a key of `OUTCOMES`.
        problem: why the repetition has no result; "" if it has one.
    """

    suite: str
    dataset: str
    method: str
    preset: str
    protocol_hash: str
    split: int
    seed: int
    metric: str
    kept: float
    new: float | None
    noise: float
    kept_identity: str | None
    new_identity: str | None
    outcome: str
    problem: str = ""


class Recheck(NamedTuple):
    """One recheck: results drawn at random from a results folder, run again, and compared.

    Attributes:
        finished_at: ISO 8601, UTC.
        code_revision: revision of the code that ran the cells again; "" if nothing ran.
        drawn_from: number of rows that could have been drawn.
        draw: seed of the draw.
        cells: the results that were drawn, with their repetitions.
    """

    finished_at: str
    code_revision: str
    drawn_from: int
    draw: int
    cells: tuple[Again, ...]

    @property
    def agreed(self) -> bool:
        """True if every drawn result was run again and its number is equal or differs only within noise."""
        return bool(self.cells) and all(cell.outcome in (EQUAL, WITHIN) for cell in self.cells)

    @property
    def date(self) -> str:
        """Day on which the recheck ended, as YYYY-MM-DD."""
        return self.finished_at[:10]


def read_rechecks(folder: Path) -> list[Recheck]:
    """Return the rechecks of a results folder, the latest last; an empty list if there is no file.

    Raises:
        ValueError: The file cannot be read as rechecks.
    """
    path = folder / FILE
    if not os.path.isfile(path):  # reading a pipe would wait for ever
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        rechecks = [Recheck(**entry | {"cells": tuple(Again(**cell) for cell in entry["cells"])}) for entry in entries]
        return sorted(rechecks, key=lambda recheck: datetime.fromisoformat(recheck.finished_at))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise ValueError("not a JSON list of rechecks") from None


def write_rechecks(rechecks: Sequence[Recheck], folder: Path) -> None:
    """Write the list of rechecks into a results folder, replacing the list that is there."""
    entries = [recheck._asdict() | {"cells": [cell._asdict() for cell in recheck.cells]} for recheck in rechecks]
    write_atomically(json.dumps(entries, indent=1).encode() + b"\n", folder / FILE)


def can_be_drawn(rows: pd.DataFrame) -> pd.Series:
    """Return a mask of the rows that a recheck may draw: finished results that record how their networks were trained.

    Rows without that record are of old versions of the training code, which are known to give different numbers.
    """
    return rows["status"].eq("ok") & rows["execution"].notna()


def with_recheck(rows: pa.Table, rechecks: Sequence[Recheck]) -> pa.Table:
    """Return the rows of a results folder with a column `rechecked`, which says whether a recheck reproduced them.

    It holds date and code revision of the latest recheck (`Recheck`) if that reproduced all numbers that it repeated.

    It is null for rows that the random draw excluded, and for all rows if some number was not reproduced.
    """
    said, covered = pa.nulls(len(rows), pa.string()), None
    if rechecks and rechecks[-1].agreed:
        latest = rechecks[-1]
        ended = pa.scalar(datetime.fromisoformat(latest.finished_at), rows.schema.field("finished_at").type)
        covered = pc.and_(pc.less(rows["finished_at"], ended), pc.is_valid(rows["execution"]))
        words = pa.scalar(f"{latest.date} by code {latest.code_revision[:10]}")
        said = pc.if_else(covered, words, pa.scalar(None, pa.string())).combine_chunks()
    return rows.append_column("rechecked", said.dictionary_encode())
