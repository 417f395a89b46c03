"""Parquet files that hold a digest of their own bytes, so that damage is noticed and never read as a number.

The metadata at the end of a file name its number of bytes and a SHA-256, which is computed with its own digits replaced
by zeros. All other programs read these files as usual. Files that another program wrote anew, such as pyarrow, which
copies the metadata, have another number of bytes and are read without this check. Pages also have checksums, for
readers of a few columns.
"""

import hashlib
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MARK = b"lockstep-bench-sha256:"
ZEROS = b"0" * 64
DIGEST = re.compile(MARK + rb"([0-9a-f]{64}):(\d{20})")
MANY_BYTES = 1_000_000  # of a file with many rows, which share texts


class Damaged(Exception):
    """A file is not a Parquet file, or not as it was written; the message says which."""


def sealed(table: pa.Table, **options: Any) -> bytes:
    """Return a table as a Parquet file that holds its own digest.

    Args:
        table: The table, whose own metadata are not stored.
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
    """Return the table of a Parquet file, without its metadata.

    Args:
        content: The file.
        schema: Columns that are needed. Of a file with a digest, no others are read, and texts of many rows come as
            dictionaries. None for all columns.

    Raises:
        Damaged: It cannot be read, or its digest is that of other bytes.
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
                table = pa.table({name: file.read([name], use_threads=False)[name] for name in only})
            else:
                table = file.read(only, use_threads=False)
        table.validate(full=True)
    except Exception as problem:  # damage raises whatever the damaged bytes lead to
        raise Damaged("it cannot be read as Parquet") from problem
    return table.replace_schema_metadata(None)


def _size_of(content: bytes) -> bytes:
    return b"%020d" % len(content)
