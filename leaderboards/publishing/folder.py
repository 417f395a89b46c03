"""Publication to a folder, which is either replaced as a whole or left unchanged."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lockstep_bench.leaderboards.publishing.manifest import MARKER, SUMS, files, foreign
from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused

T = TypeVar("T")


def replace_folder(folder: Path, fill: Callable[[Path], T]) -> T:
    """Let `fill` write into a new folder beside `folder`, move it into place, and return the result of `fill`.

    Raises:
        PublishingRefused: The folder holds files that publishing did not write; it stays unchanged.
        OSError: A file cannot be written; the folder stays unchanged.
    """
    folder = folder.resolve()
    _require_replaceable(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{word}") for word in ("new", "old"))
    fresh.mkdir()
    try:
        filled = fill(fresh)
        if folder.exists():
            folder.rename(old)
        try:
            fresh.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    return filled


def _require_replaceable(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise PublishingRefused(f"'{folder}' is a file; name a folder that does not exist yet")
    present = files(folder)
    if not present and not any(folder.iterdir()):
        return
    if MARKER not in present:
        raise PublishingRefused(
            f"'{folder}' is not empty, and publish did not make it; name another folder, or empty this one"
        )
    sums = folder / SUMS
    others = foreign(present, sums.read_text(encoding="utf-8", errors="replace") if sums.is_file() else "")
    if others:
        raise PublishingRefused(
            f"'{folder}' would be replaced, but it also holds {len(others)} files that publish did not put there, "
            f"such as '{others[0]}'; move them elsewhere, or name another folder"
        )
