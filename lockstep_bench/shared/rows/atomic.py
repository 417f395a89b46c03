"""Atomic writing of files: a file is either complete or absent."""

import os
from contextlib import suppress
from pathlib import Path


def write_atomically(content: bytes, path: Path) -> None:
    """Write a file under a temporary name in its folder, and rename it; both steps survive a power failure.

    Links are not followed: whatever is at either path is replaced.

    Raises:
        OSError: The file cannot be written, for example because the disk is full; `filename` is its path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")  # fixed, so that a killed process leaves one file at most
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
