"""Detection of paths in a results folder where a run cannot write, because of a link, a pipe, or a file there.

A run does not follow links inside its results folder. Otherwise a folder from somebody else could make it overwrite
files elsewhere.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

LINK = "it is a link, which is not followed"
FOLDER = "it is a folder, not a file"
FILE = "it is a file, not a folder"
OTHER = "it is a pipe, socket or device"


def obstacle(path: Path, *, folder: bool) -> str | None:
    """Return the reason why `path` cannot be used as a folder (or as a file), or None.

    None is returned if the folder (or file) exists, or nothing is there.
    """
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):  # a file above is an obstacle itself
        return None
    if stat.S_ISLNK(mode):
        return LINK
    if stat.S_ISDIR(mode):
        return None if folder else FOLDER
    if stat.S_ISREG(mode):
        return FILE if folder else None
    return OTHER


def among(places: Iterable[Path], *, folder: bool) -> Iterator[tuple[Path, str]]:
    """Yield those of some paths that cannot be used as a folder (or as a file), with the reason."""
    for path in places:
        if reason := obstacle(path, folder=folder):
            yield path, reason


def below(folders: Mapping[Path, str], keys: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yield the paths that prevent the files of some cells from being written, with the reason.

    Args:
        folders: Subfolders of the results folder, such as OUT/studies, with the suffix of their files. The suffix is ""
            for folders whose files are replaced as a whole, so that a link in a file's place does not matter.
        keys: Keys of the cells, `SUITE/DATASET/METHOD/PRESET-HASH/splitNN-seedS`.
    """
    present = {folder: suffix for folder, suffix in folders.items() if folder.is_dir()}
    if not present:
        return
    names_of: dict[str, list[str]] = {}
    for key in keys:
        place, _, name = key.rpartition("/")
        names_of.setdefault(place, []).append(name)
    above = {str(part) for place in names_of for part in (PurePosixPath(place), *PurePosixPath(place).parents)}
    for folder, suffix in present.items():
        yield from among((folder / place for place in sorted(above)), folder=True)
        for place, names in sorted(names_of.items()) if suffix else ():
            if (folder / place).is_dir():
                odd = {entry.name for entry in os.scandir(folder / place) if not entry.is_file(follow_symlinks=False)}
                files = [f"{name}{suffix}" for name in names]
                yield from among((folder / place / file for file in files if file in odd), folder=False)
