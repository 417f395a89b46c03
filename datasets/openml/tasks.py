"""Regressions of OpenML's suites CTR23 and TabArena, with the published splits of their tasks.

`tasks.tsv` lists the tasks: the 35 of CTR23, which is OpenML's study 353 (Fischer et al. 2023), and the 13 regressions
of TabArena's table of curated sets. The data set of task T is called ctr23-T or tabarena-T.

Four files are downloaded for each task: OpenML's descriptions of the task and of its data set (JSON), the table
(parquet) and the splits (ARFF). The descriptions give the target and the addresses of the other two files. OpenML
publishes an MD5 of the table in ARFF, and no checksum of these files. Those of table and splits are therefore learned
at the first download (`datasets.learned`). The descriptions are not compared, because their tags change.

- Numbers stay as they are. Columns that the parquet file does not hold as numbers become 0/1 columns, as in a user's
  own table (`datasets.own.columns`); a split uses those whose category occurs in its training rows.
- Each fit fills missing numbers with the medians of its own training rows. A missing category is a category. A table
  with a missing target, or with dates, is refused.
- Columns that OpenML's description marks as a row's number or as to be ignored are no inputs.

The number of 0/1 columns is only known once the table has been read. Until then a data set is described by the number
of columns of its table. `listing` stores the shape of a table in the user's cache when all files are there.
"""

import io
import json
import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lockstep_bench.datasets import learned
from lockstep_bench.datasets.errors import Fault, InvalidTable
from lockstep_bench.datasets.own.columns import features_of
from lockstep_bench.datasets.own.dummies import with_inputs
from lockstep_bench.datasets.records import Arrays, File, Source, Split

BASE_URL = "https://www.openml.org/"
TITLES = {"ctr23": "OpenML-CTR23", "tabarena": "TabArena"}
TASK, DATA, TABLE, SPLITS = "task.json", "data.json", "table.parquet", "splits.arff"
SHAPES = "openml-shapes.json"
# `Source.files` serves only messages here, which name its folder; `listing` returns the files.
NAMED = File(TASK, None, md5="none published")


class Task(NamedTuple):
    """A row of `tasks.tsv`.

    Attributes:
        suite: key of `TITLES`.
        task: OpenML's number of the task.
        data: OpenML's number of the data set.
        title: OpenML's name of the data set.
        rows: number of rows.
        inputs: number of columns besides the target.
        splits: number of splits in use: the first ones of the task, all folds of a repeat together.
        same_as: names of data sets here that have the same origin, separated by spaces.
    """

    suite: str
    task: int
    data: int
    title: str
    rows: int
    inputs: int
    splits: int
    same_as: str

    @property
    def name(self) -> str:
        """Name of the data set in the registry."""
        return f"{self.suite}-{self.task}"


@cache
def tasks() -> tuple[Task, ...]:
    """Return the rows of `tasks.tsv`."""
    lines = Path(__file__).with_name("tasks.tsv").read_text(encoding="utf-8").splitlines()[1:]
    kinds = Task.__annotations__.values()
    return tuple(Task(*(kind(text) for kind, text in zip(kinds, line.split("\t"), strict=True))) for line in lines)


@cache
def _by_name() -> dict[str, Task]:
    return {task.name: task for task in tasks()}


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the data sets before their tables have been read."""
    return tuple(source_of(task, None) for task in tasks())


def described(source: Source) -> Source:
    """Return a description with the shape of the table, if it is a set of OpenML whose table has been read."""
    if not (task := _by_name().get(source.name)):
        return source
    shape = known_shapes().get(source.name)
    return source_of(task, (shape[0], shape[1])) if shape else source


def known_shapes() -> dict[str, list[int]]:
    """Return the shapes of the tables that have been read, name of the data set -> [rows, features]."""
    try:
        shapes: dict[str, list[int]] = json.loads(learned.path().with_name(SHAPES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return shapes


def source_of(task: Task, shape: tuple[int, int] | None) -> Source:
    """Return the description of a task's data set; `shape` is None for a table that has not been read yet."""
    n_rows, n_features = shape or (task.rows, task.inputs)
    notes = [f"OpenML's task {task.task} of its data set {task.data}, with the task's published splits."]
    if task.suite == "tabarena" and task.splits < 30:
        notes.append("Of ten repeats of three folds, the first three are used, as TabArena does for large tables.")
    if task.same_as:
        others = " and ".join(task.same_as.split())
        notes.append(f"The table has the origin of {others}, by title and number of rows; the splits differ.")
    return Source(
        name=task.name,
        title=f"{task.title}, {TITLES[task.suite]}",
        n_rows=n_rows,
        n_features=n_features,
        n_splits=task.splits,
        origin=f"OpenML, https://www.openml.org/d/{task.data}",
        licence="the one that OpenML's description of the data set states",
        read=partial(read, task, shape),
        suites=(f"openml-{task.suite}",),
        noise_precisions=None,
        impute="median",
        notes=tuple(notes),
        same_as=tuple(task.same_as.split()),
        files=(NAMED,),
        folder=f"openml/{task.task}",
        base_url=BASE_URL,
        listing=partial(listing, task),
    )


def listing(task: Task, folder: Path) -> tuple[File, ...]:
    """Return the files of a task: its two descriptions and, once these are there, the table and the splits as well.

    Where all four are there, the shape of the table is stored, unless it is known.

    Raises:
        Fault: a description is not one of this task.
        InvalidTable: the table cannot be used.
    """
    descriptions = _descriptions(task)
    if not all((folder / file.path).is_file() for file in descriptions):
        return descriptions
    contents = {file.path: (folder / file.path).read_bytes() for file in descriptions}
    facts = _facts(task, contents)
    parts = (File(TABLE, None, address=facts.table), File(SPLITS, None, address=facts.splits))
    files = (*descriptions, *(learned.pinned(file, f"openml/{task.task}") for file in parts))
    shapes = known_shapes()
    if task.name not in shapes and all((folder / file.path).is_file() for file in parts):
        x = arrays(task, contents | {file.path: (folder / file.path).read_bytes() for file in parts})[0]
        learned.store(learned.path().with_name(SHAPES), shapes | {task.name: [*x.shape]})
    return files


def read(task: Task, shape: tuple[int, int] | None, contents: Mapping[str, bytes]) -> Arrays:
    """Return x (N, P), with NaN for missing numbers, y (N,) and the splits of a task."""
    if shape is None:
        raise ValueError("its table had not been read before; its shape is known now, so load it again")
    return arrays(task, contents)


def arrays(task: Task, contents: Mapping[str, bytes]) -> Arrays:
    """Return x (N, P), with NaN for missing numbers, y (N,) and the splits from the four files of a task.

    Raises:
        InvalidTable: the table cannot be used, or the task has fewer splits than `tasks.tsv` says.
    """
    import pandas as pd
    from pandas.api.types import is_datetime64_any_dtype

    facts = _facts(task, contents)
    frame = pd.read_parquet(io.BytesIO(contents[TABLE]))
    target = pd.to_numeric(frame.pop(facts.target)).to_numpy(np.float64, na_value=np.nan)
    if not np.isfinite(target).all():
        raise InvalidTable(f"the target {facts.target!r} is missing or infinite in {(~np.isfinite(target)).sum()} rows")
    frame = frame.drop(columns=[name for name in facts.ignored if name in frame])
    if dates := [name for name in frame if is_datetime64_any_dtype(frame[name])]:
        raise InvalidTable(f"the column {dates[0]!r} holds dates or times")
    features = features_of(frame, "median")
    splits = published_splits(contents[SPLITS])
    if len(splits) < task.splits:
        raise InvalidTable(f"the task has {len(splits)} splits, expected at least {task.splits}")
    return features.x, target, with_inputs(splits[: task.splits], features.x, features.dummies)


def published_splits(content: bytes) -> tuple[Split, ...]:
    """Return the splits of a task in the order of repeats and folds, rows in ascending order.

    Args:
        content: the ARFF file, with the attributes type (TRAIN or TEST), rowid (from 0), repeat and fold.
    """
    import pandas as pd

    header, rows = re.split(r"^@data.*\n", content.decode(), maxsplit=1, flags=re.IGNORECASE | re.MULTILINE)
    names = re.findall(r"^@attribute\s+'?(\w+)", header, flags=re.IGNORECASE | re.MULTILINE)
    table = pd.read_csv(io.StringIO(rows), names=names, quotechar="'", comment="%", skipinitialspace=True)
    splits = []
    for _, fold in table.groupby(["repeat", "fold"], sort=True):
        train, test = (np.sort(fold["rowid"][fold["type"] == part].to_numpy(np.int64)) for part in ("TRAIN", "TEST"))
        splits.append(Split(train, test))
    return tuple(splits)


class _Facts(NamedTuple):
    """What the descriptions say: name of the target, columns that are no inputs, addresses of table and splits."""

    target: str
    ignored: tuple[str, ...]
    table: str
    splits: str


def _descriptions(task: Task) -> tuple[File, File]:
    """Return the files of OpenML's descriptions of a task and of its data set."""
    return (
        File(TASK, None, address=f"api/v1/json/task/{task.task}"),
        File(DATA, None, address=f"api/v1/json/data/{task.data}"),
    )


def _facts(task: Task, contents: Mapping[str, bytes]) -> _Facts:
    of_task, of_data = _descriptions(task)
    try:
        inputs = json.loads(contents[TASK])["task"]["input"]
        parts = {part["name"]: part for part in inputs}
        source, procedure = parts["source_data"]["data_set"], parts["estimation_procedure"]["estimation_procedure"]
        number, target, splits = int(source["data_set_id"]), source["target_feature"], procedure["data_splits_url"]
    except (ValueError, LookupError, TypeError) as error:
        raise Fault(of_task, "damaged", f"it is not OpenML's description of a task ({error!r})") from None
    try:
        data = json.loads(contents[DATA])["data_set_description"]
        described, table = int(data["id"]), _secure(data["parquet_url"])
    except (ValueError, LookupError, TypeError) as error:
        raise Fault(of_data, "damaged", f"it is not OpenML's description of a data set ({error!r})") from None
    if not number == described == task.data:
        raise InvalidTable(
            f"OpenML task {task.task} should be of data set {task.data}; the task's description names {number}, "
            f"and the data set's description {described}"
        )
    ignored = [*_listed(data.get("ignore_attribute")), *_listed(data.get("row_id_attribute"))]
    return _Facts(target, tuple(name for name in ignored if name != target), table, _secure(splits))


def _listed(names: Any) -> list[str]:
    """Return column names that a description gives as a list, as one text with commas, or not at all."""
    texts = names.split(",") if isinstance(names, str) else names or []
    return [str(text).strip() for text in texts]


def _secure(address: str) -> str:
    """Return an address with https for OpenML's own servers, whose descriptions may still say http."""
    return re.sub(r"^http://(?=[^/]*openml)", "https://", address)
