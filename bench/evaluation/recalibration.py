"""Scores of finished cells after recalibration by one number, which is fitted to held-out rows of the training part.

For each cell, the method is trained with its tuned hyper-parameters on the training rows of each validation fold of the
search, and predicts the fold's held-out rows. One factor on the predictive standard deviation, or one temperature, is
fitted to all these predictions together (`bench.metrics.recalibrating`) and applied to the stored predictions of the
test rows. Test rows therefore take no part in the fit. Nothing is tuned: a cell costs one training for each fold.

These trainings have seeds of their own, so that the choice of the best of many trials does not flatter the predictions.
Methods whose trials train a cheaper proxy, such as ensembles, are trained whole.
"""

import json
import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import torch

from lockstep_bench import datasets, methods
from lockstep_bench.bench import metrics
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.fits import stacks
from lockstep_bench.bench.evaluation.prediction import PredictionRows, evaluation_of, prepared_fits
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.code import identity_of
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import ProgressReporter
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.metrics.prediction_table import predictive_of
from lockstep_bench.bench.metrics.recalibrating import best_factor, recalibrated
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.atomic import write_atomically
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, sealed, unsealed
from lockstep_bench.shared.rows.reader import CellFiles
from lockstep_bench.shared.rows.recalibrated import FACTOR, FOLDER, RECALIBRATED, SCORES, SUFFIX, read_recalibrated
from lockstep_bench.shared.rows.rows_cache import KEY
from lockstep_bench.shared.schema import cell_key

RUNNER = f"{evaluation_of.__module__}:{evaluation_of.__name__}"  # of the suites of tables


class Recalibration(NamedTuple):
    """Outcome for one cell.

    Attributes:
        key: path of the cell's file below OUT/cells, without suffix.
        reason: why the cell was not recalibrated; "" if it was.
    """

    key: str
    reason: str = ""


def recalibrations(out: Path, data_dir: Path | None = None, device: str = "cpu") -> Iterator[Recalibration]:
    """Recalibrate the finished cells of a results folder that are not recalibrated yet, and yield their outcomes.

    Rows of OUT/recalibrated have the columns of `shared.rows.recalibrated.RECALIBRATED`: each of `SCORES` that the cell
    has, and the same after recalibration with the suffix `SUFFIX`.

    Args:
        out: results folder.
        data_dir: data folder; None for the default.
        device: torch's name of the device to train on.
    """
    done = {_of_result(row) for row in read_recalibrated(out).table.to_pylist()}
    left = []
    for row in CellFiles(out).table.to_pylist():
        if row["status"] != "ok" or _of_result(row) in done:
            continue
        if reason := _obstacle(out, row):
            yield Recalibration(_key(row), reason)
        else:
            left.append(row)
    for _, group in groupby(sorted(left, key=_group), key=_group):
        yield from _of_group(out, list(group), data_dir, torch.device(device))


def _obstacle(out: Path, row: Mapping[str, Any]) -> str:
    """Return why a finished cell cannot be recalibrated; "" if it can."""
    if row["suite"] not in SUITES or SUITES[row["suite"]].kind.runner != RUNNER:
        return "only suites of tables are recalibrated"
    if not (out / "predictions" / f"{_key(row)}.parquet").is_file():
        return "no predictions are kept"
    try:
        methods.get(row["method"])
    except (methods.UnknownMethod, methods.BrokenMethod) as problem:
        return str(problem)
    if row["code_identity"] != identity_of(row["suite"], row["dataset"], row["method"]):
        return "other code made this row; run the cell again"
    return ""


def _of_group(
    out: Path, rows: list[dict[str, Any]], data_dir: Path | None, device: torch.device
) -> Iterator[Recalibration]:
    """Recalibrate cells that differ only in their split."""
    try:
        held_out = _held_out(rows, data_dir, device)
    except datasets.Unavailable as problem:
        yield from (Recalibration(_key(row), str(problem)) for row in rows)
        return
    for row, of_cell in zip(rows, held_out, strict=True):
        path = out / "predictions" / f"{_key(row)}.parquet"
        try:
            predictive, y, _ = predictive_of(unsealed(path.read_bytes()))
        except Damaged as problem:
            yield Recalibration(_key(row), f"{path}: {problem}")
            continue
        if flaw := next((flaw for each, _ in of_cell if (flaw := metrics.flaw(each, "held-out points"))), None):
            yield Recalibration(_key(row), f"a fit on a fold predicts no distribution: {flaw}")
            continue
        factor = best_factor(of_cell)
        y_scale = math.exp(row["nmll"] - row["nmll_standardised"]) if row["task"] == "regression" else 1.0
        scores = metrics.evaluate(recalibrated(predictive, factor), y, y_scale)
        values = {name: row.get(name) for name in RECALIBRATED.names}
        values |= {FACTOR: factor, "n_held_out": sum(len(targets) for _, targets in of_cell)}
        values |= {f"{name}{SUFFIX}": value for name, value in scores.items() if name in SCORES}
        write_atomically(sealed(pa.Table.from_pylist([values], RECALIBRATED)), _path(out, row))
        yield Recalibration(_key(row))


def _held_out(
    rows: list[dict[str, Any]], data_dir: Path | None, device: torch.device
) -> list[list[tuple[Predictive, torch.Tensor]]]:
    """Return, for each cell, the predictives of its folds' held-out rows, each with the targets."""
    protocol = Protocol.from_json(rows[0]["protocol"])
    names = ("suite", "dataset", "method", "split", "preset")
    cells = tuple(Cell(**{name: row[name] for name in names}, protocol=protocol, seed=row["seed"]) for row in rows)
    assignment = Assignment.of(Job(cells, tuple(Path() for _ in cells), data_dir), device)
    prediction_rows = PredictionRows(assignment)
    work = prepared_fits(assignment, prediction_rows, ProgressReporter(1, lambda _: None))
    fits = [
        (number, split, fit, part.scored_on)
        for number, (split, row) in enumerate(zip(work.splits, rows, strict=True))
        for fit, part in zip(
            split.trial(row["n_trials"] or 0, json.loads(row["hparams"])), split.held_out(), strict=True
        )
    ]
    held_out: list[list[tuple[Predictive, torch.Tensor]]] = [[] for _ in rows]
    for places in stacks([split for _, split, _, _ in fits], work.trainer.limit):
        numbers, splits, stacked, scored_on = zip(*(fits[place] for place in places), strict=True)
        trained = work.trainer.train(work.trainer.method, splits[0], stacked, splits[0].largest.trial)
        predictives = trained.predict(scored_on, protocol.samples)
        for number, predictive, points in zip(numbers, predictives, scored_on, strict=True):
            of_points = type(predictive)(*(part.cpu() for part in predictive))
            held_out[number].append((of_points, prediction_rows.data.y[points].cpu()))
    return held_out


def _group(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY if name not in ("split", "seed"))


def _of_result(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a cell and its recalibration have in common; a cell that was run again has another NMLL."""
    return (*(row[name] for name in KEY), row["nmll"])


def _key(row: Mapping[str, Any]) -> str:
    return cell_key(*(row[name] for name in KEY))


def _path(out: Path, row: Mapping[str, Any]) -> Path:
    return out / FOLDER / f"{_key(row)}.parquet"
