"""Positions of the chosen hyper-parameters in their search ranges: `python -m bench.edges results`.

A position is 0 at the low end of a hyper-parameter's range and 1 at the high end, on the range's own scale. An optimum
sits at an edge where the median position over the splits of a data set is within the margin of an end: there a wider
range might have given something better.
"""

import json
from collections.abc import Iterator
from math import log
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    json_to_distribution,
)
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lockstep_bench.bench.door import Door

if TYPE_CHECKING:  # --help imports no pandas
    import pandas as pd

MARGIN = 0.02
COLUMNS = ["suite", "dataset", "method", "preset", "protocol", "hparams", "search_space"]

app = Door()


class Place(NamedTuple):
    """Positions of the chosen values of one hyper-parameter in its range, over the splits of one data set."""

    method: str
    hparam: str
    dataset: str
    positions: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the positions."""
        return median(self.positions)

    def at_edge(self, margin: float) -> bool:
        """Return whether the median is within `margin` of an end of the range."""
        return not margin <= self.median <= 1 - margin


def position(value: float, distribution: BaseDistribution) -> float | None:
    """Return the position of a value in its range, from 0 to 1; None for a single value or values without order."""
    if isinstance(distribution, CategoricalDistribution):
        numbers = sorted(choice for choice in distribution.choices if isinstance(choice, int | float))
        ordered = len(numbers) == len(distribution.choices) > 1
        return numbers.index(value) / (len(numbers) - 1) if ordered else None
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise TypeError(f"a {type(distribution).__name__} has no range; it must be a float, int or categorical one")
    low, high = distribution.low, distribution.high
    if isinstance(distribution, FloatDistribution) and distribution.log:
        value, low, high = log(value), log(low), log(high)
    return (value - low) / (high - low) if high > low else None


def places(cells: "pd.DataFrame") -> Iterator[Place]:
    """Yield the positions of the chosen values, per hyper-parameter and data set.

    Args:
        cells: results of one preset, with the columns `COLUMNS`.
    """
    tuned = cells[cells["hparams"].notna() & cells["search_space"].notna()]
    for group, rows in tuned.groupby(["suite", "dataset", "method", "protocol"]):
        _, dataset, method, _ = map(str, group)
        chosen = [json.loads(hparams) for hparams in rows["hparams"]]
        spaces = [json.loads(space) for space in rows["search_space"]]  # those of an own table differ between splits
        for name in chosen[0]:
            positions = [
                position(hparams[name], json_to_distribution(json.dumps(space[name])))
                for hparams, space in zip(chosen, spaces, strict=True)
            ]
            known = tuple(place for place in positions if place is not None)
            if len(known) == len(positions):
                yield Place(method, name, dataset, known)


@app.command()
def edges(
    results: Annotated[Path, typer.Argument(help="A results folder.")],
    preset: Annotated[str, typer.Option(help="Preset whose cells are read.")] = "tuned",
    margin: Annotated[
        float, typer.Option(help="Distance from an end that counts as the edge.", min=0, max=0.5)
    ] = MARGIN,
) -> None:
    """Print the positions of the chosen hyper-parameters in their ranges, and which are at an edge."""
    import pandas as pd

    folder = results / "cells"
    cells = pd.read_parquet(folder, columns=COLUMNS) if folder.exists() else pd.DataFrame(columns=COLUMNS)
    cells = cells[cells["preset"] == preset]
    if cells.empty:
        raise typer.BadParameter(f"{results} has no cells of the preset {preset!r}; choose another with --preset")
    all_places = list(places(cells))
    table = Table(
        title=f"Positions of the chosen values, medians over splits ({preset})", title_justify="left", box=None
    )
    for heading in ("method", "hyper-parameter", "lowest", "median", "highest", "at an edge"):
        table.add_column(heading, justify="left" if heading in ("method", "hyper-parameter", "at an edge") else "right")
    for method, hparam in dict.fromkeys((place.method, place.hparam) for place in all_places):
        of_hparam = [place for place in all_places if (place.method, place.hparam) == (method, hparam)]
        medians = sorted(place.median for place in of_hparam)
        figures = (f"{value:.2f}" for value in (medians[0], median(medians), medians[-1]))
        sets = ", ".join(f"{place.dataset} ({place.median:.2f})" for place in of_hparam if place.at_edge(margin))
        table.add_row(escape(method), hparam, *figures, sets)
    Console().print(table)
    n_edges = sum(place.at_edge(margin) for place in all_places)
    print(f"{n_edges} of {len(all_places)} optima (method x hyper-parameter x data set) within {margin:.0%} of an end")


if __name__ == "__main__":
    app()
