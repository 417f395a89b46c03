"""The files of a set on disk: are they there, and are they the published ones?"""

import hashlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from datasets.errors import BrokenDataset, Fault, Unavailable
from datasets.records import Contents, File, Source
from datasets.registry import published
from datasets.storage import places


class OnDisk(Contents):
    """The files of a set that lies in a data folder, by `File.path`; `Fault` where one is not the published one."""

    def __init__(self, source: Source, data_folder: Path):
        self._source, self._data_folder = source, data_folder
        self._files = {file.path: file for file in files_of(source, data_folder)}

    def __getitem__(self, path: str) -> bytes:
        return verified(self._source, self._files[path], self._data_folder)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def folder(self) -> Path:
        for file in self._files.values():
            check(self._source, file, self._data_folder)
        return self._data_folder / self._source.folder


class Availability(NamedTuple):
    """Whether a set can be loaded; if not, why, and what to do about it."""

    state: Literal["ready", "missing", "damaged", "broken"]
    reason: str
    remedy: str


def availability(name: str, data_dir: str | os.PathLike | None = None, deep: bool = False) -> Availability:
    """Whether `name` can be loaded from the data folder.

    name: of a data set, or of trained weights (`datasets.images.weights`).
    deep: compare the digest of every file; otherwise only existence and size, which takes milliseconds.

    Raises `UnknownDataset` for a name nobody registered.
    """
    folder = places.data_dir(data_dir)
    try:
        source = published(name)
    except BrokenDataset as problem:
        return Availability("broken", problem.reason, problem.remedy)
    found = faults(source, folder, deep)
    if found:
        problem = unavailable(source, folder, found)
        damaged = any(fault.state == "damaged" for fault in found)
        return Availability("damaged" if damaged else "missing", problem.reason, problem.remedy)
    n_files = len(files_of(source, folder))
    return Availability("ready", f"{n_files} files" if n_files else "needs no files", "")


def files_of(source: Source, folder: Path) -> tuple[File, ...]:
    """The files there should be; `Fault` where they have to be listed first and the list is damaged."""
    return source.files if source.listing is None else source.listing(folder / source.folder)


def path_of(source: Source, file: File, folder: Path) -> Path:
    """Where a file of the source lies below the data folder."""
    return folder / source.folder / file.path


def verified(source: Source, file: File, folder: Path) -> bytes:
    """The contents of a file, or `Fault` when they are not the published ones."""
    try:
        content = path_of(source, file, folder).read_bytes()
    except OSError as error:
        raise _fault(file, error) from error
    if file.checksum:
        _compare(file, hashlib.new(file.checksum[0], content, usedforsecurity=False).hexdigest())
    return content


def check(source: Source, file: File, folder: Path) -> None:
    """As `verified`, without holding the file in memory."""
    if not file.checksum:
        _check_size(source, file, folder)
        return
    try:
        with path_of(source, file, folder).open("rb") as stream:
            got = hashlib.file_digest(stream, lambda: hashlib.new(file.checksum[0], usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise _fault(file, error) from error
    _compare(file, got)


def faults(source: Source, folder: Path, deep: bool) -> list[Fault]:
    """What is wrong with the files of the source; `deep` compares digests, else sizes."""
    try:
        files = files_of(source, folder)
    except Fault as fault:
        return [fault]
    found = []
    for file in files:
        try:
            (check if deep else _check_size)(source, file, folder)
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
        parts.append(f"{_count(source, folder, missing)} found in {folder / source.folder}")
    return Unavailable(source.name, ", and ".join(parts), remedy(source, folder))


def remedy(source: Source, folder: Path) -> str:
    """How to get the files."""
    if source.by_hand:
        own = folder / source.folder
        return f"{source.by_hand} {own}, or point {places.VARIABLE} at a folder that holds {source.folder}"
    command = ["python", "-m", "datasets", "fetch", source.name]
    if folder != places.data_dir():
        command += ["--data-dir", str(folder)]
    place = Path(source.folder) / os.path.commonpath([os.path.dirname(file.path) for file in source.files])
    return (
        f"run `{shlex.join(command)}` where there is network, "
        f"or point {places.VARIABLE} at a folder that holds {place.as_posix()}"
    )


def _count(source: Source, folder: Path, missing: list[Fault]) -> str:
    """How many of the files are there, in words."""
    total = len(files_of(source, folder))
    present = total - len(missing)
    return f"{f'only {present}' if present else 'none'} of its {total} files"


def _compare(file: File, got: str) -> None:
    algorithm, wanted = file.checksum
    if got != wanted:
        name = {"sha256": "SHA-256", "md5": "MD5"}[algorithm]
        raise Fault(file, "damaged", f"{name} expected {wanted}, got {got}")


def _check_size(source: Source, file: File, folder: Path) -> None:
    try:
        size = path_of(source, file, folder).stat().st_size
    except OSError as error:
        raise _fault(file, error) from error
    if file.bytes is not None and size != file.bytes:
        raise Fault(file, "damaged", f"expected {file.bytes} bytes, got {size}")


def _fault(file: File, error: OSError) -> Fault:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Fault(file, "missing", "no such file")
    return Fault(file, "damaged", f"cannot be read: {error.strerror}")
