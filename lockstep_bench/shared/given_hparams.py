"""Hyper-parameters that the user gives instead of tuning, as in "lr=0.01 slang:lr=0.08 noise_precision=0.2..0.5".

A single value fixes a hyper-parameter. Two values with ".." between them replace the range that is searched.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from lockstep_bench.shared.method_names import registered

WRITTEN = re.compile(r"(?:(?P<method>\S+):)?(?P<name>[A-Za-z_]\w*)=(?P<value>[^\s:=]+)")


class GivenHParam(NamedTuple):
    """A hyper-parameter whose value, or whose range to search, the user gives.

    Attributes:
        method: the only method to which this applies; None for all methods.
        name: name of the hyper-parameter.
        value: its value, or the lower end of its range.
        high: the upper end of its range, above `value`; None if the hyper-parameter is fixed at `value`.
    """

    method: str | None
    name: str
    value: float
    high: float | None = None

    def __str__(self) -> str:
        ends = (self.value,) if self.high is None else (self.value, self.high)
        value = "..".join(repr(end).removesuffix(".0") for end in ends)
        return f"{self.method}:{self.name}={value}" if self.method else f"{self.name}={value}"

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the range; equal for a fixed value."""
        return self.value, self.value if self.high is None else self.high


def parse(text: str) -> GivenHParam:
    """Return the hyper-parameter that a text gives: "NAME=VALUE", "METHOD:NAME=VALUE" or "NAME=LOW..HIGH".

    Raises:
        ValueError: the text cannot be read, a value is no finite number, or a range is empty.
    """
    match = WRITTEN.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} cannot be read; write NAME=VALUE or METHOD:NAME=VALUE, as in lr=0.01")
    texts = match["value"].split("..")
    ends = [end for end in map(_finite, texts) if end is not None]
    if len(ends) < len(texts) or len(texts) > 2:
        raise ValueError(
            f"{text!r} has the value {match['value']!r}; it must be a finite number, as in lr=0.01, or two, as in "
            "lr=0.01..0.1"
        )
    if len(ends) == 2 and not ends[0] < ends[1]:
        raise ValueError(f"{text!r} has an empty range; its lower end comes first, as in lr=0.01..0.1")
    return GivenHParam(match["method"], match["name"], ends[0], ends[1] if len(ends) == 2 else None)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class GivenHParams:
    """All hyper-parameters that a protocol gives, sorted, so that their order on the command line does not matter.

    Attributes:
        every: the given hyper-parameters, sorted by method and name; no pair of method and name occurs twice.
    """

    every: tuple[GivenHParam, ...]

    @classmethod
    def of(cls, every: Iterable[GivenHParam]) -> "GivenHParams":
        """Return the collection of some given hyper-parameters, which may come in any order.

        Raises:
            ValueError: the collection is empty, or two entries give the same hyper-parameter.
        """
        ordered = sorted(every, key=lambda given: (given.method or "", given.name))
        if not ordered:
            raise ValueError("'' cannot be read; write NAME=VALUE or METHOD:NAME=VALUE, as in lr=0.01")
        for before, after in pairwise(ordered):
            if before[:2] == after[:2]:
                raise ValueError(f"{before} and {after} fix the same hyper-parameter; leave one out")
        return cls(tuple(ordered))

    @classmethod
    def read(cls, text: str) -> "GivenHParams":
        """Return the hyper-parameters that a text gives; `parse` reads its parts, which are separated by spaces.

        Raises:
            ValueError: a part cannot be read, or two give the same hyper-parameter.
        """
        return cls.of(map(parse, text.split()))

    def __str__(self) -> str:
        """Return the text that `read` reads, with values in their shortest form."""
        return " ".join(map(str, self.every))

    def of_method(self, method: str) -> dict[str, GivenHParam]:
        """Return the given hyper-parameters that apply to a method, by name.

        If several entries give the same hyper-parameter, the most specific one counts: an entry for the method with
        exactly these options, then for the method with any options, then for all methods.
        """
        owners = (None, registered(method), method)
        return {given.name: given for owner in owners for given in self.every if given.method == owner}
