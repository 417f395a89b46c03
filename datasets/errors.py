"""What can go wrong with a data set, each error a sentence for the person at the keyboard."""

import difflib
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datasets.records import File


class UnknownDataset(LookupError):
    """A name nobody registered; the message suggests the nearest of the `known` names."""

    def __init__(self, name: str, known: tuple[str, ...]):
        super().__init__(name, known)
        self.name, self.known = name, known

    def __str__(self) -> str:
        near = _nearest(self.name.lower(), self.known)
        hint = f"; did you mean {near!r}?" if near else "."
        return f"dataset {self.name!r} is unknown{hint} `python -m datasets list` shows all {len(self.known)}"


class Unavailable(Exception):
    """A registered set that cannot be used now: `reason` says why, `remedy` what to do about it."""

    def __init__(self, name: str, reason: str, remedy: str):
        super().__init__(name, reason, remedy)
        self.name, self.reason, self.remedy = name, reason, remedy

    def __str__(self) -> str:
        return f"dataset {self.name!r} is not available: {self.reason}; {self.remedy}"


class Unreachable(Unavailable):
    """The server that publishes the files does not answer, so other sets from it will fail as well."""


class BrokenDataset(Unavailable):
    """A set whose own code is at fault: it cannot be imported or read, or contradicts its description."""


class Fault(Exception):
    """A file of a set that is not there, or is not the published one."""

    def __init__(self, file: "File", state: Literal["missing", "damaged"], detail: str):
        super().__init__(file, state, detail)
        self.file, self.state, self.detail = file, state, detail


def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    """The known name most likely meant: a typing error of it, else one that `name` spells out, else one like it."""
    typing_errors = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    spelt_out = [short for short in known if name.startswith(f"{short}-")]
    alike = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return next(iter([*typing_errors, *spelt_out, *alike]), None)
