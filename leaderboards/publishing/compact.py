"""Compact results folders: all results of a suite in one Parquet file, or in several of `MOST_ROWS` rows each.

    FOLDER/cells/SUITE.parquet, FOLDER/cells/SUITE.2.parquet, ...
    FOLDER/timings/SUITE.parquet
    FOLDER/longer/SUITE.parquet
    FOLDER/recalibrated/SUITE.parquet
    FOLDER/predictions/SUITE/DATASET.parquet
    FOLDER/unavailable.json

A run instead writes one file per result. Of the tables that it stores beside a result (curves, tuning studies,
predictions), a compact folder keeps only the predictions at a few points of each method's first split
(`leaderboards.stats.thinned`). `leaderboards.data.results.read_results` reads both kinds of folder, so that published
results can be merged with others.
"""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.data.recalibrated import NONE_RECALIBRATED
from lockstep_bench.leaderboards.data.results import UnavailableSet
from lockstep_bench.leaderboards.stats.first_predictions import file_name
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.rows.parquet_with_digest import sealed
from lockstep_bench.shared.rows.recalibrated import RECALIBRATED
from lockstep_bench.shared.schema import LONGER, TIMINGS

NO_LONGER = LONGER.empty_table().to_pandas()
MOST_ROWS = 4_000  # of a file, which has less than 1 MiB then: git keeps every version of it
ORDER = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed", "finished_at"]


def write_compact(
    cells: pd.DataFrame,
    timings: pd.DataFrame,
    unavailable: list[UnavailableSet],
    folder: Path,
    longer: pd.DataFrame = NO_LONGER,
    recalibrated: pd.DataFrame = NONE_RECALIBRATED,
) -> list[Path]:
    """Write results, timings, longer trainings and recalibrated scores to a new folder; return the files' paths.

    The arguments other than `folder` are the attributes of `leaderboards.data.results.Leaderboard` of these names.

    Duplicate rows are written once. The same rows give the same bytes in any order.
    """
    written = []
    parts = (
        ("cells", cells, CELLS),
        ("timings", timings, TIMINGS),
        ("longer", longer, LONGER),
        ("recalibrated", recalibrated, RECALIBRATED),
    )
    for part, table, schema in parts:
        for suite, rows in table.drop_duplicates(schema.names).sort_values(ORDER, kind="stable").groupby("suite"):
            whole = pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
            for number, start in enumerate(range(0, len(whole), MOST_ROWS), start=1):
                name = file_name(str(suite)) + (f".{number}" if number > 1 else "")
                path = folder / part / f"{name}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                rows_of_file = whole.slice(start, MOST_ROWS)
                path.write_bytes(sealed(rows_of_file, compression="zstd", compression_level=19))
                written.append(path)
    if unavailable:
        entries = [dataset._asdict() for dataset in unavailable]
        (folder / "unavailable.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8", newline="\n")
    return written
