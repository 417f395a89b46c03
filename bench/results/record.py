"""The record of a finished cell, and its conversion to one row of `shared.schema.CELLS`.

An evaluation returns one `Outcome` per cell. The process that ran it adds where, when and by which code, which makes a
`CellResult`. All records are frozen. Types of values are compared with the schema when the row is made a table.
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
from lockstep_bench.shared.schema import CELLS, EXECUTIONS, METRICS, SCHEMA_VERSION, STATUSES, TABLES
from lockstep_bench.shared.texts import from_outside

# Fields that are not columns.
COMPOUND = {"cell", "outcome", "provenance", "data", "tuning", "fit", "metrics", "tables"}
# Texts of methods, libraries and machines, with the most characters that are stored of each.
FREE_TEXTS = {"error": 20_000, "error_class": 500, "log": 100_000, "device": 500, "host": 500}


@dataclass(frozen=True, kw_only=True)
class Record:
    """Columns of a cell's row that become known together.

    Every field, except for those in `COMPOUND`, is a column of `shared.schema.CELLS`. A field without a default is
    required. The fields of `FREE_TEXTS` are made printable and capped, so that they can be stored and shown.
    """

    def __post_init__(self) -> None:
        for name, most in FREE_TEXTS.items():
            if (text := getattr(self, name, None)) is not None:
                object.__setattr__(self, name, from_outside(text, most))

    def columns(self) -> dict[str, Any]:
        """Return the columns that this record holds, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in COMPOUND}


@dataclass(frozen=True, kw_only=True)
class DataFacts(Record):
    """The data of a cell.

    Attributes:
        task: "regression", "binary" or "multiclass".
        n_train: Points that the final fit is trained on.
        n_test: Points that it is scored on.
        n_ood: Points from outside the distribution.
        data_sha256: Fingerprint of the data set.
        split_sha256: Fingerprint of the split.
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
        hparams: The chosen ones, as a JSON object.
        n_trials: Trials in all.
        n_trials_failed: Trials without a usable score.
        tune_seconds: Duration of the search; None where nothing was tried.
        validation_nmll: Score of the chosen trial, where trials are scored by it; nats.
        validation_w2_scaled: Score of the chosen trial, where trials are scored by it.
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
        fit_seconds: Duration of the training, without the time that recording diagnostics took.
        n_weights: Weights of the network.
        n_parameters: Numbers that the posterior stores.
        execution: How the fit was trained, one of `shared.schema.EXECUTIONS`.
        diagnostics: Measurements of the fit that have no column, as a JSON object; most are reported by the method.
        predict_seconds_per_1000: Seconds to predict 1000 test points.
        sgd_ratio: Seconds per minibatch over those of plain SGD.

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
        """Return these facts with further diagnostics; a value that is not finite is stored as null."""
        finite = {name: value if isfinite(value) else None for name, value in values.items()}
        return replace(self, diagnostics=json.dumps(json.loads(self.diagnostics or "{}") | finite))


@dataclass(frozen=True, kw_only=True)
class Outcome(Record):
    """The result of the evaluation of a cell.

    Attributes:
        data: None until the data set is loaded.
        search_space: Optuna distributions by hyper-parameter, as a JSON object; None where nothing is searched.
        tuning: None until the search is over.
        fit: None until the final fit is trained.
        metrics: Values by their names in `shared.schema.METRICS`; empty unless `status` is "ok".
        reference: Kind and quality of the reference posterior, as a JSON object.
        status: One of `shared.schema.STATUSES`; None while the evaluation goes on.
        error: The reason for a status other than "ok".
        error_class: Name of the exception, "module.Class" unless it is built in.
        tables: Tables that are stored beside the row, by their names in `shared.schema.TABLES`.

    Raises:
        ValueError: A metric, a table or the status is unknown; or there are metrics without the status "ok".
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
        """The facts of the final fit, which must be trained."""
        assert self.fit is not None
        return self.fit


@dataclass(frozen=True, kw_only=True)
class Provenance(Record):
    """Code, packages and machine that a result comes from.

    Attributes:
        code_revision: Git commit, or "unversioned".
        code_dirty: True if tracked files of code differed from it; None if unknown.
        code_identity: Hash of the code that the numbers depend on, see `bench.experiment.code.identity_of`; None if
            unknown.
        checked: Whether the code of a method of another package kept the contract, a key of `shared.schema.CHECKED`;
            None for a method of this project.
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
        """Return the provenance of a result that this process has just finished on the device of that name."""
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
    """A finished cell: one row of `shared.schema.CELLS`, and the tables beside it.

    Attributes:
        cell: The method, data set, split and protocol.
        outcome: The result of the evaluation; its status is not None.
        provenance: Where the result comes from.
        elapsed_seconds: Duration of the job that the cell was part of.
        peak_memory_mib: Peak memory of that job; None if its process died.
        exclusive: True if times are uncontended: no other job ran on the device, no other cell in the job.
        log: Last lines that the process wrote; if the status is "ok", why fits were not trained natively, or None.

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
        """Tables that are stored beside the row, by their names in `shared.schema.TABLES`."""
        return self.outcome.tables

    @property
    def row(self) -> dict[str, Any]:
        """All columns of `shared.schema.CELLS`, in their order; None where a value is not known."""
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
        """Return the row as an Arrow table of the schema `shared.schema.CELLS`."""
        return pa.Table.from_pylist([self.row], schema=CELLS)

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Parquet files of the tables, by their names, and last that of the row, "cells".

        A process that has finished a cell makes them, so that the one that stores the cells of many has less to do. A
        changed copy of the result makes its own.
        """
        tables = {name: parquet_of(table) for name, table in self.tables.items()}
        return {**tables, "cells": parquet_of(self.to_table())}


def class_name(problem: BaseException) -> str:
    """Return the name of an exception's class in rows: "module.Class", or "Class" if it is built in."""
    kind = type(problem)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _check_name(what: str, name: str, allowed: Mapping[str, Any] | tuple[str, ...]) -> None:
    """Raise unless `name` is one of those allowed."""
    if name in allowed:
        return
    near = get_close_matches(name, allowed, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{what} {name!r} is unknown{meant} Allowed: {', '.join(allowed)}")
