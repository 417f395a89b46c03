"""Given hyper-parameters as a text: "lr=0.01 slang:lr=0.08 noise_precision=0.2..0.5". Imports nothing heavy.

A value fixes a hyper-parameter; two values with ".." between them are another range to search.
"""

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from lockstep_bench.methods.catalogue.options import registered

WRITTEN = re.compile(r"(?:(?P<method>\S+):)?(?P<name>[A-Za-z_]\w*)=(?P<value>[^\s:=]+)")


class Fixed(NamedTuple):
    """A hyper-parameter that is given instead of tuned, or whose range is given.

    Attributes:
        method: the only method that it is given for; None for all methods.
        name: of the hyper-parameter.
        value: its value, or the lower end of its range.
        high: the upper end of its range, above `value`; None if it is not searched.
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


def parse(text: str) -> Fixed:
    """Return the given hyper-parameter that "NAME=VALUE", "METHOD:NAME=VALUE" or "NAME=LOW..HIGH" says.

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
    return Fixed(match["method"], match["name"], ends[0], ends[1] if len(ends) == 2 else None)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def joined(texts: Iterable[str]) -> str:
    """Return given hyper-parameters as one text, in an order of its own and with values in their shortest form.

    Raises:
        ValueError: a text cannot be read, or two give the same hyper-parameter.
    """
    every = sorted((parse(text) for text in texts), key=lambda fixed: (fixed.method or "", fixed.name))
    for before, after in pairwise(every):
        if before[:2] == after[:2]:
            raise ValueError(f"{before} and {after} fix the same hyper-parameter; leave one out")
    return " ".join(map(str, every))


def complaint(text: str) -> str | None:
    """Return what is wrong with the text of a protocol, or None if `joined` returned it."""
    try:
        written = joined(text.split())
    except ValueError as error:
        return f"is {text!r}: {error}"
    return None if text and text == written else f"is {text!r}; write it as {written!r}"


def given_for(text: str | None, method: str) -> dict[str, Fixed]:
    """Return the given hyper-parameters of a method, by name.

    What is given for the method alone goes before what is given for it with any options, and that before what is given
    for all methods.
    """
    every = [parse(word) for word in (text or "").split()]
    return {
        given.name: given for owner in (None, registered(method), method) for given in every if given.method == owner
    }


def values_for(text: str | None, method: str) -> dict[str, float]:
    """Return the hyper-parameters of a method that are fixed, which excludes those with a given range."""
    return {name: given.value for name, given in given_for(text, method).items() if given.high is None}
