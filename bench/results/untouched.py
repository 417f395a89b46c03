"""Which files nobody has touched since they were read, as far as the file system says so.

A file that was replaced has another inode. One that was written to has another time of its last change (ctime), which
no program can set, unlike the time of modification.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from struct import Struct

PACKED = Struct("3Q2q")
SETTLED = 2 * 10**9  # ns after a change, from which on a further change has another time on every file system


def states_of(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the state of each file that can be found: while it is the same, the file is the same, with its content.

    Files that were changed within the last moment have none, nor has any file where the system does not tell the time
    of the last change (Windows).

    Args:
        folder: The folder that the names are relative to.
        names: Relative paths of files.
    """
    if os.name != "posix":
        return {}
    states, before = {}, time.time_ns() - SETTLED
    for name in names:
        try:
            found = os.stat(f"{folder}/{name}")
        except OSError:
            continue
        if found.st_ctime_ns < before:
            states[name] = PACKED.pack(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return states
