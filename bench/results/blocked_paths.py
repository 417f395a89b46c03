"""Paths where a run cannot write its results, because a link, a pipe, or a file in place of a folder is there.

A run follows no link inside its results folder. A folder that somebody handed over could otherwise lead it to write
over files elsewhere.
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
    """Return why a file or a folder cannot be at `path`; None if one is there, or nothing."""
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
    """Yield those of some places where no folder, or no file, can be, with the reason."""
    for path in places:
        if reason := obstacle(path, folder=folder):
            yield path, reason


def below(folders: Mapping[Path, str], keys: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yield what is in the way of the files of some cells, with the reason.

    Args:
        folders: Folders of a results folder, such as OUT/studies, each with the suffix of its files if these are opened
            where they lie; "" if they are replaced, and links with them.
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
