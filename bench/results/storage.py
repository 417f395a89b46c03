"""The error for results that cannot be stored, for example because the disk is full."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
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
    """No more results can be stored, for example because the disk is full.

    Args:
        cells: The cells whose results are lost.
        reason: The OSError.
    """

    def __init__(self, cells: Sequence[Cell], reason: OSError):
        super().__init__(cells, reason)
        self.cells, self.reason = cells, reason


def cannot_store(problem: BaseException, folders: Iterable[Path]) -> bool:
    """Return whether an error means that no file can be written at all, or no file in one of `folders`."""
    if not isinstance(problem, OSError):
        return False
    if problem.errno in FULL:
        return True
    # If a method may not read a file elsewhere, only its own cell fails.
    path = Path(os.path.abspath(str(problem.filename)))
    return problem.errno in FORBIDDEN and any(path.is_relative_to(os.path.abspath(folder)) for folder in folders)
