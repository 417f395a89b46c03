"""Paths that a person gives: what is there is found out before anything is opened or made."""

import errno
import stat
from pathlib import Path

LONGEST = 200  # characters of a path that a message shows


def regular(path: Path) -> Path:
    """Return the path of a regular file, or of a link to one. Whoever opens a pipe may wait for ever.

    Raises:
        OSError: there is no regular file; `strerror` says why.
    """
    if not stat.S_ISREG(_mode(path)):
        raise OSError(errno.EINVAL, "it is a folder, pipe or device, not a file", str(path))
    return path


def nearest_folder(path: Path) -> Path:
    """Return the path of a folder; where it has yet to be made, the nearest folder above it.

    Raises:
        OSError: there is no folder, and none can be made; `strerror` says why.
    """
    for place in (path, *path.absolute().parents):
        try:
            if stat.S_ISDIR(_mode(place)):
                return place
            problem = f"{place} is a file, not a folder"
        except (FileNotFoundError, NotADirectoryError):
            if not place.is_symlink():
                continue
            problem = f"{place} is a link that leads nowhere"
        raise NotADirectoryError(errno.ENOTDIR, problem, str(path))
    raise FileNotFoundError(errno.ENOENT, "there is no folder above it", str(path))


def shown(path: Path) -> str:
    """Return a path as a message shows it: of a very long one its beginning and its end."""
    text, half = str(path), LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} ... {text[-half:]}"


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except ValueError:
        raise OSError(errno.EINVAL, "a path has no NUL character", str(path)) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            error.strerror = "it is too long; most systems allow 255 bytes for each name in a path, and 4,095 in all"
        raise
