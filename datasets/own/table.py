"""Description of a user's own table. Every process of a run reads the same data set from it."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.columns import TASKS, Features, check_target, features_of, target_of
from lockstep_bench.datasets.own.doubts import doubts_about
from lockstep_bench.datasets.own.dummies import with_inputs
from lockstep_bench.datasets.own.files import read_frame, sha256_of
from lockstep_bench.datasets.own.format import Format
from lockstep_bench.datasets.own.reading import Column, check_names, columns_of, inputs_of, notes_on
from lockstep_bench.datasets.own.splits_file import read_splits, scheme_of
from lockstep_bench.datasets.own.wording import examples
from lockstep_bench.datasets.records import Source, Split
from lockstep_bench.datasets.splits import fixed_splits

SUITE = "own"
N_SPLITS, SEED = 20, 0  # of `fixed_splits`, where no file gives the splits
LEAST_ROWS, FEW_ROWS = 20, 100
IMPUTE = ("median",)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Description of a user's own table: its files, the user's options, and facts such as its number of rows.

    Attributes:
        name: name of the data set.
        title: display name.
        path: file of the table.
        sha256: SHA-256 of the file's bytes.
        target: column that is predicted.
        task, n_classes, n_rows, n_features, n_splits, split_scheme, notes: see `datasets.Source`.
        decimal, thousands, na_values, no_header: see `datasets.own.format.Format`.
        impute: "median" if missing values are filled, "" if there are none.
        splits_file: file of the splits; "" for `N_SPLITS` random ones of 90 % training rows.
        splits_sha256: SHA-256 of the bytes of `splits_file`; "" if there is none.
        origin: who collected the data, and where they were published; "" to show the names of the file and the target
            column.
        licence: licence as stated by the publisher.
    """

    name: str
    title: str
    path: str
    sha256: str
    target: str
    task: str
    n_classes: int | None
    n_rows: int
    n_features: int
    n_splits: int
    split_scheme: str
    decimal: str = ""
    thousands: str = ""
    na_values: tuple[str, ...] = ()
    no_header: bool = False
    impute: str = ""
    splits_file: str = ""
    splits_sha256: str = ""
    notes: tuple[str, ...] = ()
    origin: str = ""
    licence: str = ""

    def to_json(self) -> str:
        """Return the description as a JSON object."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Table:
        """Return the description that `to_json` wrote.

        Raises:
            ValueError: the text is not such a description.
        """
        values = json.loads(text)
        try:
            notes, missing = values["notes"], values.get("na_values", ())
            table = cls(**values | {"notes": tuple(notes), "na_values": tuple(missing)})
        except (TypeError, KeyError) as problem:
            raise ValueError(f"not the description of a table: {problem}") from problem
        kinds: dict[Any, Any] = {"str": str, "int": int, "bool": bool, "int | None": int | None}
        for each in fields(table):
            value = getattr(table, each.name)
            if not isinstance(value, kinds.get(each.type, tuple)):
                raise ValueError(f"not the description of a table: {each.name} is {value!r}")
        if not all(isinstance(text, str) for text in (*notes, *missing)):
            raise ValueError("not the description of a table: notes and na_values must be lists of strings")
        return table

    @property
    def layout(self) -> Format:
        """How the cells of the file are written."""
        return Format(self.decimal, self.thousands, self.na_values, self.no_header)

    @property
    def options(self) -> tuple[str, ...]:
        """Command-line options of `run_all.py` that select this table."""
        words = ["--csv", self.path, "--target", self.target, "--task", _task(self), *self.layout.options]
        words += ["--impute", self.impute] if self.impute else []
        return (*words, *(("--splits-file", self.splits_file) if self.splits_file else ()))

    def source(self, command: tuple[str, ...] = ()) -> Source:
        """Return the description of this data set for the registry.

        Args:
            command: options of `run_all.py` that select the table (`Source.command`); () if an installed package
                registers it.
        """
        return Source(
            name=self.name,
            title=self.title,
            n_rows=self.n_rows,
            n_features=self.n_features,
            n_splits=self.n_splits,
            origin=self.origin or f"{Path(self.path).name}, whose column {self.target} is predicted",
            licence=self.licence,
            read=partial(read, self),
            notes=self.notes,
            split_scheme=self.split_scheme,
            task=self.task,
            n_classes=self.n_classes,
            suites=(SUITE,),
            noise_precisions=None,  # of each split's own training rows
            impute=self.impute,
            command=command,
        )


def read(table: Table, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Read the file of a table, and return features x (N, P), targets y (N,) and the splits.

    `contents` is empty, because the table's files are not in the data folder.

    Raises:
        InvalidTable: a file has changed since it was described.
    """
    for path, expected in ((table.path, table.sha256), (table.splits_file, table.splits_sha256)):
        if path and (got := sha256_of(Path(path))) != expected:
            raise InvalidTable(f"{path} has changed since it was described: SHA-256 {got[:12]}, not {expected[:12]}")
    columns = columns_in(table)
    target = target_of(columns.pop(table.target), _task(table))
    features = _features(columns, table.impute)
    splits = with_inputs(_splits(table.splits_file, len(features.x)), features.x, features.dummies)
    return features.x, target.y, splits


def columns_in(table: Table) -> dict[str, Column]:
    """Read the file of a table and return its columns by name, each with its kind and cells."""
    classes = None if table.task == "regression" else table.target
    return columns_of(read_frame(Path(table.path), table.layout), table.layout, classes)


def describe(
    path: Path,
    target: str,
    *,
    name: str | None = None,
    task: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na_values: str | None = None,
    no_header: bool = False,
    impute: str | None = None,
    splits_file: Path | None = None,
    taken: Container[str] = (),
) -> tuple[Table, tuple[str, ...]]:
    """Read a table and return its description, and warnings for the user.

    Args:
        path: file of the table.
        target: column that is predicted.
        name: name of the data set; None to derive it from the file's name.
        task: "regression" or "classification"; None to infer it from the target.
        decimal: decimal separator of numbers; None for a point.
        thousands: separator between thousands; None for none.
        na_values: further texts and numbers that stand for missing values, with commas between them.
        no_header: whether the first line is a row of data; columns are then called 1, 2, 3, ...
        impute: "median" to fill missing values; None to refuse them.
        splits_file: file of the splits (`datasets.own.splits_file`); None for random splits.
        taken: names of other data sets.

    Raises:
        InvalidTable: the table cannot be used.
    """
    _check_choice("--task", task, TASKS)
    _check_choice("--impute", impute, IMPUTE)
    layout = Format.of(decimal, thousands, na_values, no_header)
    frame = read_frame(path, layout)
    if len(frame) < LEAST_ROWS:
        raise InvalidTable(f"{path} has {len(frame)} rows; at least {LEAST_ROWS} are needed to tune, train and test")
    if not no_header:
        check_names(frame, target, layout)
    check_target(list(map(str, frame)), target)
    columns = columns_of(frame, layout, target if task == "classification" else None)
    read_as = notes_on(columns)
    inputs = {column: each for column, each in columns.items() if column != target}
    of_target = target_of(columns[target], task)
    features = _features(inputs, impute or "")
    splits = with_inputs(_splits(str(splits_file or ""), len(frame)), features.x, features.dummies)
    n_classes = len(of_target.classes) or None
    doubts = doubts_about(columns, target, of_target)
    warnings = (*_doubts(len(frame), features.x), *doubts, *of_target.warnings, *features.warnings)
    table = Table(
        name=name or _name_of(path, taken),
        title=f"{path.stem}: {target}",
        path=str(path),
        sha256=sha256_of(path),
        target=target,
        task={None: "regression", 2: "binary"}.get(n_classes, "multiclass"),
        n_classes=n_classes,
        n_rows=len(frame),
        n_features=features.x.shape[1],
        n_splits=len(splits),
        split_scheme=scheme_of(splits) if splits_file else "resampled",
        **layout._asdict(),
        impute=impute if impute and any(column.cells.isna().any() for column in inputs.values()) else "",
        splits_file=str(splits_file or ""),
        splits_sha256=sha256_of(splits_file) if splits_file else "",
        notes=(*read_as, *of_target.notes, *features.notes, *_repeated(frame), _on_splits(splits_file)),
    )
    return table, warnings


def _task(table: Table) -> str:
    """Return the task by its option's value."""
    return "regression" if table.task == "regression" else "classification"


def _features(columns: Mapping[str, Column], impute: str) -> Features:
    placeholders = {name: examples(c.placeholders) for name, c in columns.items() if len(c.placeholders)}
    return features_of(inputs_of(columns), impute, placeholders)


def _splits(splits_file: str, n_rows: int) -> tuple[Split, ...]:
    return read_splits(Path(splits_file), n_rows) if splits_file else fixed_splits(n_rows, N_SPLITS, SEED)


def _name_of(path: Path, taken: Container[str]) -> str:
    """Return a name for the data set of a file: words of lower-case letters and digits, joined by hyphens."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in path.stem.lower())
    name = "-".join(letters.split()) or "table"
    return f"{name}-own" if name in taken else name


def _check_choice(option: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise InvalidTable(f"{option} {value!r} is unknown; allowed: {', '.join(allowed)}")


def _doubts(n_rows: int, x: np.ndarray) -> list[str]:
    few = f"{n_rows} rows are few: expect wide intervals, and few differences between methods that hold"
    wide = f"{x.shape[1]} features for {n_rows} rows, columns of categories included"
    return [few] * (n_rows < FEW_ROWS) + [wide] * (x.shape[1] > n_rows)


def _repeated(frame: Any) -> list[str]:
    count = int(frame.duplicated().sum())
    return [f"{count} rows repeat another row, so that test rows may have a twin in train."] if count else []


def _on_splits(splits_file: Path | None) -> str:
    if splits_file:
        return f"Splits: those of {splits_file.name}."
    return f"Splits: {N_SPLITS} random ones of 90 % training and 10 % test rows."
