"""Extraction of known files from a published archive.

Files are written under their known paths (`File.path`), never under a name from the archive. An archive is refused as a
whole if Python's `data` filter refuses a member, such as a path outside of the folder. The size and the digest of every
extracted file are checked.
"""

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from lockstep_bench.datasets.records import File

CHUNK_BYTES = 1 << 20
MOST_BYTES = 100 << 20  # of a file whose size nobody has published: the most that GitHub takes
MOST_EXPANSION = 100  # unpacked bytes per byte of an archive


class UnexpectedContent(Exception):
    """The server sent something other than the published file."""


def unpack(archive: Path, files: Sequence[File], into: Path) -> None:
    """Extract known files from a .tar.gz archive, or the single file of a .gz archive.

    Args:
        archive: path of the archive.
        files: files to extract.
        into: folder to which the paths of the files are relative. After an error, files already extracted stay there,
            so pass a temporary folder.

    Raises:
        UnexpectedContent: the archive cannot be read, or has an unsafe member, or lacks a file with the known size and
            checksum.
    """
    try:
        if archive.name.endswith(".tar.gz"):
            _unpack_tar(archive, {file.path: file for file in files}, into)
        else:
            (file,) = files
            with gzip.open(archive) as stream:
                _write(stream, file, into)
    except (gzip.BadGzipFile, zlib.error, EOFError, tarfile.TarError) as error:
        raise UnexpectedContent(f"it cannot be unpacked ({error})") from error


def limit(file: File) -> int:
    """Return the largest number of bytes that a file may have: its published size, else `MOST_BYTES`."""
    return MOST_BYTES if file.bytes is None else file.bytes


def _unpack_tar(archive: Path, wanted: dict[str, File], into: Path) -> None:
    most = MOST_EXPANSION * archive.stat().st_size + tarfile.RECORDSIZE
    with gzip.open(archive) as stream:
        _extract(_Bounded(stream, most), wanted, into)


def _extract(stream: Any, wanted: dict[str, File], into: Path) -> None:  # `Any`: tarfile calls nothing but `read`
    missing = set(wanted)
    with tarfile.open(fileobj=stream, mode="r|") as members:
        for member in members:
            # The filter raises for other members that lead out of the folder, and makes absolute paths relative.
            if tarfile.data_filter(member, str(into)).name != member.name:
                raise UnexpectedContent(f"it holds {member.name!r}, which is an absolute path")
            path = str(PurePosixPath(member.name))
            if path not in missing:
                continue
            content = members.extractfile(member) if member.isreg() else None
            if content is None:
                raise UnexpectedContent(f"its {member.name!r} is not a plain file")
            _write(content, wanted[path], into)
            missing.remove(path)
    if missing:
        raise UnexpectedContent(f"it does not hold {min(missing)!r}")


class _Bounded:
    """A stream from which at most a given number of bytes can be read."""

    def __init__(self, stream: gzip.GzipFile, most: int):
        self._stream, self._left = stream, most

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes; raise `UnexpectedContent` after too many."""
        content = self._stream.read(n_bytes)
        self._left -= len(content)
        if self._left < 0:
            raise UnexpectedContent(f"it unpacks to more than {MOST_EXPANSION} times its size")
        return content


def _write(stream: IO[bytes] | gzip.GzipFile, file: File, into: Path) -> None:
    if file.checksum is None:
        raise ValueError(f"{file.path} has no digest to be checked by; give its File a sha256 or an md5")
    algorithm, expected = file.checksum
    target = into / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    state, received = hashlib.new(algorithm, usedforsecurity=False), 0
    with target.open("wb") as out:
        while chunk := stream.read(CHUNK_BYTES):
            received += len(chunk)
            if received > limit(file):
                raise UnexpectedContent(f"its {file.path} is longer than {limit(file)} bytes")
            state.update(chunk)
            out.write(chunk)
    if state.hexdigest() != expected:
        raise UnexpectedContent(f"its {file.path} has the {algorithm} {state.hexdigest()}, expected {expected}")
