"""Fixed hyper-parameters as a text: "lr=0.01 slang:lr=0.08". Imports nothing heavy."""

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from methods.catalogue.options import registered

WRITTEN = re.compile(r"(?:(?P<method>\S+):)?(?P<name>[A-Za-z_]\w*)=(?P<value>[^\s:=]+)")


class Fixed(NamedTuple):
    """A hyper-parameter that is given instead of tuned.

    Attributes:
        method: the only method that it is fixed for; None for all methods.
        name: of the hyper-parameter.
        value: its value.
    """

    method: str | None
    name: str
    value: float

    def __str__(self) -> str:
        value = repr(self.value).removesuffix(".0")
        return f"{self.method}:{self.name}={value}" if self.method else f"{self.name}={value}"


def parse(text: str) -> Fixed:
    """Return the fixed hyper-parameter that "NAME=VALUE" or "METHOD:NAME=VALUE" says.

    Raises:
        ValueError: the text cannot be read, or the value is no finite number.
    """
    match = WRITTEN.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} cannot be read; write NAME=VALUE or METHOD:NAME=VALUE, as in lr=0.01")
    try:
        value = float(match["value"])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text!r} has the value {match['value']!r}; it must be a finite number, as in lr=0.01")
    return Fixed(match["method"], match["name"], value)


def joined(texts: Iterable[str]) -> str:
    """Return fixed hyper-parameters as one text, in an order of its own and with values in their shortest form.

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


def values_for(text: str | None, method: str) -> dict[str, float]:
    """Return the fixed hyper-parameters of a method.

    What is fixed for the method alone goes before what is fixed for it with any options, and that before what is fixed
    for all methods.
    """
    every = [parse(word) for word in (text or "").split()]
    return {
        fixed.name: fixed.value
        for owner in (None, registered(method), method)
        for fixed in every
        if fixed.method == owner
    }
