"""The error for an Optuna study that cannot be stored, a class of its own to distinguish it from training errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StudyNotStored(OSError):
    """An Optuna study cannot be read or written; `filename` is its path."""


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
