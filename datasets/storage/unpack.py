"""Taking pinned files out of a published archive.

Nothing is written under a name that the archive chooses: what is wanted is known by its path beforehand, and an
archive that holds a path out of its folder is refused whole. Every file is compared with its size and digest.
"""

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from datasets.records import File

CHUNK_BYTES = 1 << 20
MOST_BYTES = 1 << 26  # of a file whose size nobody has published


class Refused(Exception):
    """What was sent is not to be trusted."""


def unpack(archive: Path, files: Sequence[File], into: Path) -> None:
    """Write the wanted `files` of a .tar.gz, or the one file of a .gz, below the folder `into` under their paths.

    Raises `Refused` for an archive that cannot be read, that lacks a file, or whose files are not the pinned ones; what
    was written until then stays, so `into` should be a temporary folder.
    """
    try:
        if archive.name.endswith(".tar.gz"):
            _unpack_tar(archive, {file.path: file for file in files}, into)
        else:
            (file,) = files
            with gzip.open(archive) as stream:
                _write(stream, file, into)
    except (gzip.BadGzipFile, zlib.error, EOFError, tarfile.TarError) as error:
        raise Refused(f"it cannot be unpacked ({error})") from error


def limit(file: File) -> int:
    """The most bytes that a file may have."""
    return MOST_BYTES if file.bytes is None else file.bytes


def _unpack_tar(archive: Path, wanted: dict[str, File], into: Path) -> None:
    missing = set(wanted)
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts:
                raise Refused(f"it holds {member.name!r}, which leads out of its folder")
            if str(path) not in missing:
                continue
            if not member.isreg():
                raise Refused(f"its {member.name!r} is not a plain file")
            _write(members.extractfile(member), wanted[str(path)], into)
            missing.remove(str(path))
    if missing:
        raise Refused(f"it does not hold {min(missing)!r}")


def _write(stream: BinaryIO, file: File, into: Path) -> None:
    target = into / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    algorithm, wanted = file.checksum
    state, received = hashlib.new(algorithm, usedforsecurity=False), 0
    with target.open("wb") as out:
        while chunk := stream.read(CHUNK_BYTES):
            received += len(chunk)
            if received > limit(file):
                raise Refused(f"its {file.path} is longer than {limit(file)} bytes")
            state.update(chunk)
            out.write(chunk)
    if state.hexdigest() != wanted:
        raise Refused(f"its {file.path} has the {algorithm} {state.hexdigest()}, expected {wanted}")
