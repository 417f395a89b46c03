"""The error for a study that cannot be stored, which is thereby told apart from errors in training."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StudyNotStored(OSError):
    """A study cannot be read or written; `filename` says where."""


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn an OSError in the `with` block into `StudyNotStored`.

    Args:
        path: The file of the study, for errors that name no file, such as that of a full disk.
    """
    try:
        yield
    except OSError as problem:
        raise StudyNotStored(problem.errno, problem.strerror, str(problem.filename or path)) from problem
