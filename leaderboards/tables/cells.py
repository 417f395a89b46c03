"""Entries of the tables of results: the number as printed, and the text of its tooltip."""

from collections.abc import Mapping
from math import isnan, nan
from typing import NamedTuple

from lockstep_bench.leaderboards.metrics import INTERVALS, NULLS, PARTS, metric
from lockstep_bench.leaderboards.stats.ranking import Ranked
from lockstep_bench.leaderboards.stats.summary import Moments
from lockstep_bench.leaderboards.tables.ranking_numbers import detectable, difference, interval
from lockstep_bench.leaderboards.wording.formats import counted, decimals_for, not_nothing, number, visible
from lockstep_bench.leaderboards.wording.missing_metrics import missing


class BoardCell(NamedTuple):
    """One entry of the table on a data set's page: a number as printed; every attribute may be empty.

    Attributes:
        value: mean over measured splits (the median if `Board.by_median`), or the number that a paper prints.
        stderr: standard error of the value.
        median: median over measured splits, or the median that a paper prints.
        verdict: one of `stats.verdicts.VERDICTS`; "" for a number that is not ranked.
        outlier: median and farthest split in words if single splits dominate the mean; beside a median, the worst
            split.
        difference: measured minus published, in joint standard errors.
        sources: numbers in the page's list of sources.
        amount: unrounded value, by which readers can sort; NaN for none.
        remark: remark on a fact that the rank does not show, such as "still improving" (`stats.remarks`).
    """

    value: str = ""
    stderr: str = ""
    median: str = ""
    verdict: str = ""
    outlier: str = ""
    difference: str = ""
    sources: tuple[int, ...] = ()
    amount: float = nan
    remark: str = ""


class CellNumbers(NamedTuple):
    """What a measured entry and its tooltip are made of.

    Attributes:
        moments: the method's summary of the metric; None without one.
        place: the method's place in the ranking; None if it is not ranked.
        reference: method that the difference of `place` is to.
        unit: unit of this difference (`Ranking.unit`).
        beside: summaries of `PARTS`, of the ends of `INTERVALS` and of `NULLS` that the method has, by metric.
    """

    moments: Moments | None
    place: Ranked | None = None
    reference: str = ""
    unit: str = ""
    beside: Mapping[str, Moments] = {}

    @property
    def shown(self) -> tuple[object, ...]:
        """Everything that the entry and its tooltip depend on, in tuples."""
        place = self.place and (
            self.place.verdict,
            self.place.difference,
            self.place.low,
            self.place.high,
            self.place.detectable,
        )
        moments = self.moments and tuple(self.moments)
        return moments, place, self.reference, self.unit, [tuple(moments) for moments in self.beside.values()]


def cell(numbers: Mapping[str, CellNumbers], name: str) -> BoardCell:
    """Return a method's entry of one metric."""
    values, place = numbers[name].moments, numbers[name].place
    if values is None or values.n == 0:
        return BoardCell()
    decimals, middle = _decimals_and_median(values)
    stderr = "" if values.by_median or isnan(values.stderr) else number(values.stderr, decimals)
    return BoardCell(
        value=middle if values.by_median else not_nothing(values.mean, decimals),
        stderr=stderr,
        median=middle,
        verdict="" if place is None else place.verdict,
        outlier=outlier_in_words(values),
        amount=values.typical,
        remark=values.remark,
    )


def _decimals_and_median(values: Moments) -> tuple[int, str]:
    """Return the decimals of a mean, and the median as printed."""
    decimals = decimals_for(values.mean, values.stderr)
    return decimals, number(values.median, max(decimals, decimals_for(values.median)))


def hint(numbers: Mapping[str, CellNumbers], name: str) -> str:
    """Return the tooltip of a method's entry of one metric, with `PARTS`, ends of `INTERVALS` and `NULLS`."""
    values, beside = numbers[name].moments, numbers[name].beside
    if values is None:
        return missing(name)
    text = _spread_in_words(values) + _difference_in_words(numbers[name], name) if values.n else ""

    def printed(part: str) -> str:
        return _value(beside[part]) if part in beside else ""

    if name in PARTS and values.n:
        text += "; " + ", ".join(f"{metric(part).title} {value}" for part in PARTS[name] if (value := printed(part)))
    low, high = map(printed, INTERVALS.get(name, ("", "")))
    if low and high:
        text += f"; 95 % bootstrap interval of a split, on average {low} to {high}"
    expected, most = map(printed, NULLS.get(name, ("", "")))
    if expected and most:
        text += f"; a calibrated model would have {expected} on average, and up to {most} on a split with a"
        text += " probability of 95 %"
    return text


def _value(values: Moments) -> str:
    """Return the number of an entry as printed; "" without one."""
    if values.n == 0:
        return ""
    decimals, middle = _decimals_and_median(values)
    return middle if values.by_median else not_nothing(values.mean, decimals)


def _spread_in_words(values: Moments) -> str:
    decimals, middle = _decimals_and_median(values)
    words = f"{counted(values.n, 'split')}, {outlier_in_words(values) or f'median {middle}'}"
    if values.by_median:
        stderr = "" if isnan(values.stderr) else f" ± {number(values.stderr, decimals)}"
        words += f", mean {number(values.mean, decimals)}{stderr}"
    return words + (f", {values.n_failed} failed" if values.n_failed else "")


def outlier_in_words(values: Moments) -> str:
    """Return a text such as "median 2.31, one split 13.5" if single splits dominate the mean; "" otherwise.

    If methods are ranked by medians, return the worst split instead, as in "worst 13.5, split 4".
    """
    if values.by_median and values.n > 1 and values.worst_split >= 0:
        return f"worst {number(values.worst, decimals_for(values.worst))}, split {values.worst_split}"
    if values.by_median or not values.ruined:
        return ""
    middle, farthest = (number(value, decimals_for(value)) for value in (values.median, values.farthest))
    return f"median {middle}, one split {farthest}"


def _difference_in_words(numbers: CellNumbers, name: str) -> str:
    """Return the part of a tooltip on the difference to the reference; "" where it has no interval."""
    place, unit = numbers.place, numbers.unit
    if place is None or isnan(place.low):
        return ""
    nats, goal = " nats" if unit == "nats" else "", metric(name).goal
    what = "" if isinstance(goal, str | None) else f", in distance to {goal:g}"
    return (
        f"; against {visible(numbers.reference)}{what}: {difference(place, unit)}{nats}, 95 % interval "
        f"{interval(place, unit)} (80 % power for a difference of {detectable(place, unit)})"
    )
