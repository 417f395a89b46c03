"""Data sets that users made from tables of their own, as described in results folders."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_tables(folders: Iterable[Path]) -> Iterator[None]:
    """Register the user-made data sets that results folders describe, until the end of the `with` block.

    Descriptions that cannot be read are skipped; pages then show only the name of the data set.
    """
    try:
        from lockstep_bench import datasets
    except Exception:  # a machine that only publishes lacks what `datasets` imports
        yield
        return
    tables = []
    for path in sorted(path for folder in folders for path in (folder / "own").glob("*.json")):
        try:
            if path.is_file():  # reading a pipe would wait for ever
                tables.append(datasets.Table.from_json(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError):
            continue
    with datasets.added(tables):
        yield
