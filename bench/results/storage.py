"""Files that are there and whole, or not there; and when nothing more can be stored."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.experiment.cells import Cell

FULL = {errno.ENOSPC, errno.EROFS, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR}  # the last two where a file is in the way


class NotStored(Exception):
    """What was found out about `cells` could not be stored, and nor could anything else."""

    def __init__(self, cells: Sequence[Cell], reason: OSError):
        super().__init__(cells, reason)
        self.cells, self.reason = cells, reason


def write_atomically(content: bytes, path: Path) -> None:
    """Write a file under another name in the same folder and rename it, each safe from a failure of power."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")  # the same each time: a kill's leftover is written over
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # a folder cannot be opened everywhere
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def cannot_store(problem: BaseException, folders: Iterable[Path]) -> bool:
    """Whether an error says that no file can be written at all, or none into one of `folders`."""
    if not isinstance(problem, OSError):
        return False
    if problem.errno in FULL:
        return True
    # An adapter may be forbidden to read something of its own, which is its failure alone.
    about = Path(os.path.abspath(str(problem.filename)))
    return problem.errno in FORBIDDEN and any(about.is_relative_to(os.path.abspath(folder)) for folder in folders)
