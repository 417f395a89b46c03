"""The predictions of each method's first split, read from a results folder or from published results.

A run stores a file of predictions for every split of every method. Published results keep the predictions at a few
points, for one split of each method: FOLDER/predictions/SUITE/DATASET.parquet, with the columns `KEY` and those of
`thinned.SCHEMA`.
"""

import hashlib
import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.data.details import CellId, any_of, in_split_order
from lockstep_bench.leaderboards.stats.predictions import Predictions, read
from lockstep_bench.leaderboards.stats.thinned import SCHEMA, restored
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed

KEY = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("method", "preset", "protocol_hash")),
        *(pa.field(name, pa.int32(), nullable=False) for name in ("split", "seed")),
    ]
)
LONGEST = 200  # characters of a file's name; file systems allow 255
Key = tuple[str, str, str, int, int]  # values of `KEY`


def published_path(folder: Path, suite: str, dataset: str) -> Path:
    """Return the path of the published predictions on a data set."""
    return folder / "predictions" / file_name(suite) / f"{file_name(dataset)}.parquet"


def first_splits(cells: pd.DataFrame) -> dict[str, Predictions]:
    """Return each method's predictions on its first split that has some, in the order of the rows.

    A file that cannot be read counts as missing, because no number of a table depends on it.

    Args:
        cells: rows of finished results, with one protocol for each method.
    """
    return {method: predictions for method, (_, predictions) in first_cells(cells).items()}


def first_cells(cells: pd.DataFrame) -> dict[str, tuple[CellId, Predictions]]:
    """Return each method's predictions as `first_splits` does, together with the result that they belong to."""
    beside = any_of("predictions", cells)
    places = cells[["folder", "suite", "dataset"]].drop_duplicates().itertuples(index=False, name=None)
    ordered = in_split_order(cells)
    wanted = set(map(key_of, ordered))
    published = {place: read_published(published_path(Path(place[0]), *place[1:]), wanted) for place in places}
    if not beside and not any(published.values()):
        return {}
    by_method: dict[str, tuple[CellId, Predictions]] = {}
    for cell in ordered:
        if cell.method in by_method:
            continue
        found = read(cell.path("predictions")) if beside else None
        if found is None:
            found = published[cell.folder, cell.suite, cell.dataset].get(key_of(cell))
        if found is not None:
            by_method[cell.method] = cell, found
    return {method: by_method[method] for method in dict.fromkeys(cells["method"]) if method in by_method}


def read_published(path: Path, wanted: Collection[Key]) -> dict[Key, Predictions]:
    """Return the `wanted` predictions in a published file, by the key of their result; none if it cannot be read."""
    if not os.path.isfile(path):
        return {}
    try:
        table = unsealed(path.read_bytes())
        keys = table.select(KEY.names).cast(KEY).to_pandas()
        points = table.select(SCHEMA.names).cast(SCHEMA)
        return {
            tuple(key): restored(points.take(pa.array(places)))
            for key, places in keys.groupby(KEY.names).indices.items()
            if tuple(key) in wanted
        }
    except (OSError, Damaged, KeyError, ValueError, TypeError, pa.ArrowException):
        return {}


def key_of(cell: CellId) -> Key:
    """Return the key of a result: its values of the columns `KEY`."""
    return cell.method, cell.preset.partition("@")[0], cell.protocol_hash, cell.split, cell.seed


def file_name(text: str) -> str:
    """Return the file name, without suffix, under which a name is published; very long names are cut and get a hash."""
    name = quote(text, safe="").replace(".", "%2E")  # readers pass over names that begin with a dot
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"
