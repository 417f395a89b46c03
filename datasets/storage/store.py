"""Verification of data sets' files on disk against their published checksums."""

import hashlib
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from lockstep_bench.datasets.errors import BrokenDataset, Fault, Unavailable, in_words
from lockstep_bench.datasets.paths import regular
from lockstep_bench.datasets.records import Contents, File, Source
from lockstep_bench.datasets.registry import Published, published
from lockstep_bench.datasets.storage import data_folder


class OnDisk(Contents):
    """Verified contents of a data set's files in the data folder; raises `Fault` if one is missing or damaged."""

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
        """Verify every file and return the folder of the data set."""
        for file in self._files.values():
            check(self._source, file, self._data_folder)
        return self._data_folder / self._source.folder


class Availability(NamedTuple):
    """State of a data set: it can be loaded, or the reason why it cannot.

    Attributes:
        state: "ready", "missing", "damaged", or "broken" if the code that provides the data set cannot be used.
        reason: why the data set cannot be loaded; if it is ready, which files are there.
        remedy: what a person can do about it; "" if the data set is ready.
    """

    state: Literal["ready", "missing", "damaged", "broken"]
    reason: str
    remedy: str


def availability(name: str, data_dir: str | os.PathLike[str] | None = None, deep: bool = False) -> Availability:
    """Return whether a data set or pretrained weights can be loaded from the data folder, and if not, why.

    Args:
        name: registered name of a data set, or key of `datasets.images.weights.WEIGHTS`.
        data_dir: data folder; see `datasets.data_dir`.
        deep: whether to compare the checksum of every file; otherwise only existence and size, which takes
            milliseconds.

    Raises:
        UnknownDataset: nothing is registered under this name.
    """
    folder = data_folder.data_dir(data_dir)
    try:
        source = published(name)
        problems = faults(source, folder, deep)
    except BrokenDataset as broken:
        return Availability("broken", broken.reason, broken.remedy)
    if problems:
        error = unavailable(source, folder, problems)
        damaged = any(fault.state == "damaged" for fault in problems)
        return Availability("damaged" if damaged else "missing", error.reason, error.remedy)
    n_files = len(files_of(source, folder))
    return Availability("ready", f"{n_files} files" if n_files else "needs no files", "")


def files_of(source: Published, folder: Path) -> tuple[File, ...]:
    """Return the files that a data set, or pretrained weights, should have in `folder`.

    Raises:
        Fault: the list of files is itself read from a file, which is damaged.
        BrokenDataset: the data set's function that lists the files fails.
    """
    if source.listing is None:
        return source.files
    with run_by(source.name, "listing"):
        files = tuple(source.listing(folder / source.folder))
        if others := [file for file in files if not isinstance(file, File)]:
            raise TypeError(f"it should return files, got {type(others[0]).__name__}")
        return files


@contextmanager
def run_by(name: str, role: str) -> Iterator[None]:
    """Turn errors of another package's code in the `with` block into BrokenDataset, except `Fault` and Ctrl-C.

    This includes a call of `sys.exit`, which would otherwise end the run as if it had succeeded.

    Args:
        name: the data set that the code provides.
        role: role of the code for the data set, such as "reader".
    """
    try:
        yield
    except (Fault, KeyboardInterrupt):
        raise
    except BaseException as error:
        reason = f"its {role} failed: {in_words(error)}"
        raise BrokenDataset(name, reason, "repair or reinstall the package that provides it") from error


def path_of(source: Published, file: File, folder: Path) -> Path:
    """Return the path of a data set's file on disk, in the data folder `folder`."""
    return folder / source.folder / file.path


def verified(source: Published, file: File, folder: Path) -> bytes:
    """Return the contents of a file; raises `Fault` if they differ from the published ones."""
    try:
        content = regular(path_of(source, file, folder)).read_bytes()
    except OSError as error:
        raise _fault(file, error) from error
    if file.checksum:
        algorithm, expected = file.checksum
        _compare(file, algorithm, expected, hashlib.new(algorithm, content, usedforsecurity=False).hexdigest())
    return content


def check(source: Published, file: File, folder: Path) -> None:
    """Raise `Fault` if a file differs from the published one, without holding the file in memory."""
    if file.checksum is None:
        _check_size(source, file, folder)
        return
    algorithm, expected = file.checksum
    try:
        with regular(path_of(source, file, folder)).open("rb") as stream:
            got = hashlib.file_digest(stream, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise _fault(file, error) from error
    _compare(file, algorithm, expected, got)


def faults(source: Published, folder: Path, deep: bool) -> list[Fault]:
    """Return a `Fault` for each missing or damaged file; with `deep` checksums are compared, otherwise only sizes."""
    try:
        files = files_of(source, folder)
    except Fault as fault:
        return [fault]
    collected = []
    for file in files:
        try:
            (check if deep else _check_size)(source, file, folder)
        except Fault as fault:
            collected.append(fault)
    return collected


def unavailable(source: Published, folder: Path, problems: list[Fault]) -> Unavailable:
    """Return the error that reports the faults `problems` to the user, damaged files first."""
    damaged = [fault for fault in problems if fault.state == "damaged"]
    missing = [fault for fault in problems if fault.state == "missing"]
    parts = []
    if damaged:
        where = path_of(source, damaged[0].file, folder)
        more = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        parts.append(f"{where} is not the published file ({damaged[0].detail}){more}")
    if missing:
        parts.append(f"{_count(source, folder, missing)} found in {folder / source.folder}")
    return Unavailable(source.name, ", and ".join(parts), remedy(source, folder))


def remedy(source: Published, folder: Path) -> str:
    """Return a sentence for the user that says how to get the files of a data set."""
    if source.by_hand:
        target = folder / source.folder
        return f"{source.by_hand} {target}, or point {data_folder.VARIABLE} at a folder that holds {source.folder}"
    command = ["python", "-m", "datasets", "fetch", source.name]
    if folder != data_folder.data_dir():
        command += ["--data-dir", str(folder)]
    folders = sorted({os.path.dirname(f"{source.folder}/{file.path}".lstrip("/")) for file in source.files})
    place = os.path.commonpath(folders) or " and ".join(folders)
    return (
        f"run `{shlex.join(command)}` where there is network, or point {data_folder.VARIABLE} at a folder that holds "
        f"{place}"
    )


def _count(source: Published, folder: Path, missing: list[Fault]) -> str:
    """Return the number of files that are there, in words."""
    total = len(files_of(source, folder))
    present = total - len(missing)
    return f"{f'only {present}' if present else 'none'} of its {total} files"


def _compare(file: File, algorithm: str, expected: str, got: str) -> None:
    if got != expected:
        name = {"sha256": "SHA-256", "md5": "MD5"}[algorithm]
        raise Fault(file, "damaged", f"{name} expected {expected}, got {got}")


def _check_size(source: Published, file: File, folder: Path) -> None:
    try:
        size = regular(path_of(source, file, folder)).stat().st_size
    except OSError as error:
        raise _fault(file, error) from error
    if file.bytes is not None and size != file.bytes:
        raise Fault(file, "damaged", f"expected {file.bytes} bytes, got {size}")


def _fault(file: File, error: OSError) -> Fault:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Fault(file, "missing", "no such file")
    return Fault(file, "damaged", f"cannot be read: {error.strerror}")
