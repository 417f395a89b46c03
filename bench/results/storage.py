"""Atomic writes, and the errors after which nothing more can be stored."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockstep_bench.bench.experiment.cells import Cell

FULL = {errno.ENOSPC, errno.EROFS, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
# Those of the second line are raised where something else is in the way.
FORBIDDEN = {
    *(errno.EACCES, errno.EPERM),
    *(errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.ELOOP),
}


class NotStored(Exception):
    """Results cannot be stored any more.

    Args:
        cells: The cells whose results are lost.
        reason: The error of the operating system.
    """

    def __init__(self, cells: Sequence[Cell], reason: OSError):
        super().__init__(cells, reason)
        self.cells, self.reason = cells, reason


def write_atomically(content: bytes, path: Path) -> None:
    """Write a file under a temporary name in its folder, and rename it; both steps survive a power failure.

    No link is followed: what is at either place is replaced.

    Raises:
        OSError: The file cannot be written; `filename` says where, also for a full disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(
        f".{path.name}.tmp"
    )  # a fixed name, so that the leftover of a killed process is overwritten
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if problem.filename is None:  # a full disk
            problem.filename = str(path)
        raise
    if hasattr(os, "O_DIRECTORY"):  # not every system can open a folder
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def cannot_store(problem: BaseException, folders: Iterable[Path]) -> bool:
    """Return True if an error means that no file can be written at all, or none into one of `folders`."""
    if not isinstance(problem, OSError):
        return False
    if problem.errno in FULL:
        return True
    # A method that may not read a file elsewhere fails alone.
    path = Path(os.path.abspath(str(problem.filename)))
    return problem.errno in FORBIDDEN and any(path.is_relative_to(os.path.abspath(folder)) for folder in folders)
