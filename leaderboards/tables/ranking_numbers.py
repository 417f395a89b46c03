"""Formatting of the numbers of a ranking for printing."""

from math import isinf, isnan

from lockstep_bench.leaderboards.stats.ranking import Ranked
from lockstep_bench.leaderboards.wording.formats import decimals_for, difference_in_words, number


def difference(row: Ranked, unit: str) -> str:
    """Return a method's difference to the reference method as text; "" if unknown."""
    return "" if isnan(row.difference) else difference_in_words(row.difference, unit, _reach(row))


def interval(row: Ranked, unit: str) -> str:
    """Return the 95 % interval of the difference to the reference method, as in "−0.36 to +0.01"; "" if unknown."""
    if isnan(row.low):
        return ""
    return " to ".join(difference_in_words(end, unit, _reach(row)) for end in (row.low, row.high))


def detectable(row: Ranked, unit: str) -> str:
    """Return the smallest difference to the reference that is detected with 80 % power, as text; "" if unknown."""
    return "" if isnan(row.detectable) else difference_in_words(row.detectable, unit, _reach(row)).removeprefix("+")


def floor(row: Ranked, unit: str) -> str:
    """Return the smallest difference that arbitrarily many splits would detect, as text; "" if unknown."""
    return "" if isnan(row.floor) else difference_in_words(row.floor, unit, _reach(row)).removeprefix("+")


def size(difference: float, unit: str) -> str:
    """Return the absolute size of a difference in the given unit, with three significant digits; "" if unknown."""
    return "" if isnan(difference) else difference_in_words(difference, unit, difference).removeprefix("+")


def rounded(size: float) -> str:
    """Return a number as text with three significant digits; "" if unknown."""
    return "" if isnan(size) else number(size, decimals_for(size))


def needed(count: float) -> str:
    """Return as text how many data sets or splits would make a comparison significant.

    The result is "none" if no number suffices, and "" if the number is unknown.
    """
    return "" if isnan(count) else "none" if isinf(count) else f"{count:,.0f}"


def _reach(row: Ranked) -> float:
    return (row.high - row.low) / 2
