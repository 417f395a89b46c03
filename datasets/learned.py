"""Checksums of files whose publisher gives none: taken from the first download, and compared with all later copies.

They are stored in the user's cache folder. A data set with such files has a `Source.listing` that calls `pinned`. For
descriptions in JSON nothing is stored: a publisher's server writes them anew, with other tags or dates.
"""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockstep_bench.datasets.records import File

NAME = "learned-checksums.json"


def path() -> Path:
    """Return the path of the JSON file that holds size and SHA-256 of each file, by its path in the data folder."""
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / NAME


def pinned(file: File, folder: str) -> File:
    """Return the file with the size and SHA-256 of its first download; unchanged if it was never downloaded.

    Args:
        file: file without a published checksum.
        folder: folder of the data set, relative to the data folder.
    """
    known = _known().get(f"{folder}/{file.path}")
    return file._replace(bytes=int(known["bytes"]), sha256=str(known["sha256"])) if known else file


def learn(file: File, folder: str, copy: Path) -> None:
    """Store the size and SHA-256 of a file's first copy, for comparison with later copies, and warn the user.

    Args:
        file: file without a published checksum.
        folder: folder of the data set, relative to the data folder.
        copy: path of the downloaded copy.

    Raises:
        OSError: the copy cannot be read, or the user's cache cannot be written.
    """
    import hashlib

    if file.path.endswith(".json"):
        return
    with copy.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    target = path()
    store(target, _known() | {f"{folder}/{file.path}": {"bytes": copy.stat().st_size, "sha256": digest}})
    warnings.warn(
        f"nobody has published a checksum of {folder}/{file.path}: that of this first copy, SHA-256 {digest}, is kept "
        f"in {target}, and every later copy is compared with it",
        stacklevel=2,
    )


def store(target: Path, facts: Mapping[str, Any]) -> None:
    """Write facts as JSON to a file of the user's cache, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="utf-8")
    os.replace(temporary, target)


def _known() -> dict[str, dict[str, int | str]]:
    try:
        known: dict[str, dict[str, int | str]] = json.loads(path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return known
