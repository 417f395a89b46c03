"""Positions of the chosen hyper-parameters in their search ranges.

A position is 0 at the low end of a hyper-parameter's range and 1 at the high end, on the range's own (often
logarithmic) scale. An optimum is at an edge if its median position over the splits of a data set is within a margin of
an end. A wider range might then have given a better value.
"""

from collections.abc import Iterator, Sequence
from math import isfinite, log
from statistics import median
from typing import Any, NamedTuple

import pandas as pd
from rich.markup import escape
from rich.table import Table

from lockstep_bench.leaderboards.data.frames import as_object, groups, listed
from lockstep_bench.shared.texts import visible

HEADINGS = ("method", "hyper-parameter", "lowest", "median", "highest", "at an edge")
TEXTS = ("method", "hyper-parameter", "at an edge")  # headings of columns that hold no numbers


class Optimum(NamedTuple):
    """Positions of the tuned values of one hyper-parameter in its search range, one for each split of a data set."""

    method: str
    hparam: str
    dataset: str
    positions: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the positions over splits."""
        return median(self.positions)

    def at_edge(self, margin: float) -> bool:
        """Return whether the median is within `margin` of an end of the range."""
        return not margin <= self.median <= 1 - margin


def position(value: Any, distribution: Any) -> float | None:
    """Return the position of a value in its range, from 0 to 1; None if the range is one value or has no order.

    Args:
        value: the chosen value.
        distribution: Optuna's description of the range, parsed or as JSON text; None if there is no range.
    """
    if isinstance(distribution, str):
        distribution = as_object(distribution)
    try:
        attributes = distribution["attributes"]
        if "choices" in attributes:
            numbers = sorted(choice for choice in attributes["choices"] if isinstance(choice, int | float))
            ordered = len(numbers) == len(attributes["choices"]) > 1
            return numbers.index(value) / (len(numbers) - 1) if ordered else None
        low, high = attributes["low"], attributes["high"]
        if attributes.get("log"):
            value, low, high = log(value), log(low), log(high)
        place = (value - low) / (high - low)
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError):
        return None
    return place if isfinite(place) else None


def optima(cells: pd.DataFrame) -> Iterator[Optimum]:
    """Yield the positions of the tuned values in their search ranges, for each hyper-parameter and data set.

    Args:
        cells: result rows of one preset, columns `shared.schema.CELLS`.
    """
    tuned = cells[cells["hparams"].notna() & cells["search_space"].notna()]
    for (_, dataset, method, _), rows in groups(tuned, ["suite", "dataset", "method", "protocol"]):
        chosen = list(map(as_object, listed(rows["hparams"])))
        spaces = list(map(as_object, listed(rows["search_space"])))  # those of a user's table differ between splits
        for name in chosen[0]:
            positions = [
                position(values.get(name), space.get(name)) for values, space in zip(chosen, spaces, strict=True)
            ]
            known = tuple(place for place in positions if place is not None)
            if len(known) == len(positions):
                yield Optimum(method, name, dataset, known)


def as_table(found: Sequence[Optimum], margin: float) -> Table:
    """Return a table for the terminal with one row for each hyper-parameter of a method.

    Args:
        found: positions on any number of data sets, whose medians the table summarises.
        margin: see `Optimum.at_edge`.
    """
    table = Table(title="Positions of the chosen values, medians over splits", title_justify="left", box=None)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in TEXTS else "right")
    for method, hparam in dict.fromkeys((optimum.method, optimum.hparam) for optimum in found):
        of_hparam = [optimum for optimum in found if (optimum.method, optimum.hparam) == (method, hparam)]
        medians = sorted(optimum.median for optimum in of_hparam)
        figures = (f"{value:.2f}" for value in (medians[0], median(medians), medians[-1]))
        sets = ", ".join(f"{each.dataset} ({each.median:.2f})" for each in of_hparam if each.at_edge(margin))
        table.add_row(*(escape(visible(text)) for text in (method, hparam, *figures, sets)))
    return table
