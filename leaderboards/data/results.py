"""Reading of results folders: the rows that leaderboards use, skipped files and unavailable data sets."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.data.fingerprints import Choice, decide
from lockstep_bench.leaderboards.data.frames import as_frame
from lockstep_bench.leaderboards.data.longer import with_convergence
from lockstep_bench.leaderboards.data.recalibrated import NONE_RECALIBRATED, with_recalibration
from lockstep_bench.leaderboards.data.rechecks import FILE, Recheck, read_rechecks, with_recheck
from lockstep_bench.leaderboards.data.times import latest_timings, with_exclusive_times
from lockstep_bench.shared.rows.encoded import joined
from lockstep_bench.shared.rows.reader import CellFiles, read_longer, read_timings
from lockstep_bench.shared.rows.recalibrated import read_recalibrated
from lockstep_bench.shared.schema import LONGER


class Skipped(NamedTuple):
    """A file in a results folder that was skipped, and why."""

    path: str  # relative to its results folder, which precedes it if there are several
    reason: str


class UnavailableSet(NamedTuple):
    """A data set that was not available to a run, why, and what to do about it."""

    dataset: str
    reason: str
    remedy: str


class Leaderboard(NamedTuple):
    """Contents of results folders.

    Attributes:
        folders: the folders as they were given.
        cells: one row per cell (a method on a split of a data set, under one preset and seed), columns
            `frames.TIMED_ROWS`. Times are null where other work shared the device; convergence diagnostics come also
            from repetitions (`longer.with_convergence`). Recalibrated cells have further columns
            (`shared.rows.recalibrated.SHOWN`).
        choices: records of rows that are not used because they contradict others; see `fingerprints.decide`.
        rows: all rows as they are in their files: those of `cells`, contradicting ones and duplicates.
        timings: latest timing of each cell that was repeated alone on its device, columns `frames.TIMING_ROWS`.
        longer: scores of cells that were trained again, once for longer, columns `shared.schema.LONGER`.
        rechecks: rechecks (results drawn at random and run again) of all folders.
        recalibrated: scores after recalibration, columns `shared.rows.recalibrated.RECALIBRATED`.
        skipped: files that were left out.
        unavailable: data sets that were not available to the runs.
    """

    folders: tuple[Path, ...]
    cells: pd.DataFrame
    choices: list[Choice]
    skipped: list[Skipped]
    unavailable: list[UnavailableSet]
    rows: pd.DataFrame
    timings: pd.DataFrame
    longer: pd.DataFrame = LONGER.empty_table().to_pandas()
    rechecks: tuple[Recheck, ...] = ()
    recalibrated: pd.DataFrame = NONE_RECALIBRATED


def read_results(*folders: Path, cached: bool = True) -> Leaderboard:
    """Return the contents of several results folders, as if one run had filled them.

    Files that cannot be read raise no error; they are listed as skipped.

    Args:
        folders: the folders.
        cached: True to take rows of files that were read before from a cache in the user's cache folder.
    """
    tables, timings, longer, recalibrated, skipped = [], [], [], [], []
    rechecks: list[Recheck] = []
    unavailable: dict[str, UnavailableSet] = {}
    for folder in folders:
        above = f"{folder}/" if len(folders) > 1 else ""
        files, timed, trained_longer = CellFiles(folder, cached=cached), read_timings(folder), read_longer(folder)
        scored_again = read_recalibrated(folder)
        kept, problem = _read_rechecks(folder)
        tables.append(with_recheck(_with_folder(files.encoded, folder), kept))
        rechecks += kept
        timings.append(timed.table)
        longer.append(trained_longer.table)
        recalibrated.append(scored_again.table)
        others = timed.unreadable | trained_longer.unreadable | scored_again.unreadable
        left_out = files.unreadable | files.passed_over | others
        for path, reason in left_out.items():
            skipped.append(Skipped(above + path.relative_to(folder).as_posix(), reason))
        entries, no_list = _read_unavailable(folder / "unavailable.json")
        unavailable |= {entry.dataset: entry for entry in entries if entry.dataset not in unavailable}
        skipped += [file._replace(path=above + file.path) for file in [*problem, *no_list]]
    rows = as_frame(joined(tables))
    cells, choices = decide(rows)
    latest = latest_timings(pa.concat_tables(timings).to_pandas())
    trained = pa.concat_tables(longer).to_pandas()
    scores = pa.concat_tables(recalibrated).to_pandas()
    cells = with_recalibration(with_convergence(with_exclusive_times(cells, latest), trained), scores)
    found = list(unavailable.values())
    return Leaderboard(folders, cells, choices, skipped, found, rows, latest, trained, tuple(rechecks), scores)


def _with_folder(rows: pa.Table, folder: Path) -> pa.Table:
    texts = pa.DictionaryArray.from_arrays(np.zeros(len(rows), np.int32), pa.array([str(folder)]))
    return rows.append_column("folder", texts)


def _read_rechecks(folder: Path) -> tuple[list[Recheck], list[Skipped]]:
    try:
        return read_rechecks(folder), []
    except ValueError as error:
        return [], [Skipped(FILE, str(error))]


def _read_unavailable(path: Path) -> tuple[list[UnavailableSet], list[Skipped]]:
    if path.exists() and not path.is_file():  # reading a pipe would wait for ever
        return [], [Skipped(path.name, "not a file")]
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [UnavailableSet(str(e["dataset"]), str(e["reason"]), str(e["remedy"])) for e in entries], []
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return [], [Skipped(path.name, "not a JSON list of objects with dataset, reason and remedy")]
