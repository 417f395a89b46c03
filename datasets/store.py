"""The files of a set on disk: are they there, and are they the published ones?"""

import hashlib
import os
import shlex
from pathlib import Path
from typing import Literal, NamedTuple

from datasets import places
from datasets.errors import BrokenDataset, Unavailable
from datasets.records import File, Source
from datasets.registry import entry


class Fault(Exception):
    """A pinned file that is not there, or is not the published one."""

    def __init__(self, file: File, state: Literal["missing", "damaged"], detail: str):
        super().__init__(file, state, detail)
        self.file, self.state, self.detail = file, state, detail


class Availability(NamedTuple):
    """Whether a set can be loaded; if not, why, and what to do about it."""

    state: Literal["ready", "missing", "damaged", "broken"]
    reason: str
    remedy: str


def availability(name: str, data_dir: str | os.PathLike | None = None, deep: bool = False) -> Availability:
    """Whether `name` can be loaded from the data folder.

    deep: compare the digest of every file; otherwise only existence and size, which takes milliseconds.

    Raises `UnknownDataset` for a name nobody registered.
    """
    folder = places.data_dir(data_dir)
    try:
        source = entry(name)
    except BrokenDataset as problem:
        return Availability("broken", problem.reason, problem.remedy)
    found = faults(source, folder, deep)
    if found:
        problem = unavailable(source, folder, found)
        damaged = any(fault.state == "damaged" for fault in found)
        return Availability("damaged" if damaged else "missing", problem.reason, problem.remedy)
    return Availability("ready", f"{len(source.files)} files" if source.files else "needs no files", "")


def path_of(source: Source, file: File, folder: Path) -> Path:
    """Where a file of the source lies below the data folder."""
    return folder / source.folder / file.path


def verified(source: Source, file: File, folder: Path) -> bytes:
    """The contents of a file, or `Fault` when they are not the published ones."""
    try:
        content = path_of(source, file, folder).read_bytes()
    except OSError as error:
        raise _fault(file, error) from error
    got = hashlib.sha256(content).hexdigest()
    if got != file.sha256:
        raise Fault(file, "damaged", f"SHA-256 expected {file.sha256}, got {got}")
    return content


def faults(source: Source, folder: Path, deep: bool) -> list[Fault]:
    """What is wrong with the files of the source; `deep` compares digests, else sizes."""
    found = []
    for file in source.files:
        try:
            if deep:
                verified(source, file, folder)
            else:
                _check_size(source, file, folder)
        except Fault as fault:
            found.append(fault)
    return found


def unavailable(source: Source, folder: Path, found: list[Fault]) -> Unavailable:
    """The error that tells a person about faults, the damaged files first."""
    damaged = [fault for fault in found if fault.state == "damaged"]
    missing = [fault for fault in found if fault.state == "missing"]
    parts = []
    if damaged:
        where = path_of(source, damaged[0].file, folder)
        more = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        parts.append(f"{where} is not the published file ({damaged[0].detail}){more}")
    if missing:
        present = len(source.files) - len(missing)
        count = f"only {present}" if present else "none"
        parts.append(f"{count} of its {len(source.files)} files found in {folder / source.folder}")
    return Unavailable(source.name, ", and ".join(parts), remedy(source, folder))


def remedy(source: Source, folder: Path) -> str:
    """How to get the files."""
    command = ["python", "-m", "datasets", "fetch", source.name]
    if folder != places.data_dir():
        command += ["--data-dir", str(folder)]
    place = Path(source.folder) / os.path.commonpath([os.path.dirname(file.path) for file in source.files])
    return (
        f"run `{shlex.join(command)}` where there is network, "
        f"or point {places.VARIABLE} at a folder that holds {place.as_posix()}"
    )


def _check_size(source: Source, file: File, folder: Path) -> None:
    try:
        size = path_of(source, file, folder).stat().st_size
    except OSError as error:
        raise _fault(file, error) from error
    if size != file.bytes:
        raise Fault(file, "damaged", f"expected {file.bytes} bytes, got {size}")


def _fault(file: File, error: OSError) -> Fault:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Fault(file, "missing", "no such file")
    return Fault(file, "damaged", f"cannot be read: {error.strerror}")
