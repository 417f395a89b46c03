"""Comparison of earlier results in a folder with the cells of a new run."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pandas as pd

from lockstep_bench import datasets
from lockstep_bench.bench.environment.provenance import Revision, code_revision
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.code import identity_of
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.datasets import Dataset

REMEDY = "--fresh starts over and keeps the old results aside; another --out keeps both"


def notes_on_earlier_rows(rows: pd.DataFrame, cells: Sequence[Cell], data_dir: Path | None) -> list[str]:
    """Return warnings about earlier results that differ from new cells in code, protocol or search space.

    Results are compared with new cells of the same suite, data set and preset.

    Args:
        rows: Earlier results, from `Results.rows`.
        cells: The cells of the new run.
        data_dir: Data folder; None for the default.

    Raises:
        InvalidRequest: Earlier results were computed on other data.
    """
    boards = {(cell.suite, cell.dataset, cell.preset) for cell in cells}
    keys = pd.MultiIndex.from_frame(rows[["suite", "dataset", "preset"]])
    shared = rows[keys.isin(boards)] if boards else rows[:0]
    _refuse_other_data(shared, data_dir)
    notes = [
        _other_code(shared, code_revision()),
        _other_protocols(shared, cells),
        _other_spaces(shared, cells, data_dir),
    ]
    sentences = [sentence for sentence in notes if sentence]
    return [*sentences, f"The page says so. {REMEDY}."] if sentences else []


def _refuse_other_data(rows: pd.DataFrame, data_dir: Path | None) -> None:
    differing = []
    for key, on_dataset in rows.dropna(subset="data_sha256").groupby("dataset"):
        name = str(key)
        present, task = datasets.load(name, data_dir), datasets.entry(name).task
        other = on_dataset[on_dataset["data_sha256"] != present.data_sha256]
        if len(other):
            stored = ", ".join(sha[:12] for sha in sorted(other["data_sha256"].unique()))
            differing.append(f"{len(other)} cells of {name} (SHA-256 {stored}; here {present.data_sha256[:12]})")
            continue
        if other_task := sorted({*on_dataset["task"].dropna()} - {task}):
            differing.append(f"cells of {name} as a {other_task[0]} task (here {task})")
        here = on_dataset["split"].map(dict(enumerate(present.split_sha256)))
        if moved := int((on_dataset["split_sha256"].notna() & (on_dataset["split_sha256"] != here)).sum()):
            differing.append(f"{moved} cells of {name} on other training and test rows")
    if differing:
        raise InvalidRequest(f"the results folder holds other data than are here: {'; '.join(differing)}. {REMEDY}")


def _other_code(rows: pd.DataFrame, present: Revision) -> str:
    """Compare the code of rows with the present code: by its identity, or by its revision if a row has no identity."""
    counts: Counter[Revision] = Counter()
    columns = ["suite", "dataset", "method", "code_identity", "code_revision", "code_dirty"]
    counted = rows.groupby(columns, dropna=False).size().reset_index(name="count")
    for *cell, identity, commit, dirty, count in counted.itertuples(index=False, name=None):
        revision = Revision(commit, None if pd.isna(dirty) else bool(dirty))
        same = revision == present if pd.isna(identity) else identity == identity_of(*cell)
        counts[revision] += 0 if same else count
    stored = ", ".join(f"{count} of {_in_words(revision)}" for revision, count in counts.items() if count)
    return f"The folder holds cells of another code revision: {stored}; this is {_in_words(present)}." if stored else ""


def _in_words(revision: Revision) -> str:
    return revision.commit[:12] + (" with uncommitted changes" if revision.dirty else "")


def _other_protocols(rows: pd.DataFrame, cells: Sequence[Cell]) -> str:
    hashes = {cell.protocol.hash for cell in cells}
    other = rows[~rows["protocol_hash"].isin(hashes)]
    counted = other.groupby(["preset", "protocol_hash"]).size().reset_index(name="count")
    triples = counted.itertuples(index=False, name=None)
    stored = ", ".join(f"{count} of {preset}@{protocol_hash}" for preset, protocol_hash, count in triples)
    if not stored:
        return ""
    return f"The folder holds cells of another protocol: {stored}; this is {', '.join(sorted(hashes))}."


def _other_spaces(rows: pd.DataFrame, cells: Sequence[Cell], data_dir: Path | None) -> str:
    examples = {(cell.dataset, cell.method, cell.protocol.hash): cell for cell in cells}
    load = cache(partial(datasets.load, data_dir=data_dir))
    differing: Counter[str] = Counter()  # number of rows, by method and data set
    counted = rows.groupby(["dataset", "method", "protocol_hash", "search_space"])["split"].agg(list).reset_index()
    for dataset, method, protocol_hash, space, splits in counted.itertuples(index=False, name=None):
        cell = examples.get((dataset, method, protocol_hash))
        if not cell:
            continue
        if datasets.entry(dataset).noise_precisions is None:  # each split has a space of its own
            count = sum(not _same(space, replace(cell, split=split), load) for split in splits)
        else:
            count = 0 if _same(space, cell, load) else len(splits)
        if count:
            differing[f"{cell.method} on {cell.dataset}"] += count
    stored = ", ".join(f"{name} ({count})" for name, count in differing.items())
    return f"The folder holds cells that were tuned over another search space: {stored}." if stored else ""


def _same(space: str, cell: Cell, load: Callable[[str], Dataset]) -> bool:
    return bool(json.loads(space) == json.loads(space_of_cell(cell, load)))


def space_of_cell(cell: Cell, load: Callable[[str], Dataset] = datasets.load) -> str:
    """Return the search space that a cell has with the present code, as a JSON object.

    `load` is the function that loads a data set by its name.
    """
    from lockstep_bench.bench.experiment.tasks import as_json, method_for, space_of, task_from

    source = datasets.entry(cell.dataset)
    if source.noise_precisions is None:
        source = datasets.source_of_split(source, load(cell.dataset), cell.split)
    task = task_from(source, cell.suite, cell.protocol)
    return as_json(space_of(method_for(cell.method, task), task, cell.protocol))
