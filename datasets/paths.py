"""Checks of paths that a person gives, made before anything is opened or created."""

import errno
import stat
from pathlib import Path

LONGEST = 200  # characters of a path that a message shows


def regular(path: Path) -> Path:
    """Return the path if it is a regular file or a link to one; opening a pipe, for example, could block for ever.

    Raises:
        OSError: the path is not a regular file; `strerror` says why.
    """
    if not stat.S_ISREG(_mode(path)):
        raise OSError(errno.EINVAL, "it is a folder, pipe or device, not a file", str(path))
    return path


def nearest_folder(path: Path) -> Path:
    """Return the path of a folder, or of the nearest existing folder above it if it does not exist yet.

    Raises:
        OSError: the path is not a folder, and no folder can be created there; `strerror` says why.
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
    raise FileNotFoundError(errno.ENOENT, "neither it nor any folder above it exists", str(path))


def shown(path: Path) -> str:
    """Return a path as text for a message; a very long path is cut in the middle."""
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
