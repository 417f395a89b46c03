"""The lock of a results folder, which ensures that only one run at a time writes to it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from lockstep_bench.bench.environment.provenance import host
from lockstep_bench.shared.rows.atomic import write_atomically

LOCK, HOLDER = ".lock", ".lock-holder.json"


class InUse(Exception):
    """Another run writes to the folder; the message says which."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs during the `with` block; a missing folder is created.

    The operating system releases the lock when the process ends.

    Raises:
        InUse: Another run has locked the folder.
        OSError: The folder is not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InUse(f"another run writes to {folder}{_who(folder)}; wait for its end, or give another --out") from None
    try:
        holder = {"host": host(), "pid": os.getpid(), "since": datetime.now(UTC).isoformat(timespec="seconds")}
        write_atomically(json.dumps(holder).encode(), folder / HOLDER)
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def _who(folder: Path) -> str:
    try:
        holder = json.loads((folder / HOLDER).read_text())
        return f": process {holder['pid']} on {holder['host']}, since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # the other run has not written it yet
        return ""
