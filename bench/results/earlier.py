"""What a results folder holds already, and whether new cells can stand beside it."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import datasets
from bench.environment.provenance import Revision, code_revision
from bench.experiment.cells import Cell
from bench.experiment.code import identity_of
from bench.experiment.plan import InvalidRequest

LEAVE = "--fresh starts over and keeps the old aside; another --out keeps both"


def beside(rows: pd.DataFrame, wanted: Sequence[Cell], data_dir: Path | None) -> list[str]:
    """What is to be said of `rows` that share a board with the cells `wanted` and were made otherwise.

    Rows are those of `Results.rows`; a board is a suite, data set and preset. Raises `InvalidRequest` where the data
    differ.
    """
    boards = {(cell.suite, cell.dataset, cell.preset) for cell in wanted}
    keys = pd.MultiIndex.from_frame(rows[["suite", "dataset", "preset"]])
    here = rows[keys.isin(boards)] if boards else rows[:0]
    _refuse_other_data(here, data_dir)
    found = [_other_code(here, code_revision()), _other_protocols(here, wanted), _other_spaces(here, wanted)]
    sentences = [sentence for sentence in found if sentence]
    return [*sentences, f"The page says so. {LEAVE}."] if sentences else []


def _refuse_other_data(rows: pd.DataFrame, data_dir: Path | None) -> None:
    differing = []
    for name, own in rows.dropna(subset="data_sha256").groupby("dataset"):
        present = datasets.load(name, data_dir).data_sha256
        other = own[own["data_sha256"] != present]
        if len(other):
            stored = ", ".join(sha[:12] for sha in sorted(other["data_sha256"].unique()))
            differing.append(f"{len(other)} cells of {name} (SHA-256 {stored}; here {present[:12]})")
    if differing:
        raise InvalidRequest(f"the results folder holds {'; '.join(differing)}, of other data than are here. {LEAVE}")


def _other_code(rows: pd.DataFrame, present: Revision) -> str:
    """Compare the code of rows with the code of now: by its identity, or by its revision where a row has none."""
    counts: Counter[Revision] = Counter()
    columns = ["suite", "dataset", "method", "code_identity", "code_revision", "code_dirty"]
    for (*cell, identity, commit, dirty), count in rows.groupby(columns, dropna=False).size().items():
        revision = Revision(commit, None if pd.isna(dirty) else bool(dirty))
        same = revision == present if pd.isna(identity) else identity == identity_of(*cell)
        counts[revision] += 0 if same else count
    stored = ", ".join(f"{count} of {_in_words(revision)}" for revision, count in counts.items() if count)
    return (
        f"Cells of another code revision stand beside these: {stored}; this is {_in_words(present)}." if stored else ""
    )


def _in_words(revision: Revision) -> str:
    return revision.commit[:12] + (" with uncommitted changes" if revision.dirty else "")


def _other_protocols(rows: pd.DataFrame, wanted: Sequence[Cell]) -> str:
    here = {cell.protocol.hash for cell in wanted}
    stored = rows[~rows["protocol_hash"].isin(here)].groupby(["preset", "protocol_hash"]).size()
    told = ", ".join(f"{count} of {preset}@{own}" for (preset, own), count in stored.items())
    return f"Cells of another protocol are in the folder: {told}; this is {', '.join(sorted(here))}." if told else ""


def _other_spaces(rows: pd.DataFrame, wanted: Sequence[Cell]) -> str:
    cells = {(cell.dataset, cell.method, cell.protocol.hash): cell for cell in wanted}
    groups = rows.dropna(subset="search_space").groupby(["dataset", "method", "protocol_hash"])["search_space"]
    told = []
    for key, stored in groups:
        if key in cells:
            present = json.loads(space_of_cell(cells[key]))
            count = sum(json.loads(one) != present for one in stored)
            told += [f"{key[1]} on {key[0]} ({count})"] if count else []
    return f"Cells that were tuned over another search space: {', '.join(told)}." if told else ""


def space_of_cell(cell: Cell) -> str:
    """The search space that a cell would have now, as its row has it."""
    from bench.experiment.tasks import as_json, method_for, space_of, task_of

    task = task_of(cell.suite, cell.dataset, cell.protocol)
    return as_json(space_of(method_for(cell.method, task), task, cell.protocol))
