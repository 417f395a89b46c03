"""Tables of a finished cell as Parquet files."""

import pyarrow as pa

from lockstep_bench.shared.rows.parquet_with_digest import sealed


def parquet_of(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file with a checksum; tables of more than one row are compressed."""
    flat = not any(pa.types.is_nested(field.type) for field in table.schema)
    return sealed(
        table,
        # A compressor is set up for each column, which doubles the time of a row and saves nothing of its size.
        compression="none" if table.num_rows == 1 else "zstd",
        # Parquet stores all types of a flat row; Arrow's copy of the schema would be two fifths of the file.
        store_schema=not flat,
        # Samples never repeat: dictionaries would take nine times as long to write, and half as much space again.
        use_dictionary=False,
        write_statistics=False,
    )
