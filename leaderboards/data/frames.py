"""Column schemas of the data frames that `leaderboards.data` returns, and typed access to their rows.

They are pyarrow schemas, as are those of the stored tables. Pandera would repeat these declarations, and its import
would delay every command by 0.6 s.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any, NamedTuple, TypeVar

import pandas as pd
import pyarrow as pa

from lockstep_bench.shared.columns import CELLS, LEARNING, REGRETS
from lockstep_bench.shared.rows import encoded
from lockstep_bench.shared.schema import BANDS, CONFIDENCE, CURVES, POSTERIORS, RELIABILITY, SELECTIVE, SHIFTS

DECODER = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) < 300 else float(digits))
Record = TypeVar("Record", bound=NamedTuple)

# Rows of cells, the results folder that each lies in, and the recheck that vouches for it (`data.rechecks`).
CELL_ROWS = pa.schema([*CELLS, pa.field("folder", pa.string(), nullable=False), pa.field("rechecked", pa.string())])

# Text columns that many rows share. Others, such as hyper-parameters, differ between rows.
CATEGORIES = frozenset(
    field.name
    for field in CELL_ROWS
    if pa.types.is_string(field.type) and field.name not in {"hparams", "diagnostics", "error", "log", "reference"}
)

# Tables beside cells, by the name of their folder. `stats.predictions` reads predictions, whose columns vary.
DETAILS = {
    "bands": BANDS,
    "confidence": CONFIDENCE,
    "curves": CURVES,
    "learning": LEARNING,
    "posteriors": POSTERIORS,
    "regrets": REGRETS,
    "reliability": RELIABILITY,
    "selective": SELECTIVE,
    "shifts": SHIFTS,
    "simple_regrets": REGRETS,
}


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Return a pyarrow table as a data frame in which equal strings of a column share one Python object.

    Protocols, search spaces and versions of 100,000 rows would take a gigabyte otherwise.
    """
    if pd.options.mode.string_storage == "python":
        return encoded.as_frame(table, CATEGORIES)
    plain = [field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in table.schema]
    frame: pd.DataFrame = table.cast(pa.schema(plain)).to_pandas()
    return frame


def listed(column: pd.Series) -> list[Any]:
    """Return the values of a column as a list of Python objects, much faster than iterating over the column."""
    return column.to_numpy(object).tolist()


def records(frame: pd.DataFrame, kind: type[Record]) -> Iterator[Record]:
    """Yield the rows of a frame as named tuples of type `kind`, whose fields name columns of the frame."""
    return starmap(kind, zip(*(listed(frame[name]) for name in kind._fields), strict=True))


def as_object(text: Any) -> dict[str, Any]:
    """Return the JSON object in a text; {} if the text is not a JSON object."""
    if not isinstance(text, str):
        return {}
    try:
        parsed = DECODER.decode(text)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def groups(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yield each combination of values of the text columns `names`, with the rows that have it, in sorted order."""
    for values, part in frame.groupby(list(names)):
        yield tuple(map(str, values)), part
