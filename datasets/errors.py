"""Errors about data sets; each message says what happened and what to do."""

import difflib
from typing import TYPE_CHECKING, Literal

from lockstep_bench.shared.called import as_called

if TYPE_CHECKING:
    from lockstep_bench.datasets.records import File


class UnknownDataset(LookupError):
    """No data set is registered under this name; the message suggests the nearest of the `known` names."""

    def __init__(self, name: str, known: tuple[str, ...]):
        super().__init__(name, known)
        self.name, self.known = name, known

    def __str__(self) -> str:
        near = _nearest(self.name.lower(), self.known)
        hint = f"; did you mean {near!r}?" if near else "."
        said = f"dataset {self.name!r} is unknown{hint} `python -m datasets list` shows all {len(self.known)}"
        return as_called(said)


class Unavailable(Exception):
    """A registered data set cannot be used now: `reason` says why, `remedy` what to do about it."""

    def __init__(self, name: str, reason: str, remedy: str):
        super().__init__(name, reason, remedy)
        self.name, self.reason, self.remedy = name, reason, remedy

    def __str__(self) -> str:
        return f"dataset {self.name!r} is not available: {self.reason}; {self.remedy}"


class Unreachable(Unavailable):
    """The server that publishes a data set's files does not answer; its other data sets would fail as well."""


class BrokenDataset(Unavailable):
    """The code that provides a data set cannot be imported or run, or its arrays contradict its description."""


class InvalidTable(ValueError):
    """A user's own table cannot be used; the message says what was found and what to do."""


class InvalidFolder(ValueError):
    """A path cannot be the data folder; the message says why and what to do."""


class Fault(Exception):
    """A file of a data set is missing, or differs from the published one."""

    def __init__(self, file: "File", state: Literal["missing", "damaged"], detail: str):
        super().__init__(file, state, detail)
        self.file, self.state, self.detail = file, state, detail


def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    """Return the known name that was most likely meant, or None.

    A name within a typing error of `name` comes first, then one that `name` extends by a hyphen, then any similar one.
    """
    typing_errors = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    extended = [short for short in known if name.startswith(f"{short}-")]
    similar = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return next(iter([*typing_errors, *extended, *similar]), None)


def in_words(error: BaseException) -> str:
    """Return an error of another package's code as text: its class and its message."""
    try:
        # A surrogate, as in the name of a file that is not UTF-8, cannot be printed.
        return f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
    except Exception:  # its own __str__ fails
        return type(error).__name__
