"""Results made small: the rows of all cells of a suite in one Parquet file.

    FOLDER/cells/SUITE.parquet
    FOLDER/unavailable.json

Such a folder is a results folder like that of a run, without what is kept beside a cell (predictions, curves, studies):
`leaderboards.results.read_results` reads both, so that published results can be put beside one's own.
"""

import json
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.schema import CELLS
from leaderboards.results import Unavailable

ORDER = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed", "finished_at"]


def write_compact(cells: pd.DataFrame, unavailable: list[Unavailable], folder: Path) -> list[Path]:
    """Write `cells` (columns of `bench.schema.CELLS`) below the new `folder`; the files of cells, one per suite.

    A row that is there several times is written once. The same rows in whatever order give the same bytes.
    """
    (folder / "cells").mkdir(parents=True)
    written = []
    for suite, rows in cells.drop_duplicates(CELLS.names).sort_values(ORDER, kind="stable").groupby("suite"):
        table = pa.Table.from_pandas(rows, schema=CELLS, preserve_index=False)
        path = folder / "cells" / f"{quote(suite, safe='')}.parquet"
        # Without the metadata, in which pandas names its own version.
        pq.write_table(table.replace_schema_metadata(None), path, compression="zstd", compression_level=19)
        written.append(path)
    if unavailable:
        entries = [one._asdict() for one in unavailable]
        (folder / "unavailable.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8", newline="\n")
    return written
