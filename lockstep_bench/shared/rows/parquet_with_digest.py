"""Parquet files that contain a checksum of their own bytes, so that damage is noticed and not read as a number.

The metadata at the end of a file give its number of bytes and a SHA-256, computed with its own digits replaced by
zeros. Other programs can read these files as usual. If another program writes such a file anew and copies the metadata,
as pyarrow does, the number of bytes differs; the file is then read without this check. Parquet's own checksums of pages
protect readers of a few columns.
"""

import hashlib
import re
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MARK = b"lockstep-bench-sha256:"
ZEROS = b"0" * 64
DIGEST = re.compile(MARK + rb"([0-9a-f]{64}):(\d{20})")
MANY_BYTES = 1_000_000  # of a file with many rows, which share texts


class Damaged(Exception):
    """A file is not a Parquet file, or its bytes have changed since it was written; the message says which."""


def sealed(table: pa.Table, **options: Any) -> bytes:
    """Return the bytes of a Parquet file that holds a table and a checksum of itself.

    Args:
        table: The table; its metadata are not stored.
        options: See `pyarrow.parquet.ParquetWriter`.
    """
    content = pa.BufferOutputStream()
    plain = table.replace_schema_metadata(None)
    with pq.ParquetWriter(content, plain.schema, write_page_checksum=True, **options) as writer:
        writer.write_table(plain)
        writer.add_key_value_metadata({"digest": MARK + ZEROS + b":" + _size_of(b"")})
    blank: bytes = content.getvalue().to_pybytes()
    place = blank.rindex(MARK) + len(MARK)  # the last one: a text of the table may hold another
    size = place + len(ZEROS) + 1
    blank = blank[:size] + _size_of(blank) + blank[size + 20 :]
    return blank[:place] + hashlib.sha256(blank).hexdigest().encode() + blank[place + len(ZEROS) :]


def unsealed(content: bytes, schema: pa.Schema | None = None) -> pa.Table:
    """Return the table in a Parquet file, without its metadata, after a check of the file's checksum.

    Args:
        content: The bytes of the file.
        schema: Columns that are needed; None for all. From a file with a checksum only these are read, and texts of
            many rows are dictionary-encoded.

    Raises:
        Damaged: The file cannot be read, or its checksum does not match its bytes.
    """
    found = DIGEST.match(content, max(content.rfind(MARK), 0))
    has_digest = found is not None and found[2] == _size_of(content)
    if found and has_digest:
        rest = memoryview(content)
        blank = hashlib.sha256(rest[: found.start(1)])
        blank.update(ZEROS)
        blank.update(rest[found.end(1) :])
        if blank.hexdigest().encode() != found[1]:
            raise Damaged("it cannot be read as Parquet: its bytes have changed since it was written")
    texts = [field.name for field in schema if pa.types.is_string(field.type)] if schema and has_digest else None
    encoded = texts if len(content) > MANY_BYTES else None
    try:
        with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True, read_dictionary=encoded) as file:
            present = file.schema_arrow.names  # converted anew at each access
            only = [name for name in schema.names if name in present] if schema and has_digest else None
            # Threads for the columns of one row cost four times what they read.
            if only and len(content) > MANY_BYTES:  # column by column, which takes less memory
                nothing, arrow = _without_values(file.metadata), file.schema_arrow
                kinds = {arrow.field(name).type for name in nothing.intersection(only)}
                nulls = {kind: pa.nulls(file.metadata.num_rows, kind) for kind in kinds}  # which columns share
                table = pa.table(
                    {
                        name: nulls[arrow.field(name).type]
                        if name in nothing
                        else file.read([name], use_threads=False)[name]
                        for name in only
                    }
                )
            else:
                table = file.read(only, use_threads=False)
        table.validate(full=True)
    except Exception as problem:  # damage raises whatever the damaged bytes lead to
        raise Damaged("it cannot be read as Parquet") from problem
    return table.replace_schema_metadata(None)


def _without_values(metadata: pq.FileMetaData) -> set[str]:
    """Return the columns whose statistics say that all values are null: most metrics do not apply to a given task."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    values: Counter[str] = Counter()
    for group in groups:
        for column in map(group.column, range(group.num_columns)):
            statistics = column.statistics
            known = statistics is not None and statistics.has_null_count
            values[column.path_in_schema] += group.num_rows - statistics.null_count if known else group.num_rows
    return {name for name, count in values.items() if not count}


def _size_of(content: bytes) -> bytes:
    return b"%020d" % len(content)
