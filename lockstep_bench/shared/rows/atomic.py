"""Atomic writing of files: a file is either complete or absent."""

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(content: bytes, path: Path) -> None:
    """Write a file under a temporary name in its folder, and rename it; both steps survive a power failure.

    Links are not followed: whatever is at either path is replaced.

    Raises:
        OSError: The file cannot be written, for example because the disk is full; `filename` is its path.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.tmp")  # fixed, so that a killed process leaves one file at most
    try:
        with _new_file(temporary) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        with suppress(OSError):
            os.unlink(temporary)
        if problem.filename is None:  # a full disk
            problem.filename = str(path)
        raise
    if hasattr(os, "O_DIRECTORY"):  # not every system can open a folder
        descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _new_file(path: str) -> BinaryIO:
    """Open a new file, in place of what is at its path; its folder is made if it is missing."""
    # Both are rare, and looking for them at each file takes as long as the rest.
    try:
        return open(path, "xb")
    except FileExistsError:
        os.unlink(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, "xb")
