"""The record of a finished cell (one method on one split), and its conversion to a row of `shared.columns.CELLS`.

An evaluation returns one `Outcome` per cell. The process that ran it adds the machine, the time and the code version,
and makes a `CellResult`. All records are frozen. Types of values are checked against the schema when the row is
converted to a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import Any

import pyarrow as pa

from lockstep_bench.bench.environment.provenance import code_revision, host, versions
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.encoding import parquet_of
from lockstep_bench.shared.columns import CELLS, METRICS, TABLES
from lockstep_bench.shared.schema import EXECUTIONS, SCHEMA_VERSION, STATUSES
from lockstep_bench.shared.texts import from_outside

# Fields that are not columns.
COMPOUND = {"cell", "outcome", "provenance", "data", "tuning", "fit", "metrics", "tables"}
# Texts of methods, libraries and machines, with the most characters that are stored of each.
FREE_TEXTS = {"error": 20_000, "error_class": 500, "log": 100_000, "device": 500, "host": 500}


@dataclass(frozen=True, kw_only=True)
class Record:
    """Base of records: each holds the columns of a result row that become known at the same time.

    Every field, except for those in `COMPOUND`, is a column of `shared.columns.CELLS`. The texts in `FREE_TEXTS` are
    made printable and shortened, so that they can be stored and shown.
    """

    def __post_init__(self) -> None:
        for name, most in FREE_TEXTS.items():
            if (text := getattr(self, name, None)) is not None:
                object.__setattr__(self, name, from_outside(text, most))

    def columns(self) -> dict[str, Any]:
        """Return the columns that this record holds, name -> value."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in COMPOUND}


@dataclass(frozen=True, kw_only=True)
class DataFacts(Record):
    """Columns about the data of a cell.

    Attributes:
        task: "regression", "binary" or "multiclass".
        n_train: Number of points that the final fit is trained on.
        n_test: Number of points that it is scored on.
        n_ood: Number of out-of-distribution points.
        data_sha256: Checksum of the data set.
        split_sha256: Checksum of the split.
    """

    task: str
    n_train: int
    n_test: int
    n_ood: int
    data_sha256: str
    split_sha256: str


@dataclass(frozen=True, kw_only=True)
class TuningFacts(Record):
    """The result of a cell's search for hyper-parameters.

    Attributes:
        hparams: The chosen hyper-parameters, as a JSON object.
        n_trials: Number of trials.
        n_trials_failed: Number of trials without a usable score.
        tune_seconds: Duration of the search; None if there were no trials.
        validation_nmll: Score of the chosen trial, nats, if trials are scored by the NMLL.
        validation_w2_scaled: Score of the chosen trial, if trials are scored by the scaled 2-Wasserstein distance.
    """

    hparams: str
    n_trials: int
    n_trials_failed: int
    tune_seconds: float | None = None
    validation_nmll: float | None = None
    validation_w2_scaled: float | None = None


@dataclass(frozen=True, kw_only=True)
class FitFacts(Record):
    """Size and costs of a cell's final fit.

    Attributes:
        fit_seconds: Duration of the training, without the time for recording diagnostics.
        n_weights: Number of weights of the network.
        n_parameters: Number of parameters that the posterior stores.
        execution: How the fit was trained, for example natively compiled: one of `shared.schema.EXECUTIONS`.
        diagnostics: Measurements of the fit that have no column, as a JSON object; most come from the method.
        predict_seconds_per_1000: Seconds to predict 1000 test points.
        sgd_ratio: Training time per minibatch, divided by that of plain SGD.

    Raises:
        ValueError: `execution` is unknown.
    """

    fit_seconds: float
    n_weights: float
    n_parameters: float
    execution: str | None = None
    diagnostics: str | None = None
    predict_seconds_per_1000: float | None = None
    sgd_ratio: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.execution is not None:
            _check_name("execution", self.execution, EXECUTIONS)

    def with_diagnostics(self, **values: float) -> FitFacts:
        """Return a copy with further diagnostics; a value that is not finite is stored as null."""
        finite = {name: value if isfinite(value) else None for name, value in values.items()}
        return replace(self, diagnostics=json.dumps(json.loads(self.diagnostics or "{}") | finite))


@dataclass(frozen=True, kw_only=True)
class Outcome(Record):
    """The result of the evaluation of a cell.

    Attributes:
        data: Facts about the data; None until the data set is loaded.
        search_space: Optuna distributions by hyper-parameter, as a JSON object; None if nothing is tuned.
        tuning: Result of the hyper-parameter search; None until it is over.
        fit: Size and costs of the final fit; None until it is trained.
        metrics: Values by their names in `shared.columns.METRICS`; empty unless `status` is "ok".
        reference: Kind and quality of the reference posterior, as a JSON object.
        status: One of `shared.schema.STATUSES`; None until the evaluation is finished.
        error: The reason for a status other than "ok".
        error_class: Class of the exception, as "module.Class", or "Class" if it is built in.
        tables: Tables that are stored in separate files, by their names in `shared.columns.TABLES`.

    Raises:
        ValueError: A metric, a table or the status is unknown, or there are metrics although the status is not "ok".
    """

    data: DataFacts | None = None
    search_space: str | None = None
    tuning: TuningFacts | None = None
    fit: FitFacts | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    reference: str | None = None
    status: str | None = None
    error: str | None = None
    error_class: str | None = None
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.status is not None:
            _check_name("status", self.status, STATUSES)
        for name in self.metrics:
            _check_name("metric", name, METRICS)
        for name in self.tables:
            _check_name("table", name, TABLES)
        if self.metrics and self.status != "ok":
            raise ValueError(f"an outcome of status {self.status!r} has metrics; only one of status 'ok' may")

    @property
    def trained_fit(self) -> FitFacts:
        """Size and costs of the final fit, which must have been trained."""
        assert self.fit is not None
        return self.fit


@dataclass(frozen=True, kw_only=True)
class Provenance(Record):
    """Provenance of a result: code, packages and machine.

    Attributes:
        code_revision: Git commit, or "unversioned".
        code_dirty: True if tracked code files differed from the commit; None if unknown.
        code_identity: Hash of the code that the numbers depend on, see `bench.experiment.code.identity_of`; None if
            unknown.
        checked: Whether a third-party method passed the checks of the method contract, a key of
            `shared.schema.CHECKED`; None for a method of this project.
        versions: Versions of Python and of packages, as a JSON object.
        device: Name of the GPU, or "cpu".
        host: Name of the machine.
        finished_at: The time when the cell was finished, in UTC.
    """

    code_revision: str
    code_dirty: bool | None = None
    code_identity: str | None = None
    checked: str | None = None
    versions: str
    device: str
    host: str
    finished_at: datetime

    @classmethod
    def now(cls, device: str, code_identity: str | None = None, checked: str | None = None) -> Provenance:
        """Return the provenance of a result that this process has just finished on the device called `device`."""
        revision = code_revision()
        return cls(
            code_revision=revision.commit,
            code_dirty=revision.dirty,
            code_identity=code_identity,
            checked=checked,
            versions=versions(),
            device=device,
            host=host(),
            finished_at=datetime.now(UTC),
        )


@dataclass(frozen=True, kw_only=True)
class CellResult(Record):
    """The result of a finished cell: one row of `shared.columns.CELLS`, and its tables.

    Attributes:
        cell: The method, data set, split and protocol.
        outcome: The result of the evaluation; its status is not None.
        provenance: Where the result comes from.
        elapsed_seconds: Duration of the job, that is, of all cells that were run together with this one.
        peak_memory_mib: Peak memory of the job in MiB; None if its process died.
        exclusive: True if times were measured alone: no other job ran on the device, and the job had no other cell.
        log: Last lines of output of the process. If the status is "ok", the reason why fits were not natively compiled,
            or None.

    Raises:
        ValueError: The outcome has no status yet.
    """

    cell: Cell
    outcome: Outcome
    provenance: Provenance
    elapsed_seconds: float
    peak_memory_mib: float | None = None
    exclusive: bool | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outcome.status is None:
            raise ValueError(f"the outcome of {self.cell.key} has no status; allowed: {', '.join(STATUSES)}")

    @property
    def status(self) -> str:
        """The status of the outcome, one of `shared.schema.STATUSES`."""
        assert self.outcome.status is not None
        return self.outcome.status

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Tables that are stored in separate files, by their names in `shared.columns.TABLES`."""
        return self.outcome.tables

    @property
    def row(self) -> dict[str, Any]:
        """The row as a dictionary: all columns of `shared.columns.CELLS`, in their order; None for unknown values."""
        cell, outcome = self.cell, self.outcome
        values = {
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(cell, name) for name in ("suite", "dataset", "method", "split", "preset", "seed")},
            "protocol": cell.protocol.to_json(),
            "protocol_hash": cell.protocol.hash,
            **outcome.metrics,
        }
        for part in (self, outcome, outcome.data, outcome.tuning, outcome.fit, self.provenance):
            values |= {} if part is None else part.columns()
        return {name: values.get(name) for name in CELLS.names}

    def to_table(self) -> pa.Table:
        """Return the row as an Arrow table of the schema `shared.columns.CELLS`."""
        return pa.Table.from_pylist([self.row], schema=CELLS)

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Parquet files of the tables, by their names; the last, "cells", holds the row.

        They are encoded once, in the process that finished the cell, to relieve the process that stores all results.
        A changed copy of the result is encoded again.
        """
        tables = {name: parquet_of(table) for name, table in self.tables.items()}
        return {**tables, "cells": parquet_of(self.to_table())}


def class_name(problem: BaseException) -> str:
    """Return the class of an exception as text, "module.Class", or "Class" if it is built in."""
    kind = type(problem)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _check_name(what: str, name: str, allowed: Mapping[str, Any] | tuple[str, ...]) -> None:
    """Raise unless `name` is one of those allowed."""
    if name in allowed:
        return
    near = get_close_matches(name, allowed, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    raise ValueError(f"{what} {name!r} is unknown{meant} Allowed: {', '.join(allowed)}")
