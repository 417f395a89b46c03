"""Did a search space have room? `python -m bench.edges results` shows where in their ranges the chosen values lie.

A position is 0 at the low end of a hyper-parameter's range and 1 at the high end, on the range's own scale. An optimum
sits at an edge where the median position over the splits of a data set is within the margin of an end: there a wider
range might have given something better.
"""

import json
from collections.abc import Iterator
from math import log
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

import typer
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.experiment.protocol import Protocol
from bench.experiment.tasks import method_for, space_of, task_of

MARGIN = 0.02
COLUMNS = ["suite", "dataset", "method", "preset", "protocol", "hparams"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Place(NamedTuple):
    """Where the chosen values of one hyper-parameter lie in its range, over the splits of one data set."""

    method: str
    hparam: str
    dataset: str
    positions: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.positions)

    def at_edge(self, margin: float) -> bool:
        return not margin <= self.median <= 1 - margin


def position(value: float, distribution: BaseDistribution) -> float | None:
    """Of a value in its range; None for an unordered choice among values that are no numbers, or among one."""
    if isinstance(distribution, CategoricalDistribution):
        choices = distribution.choices
        numbers = all(isinstance(choice, int | float) for choice in choices)
        return sorted(choices).index(value) / (len(choices) - 1) if numbers and len(choices) > 1 else None
    low, high = distribution.low, distribution.high
    if isinstance(distribution, FloatDistribution) and distribution.log:
        value, low, high = log(value), log(low), log(high)
    return (value - low) / (high - low) if high > low else None


def places(cells) -> Iterator[Place]:
    """From cells of one preset, a data frame with the columns of `bench.schema.CELLS`."""
    tuned = cells[cells["hparams"].notna()]
    for (suite, dataset, method, text), rows in tuned.groupby(["suite", "dataset", "method", "protocol"]):
        protocol = Protocol(**json.loads(text))
        task = task_of(suite, dataset, protocol)
        space = space_of(method_for(method, task), task, protocol)
        chosen = [json.loads(one) for one in rows["hparams"]]
        for name, distribution in space.items():
            found = [position(one[name], distribution) for one in chosen]
            if None not in found:
                yield Place(method, name, dataset, tuple(found))


@app.command()
def edges(
    results: Annotated[Path, typer.Argument(help="A results folder.")],
    preset: Annotated[str, typer.Option(help="Of which preset.")] = "tuned",
    margin: Annotated[float, typer.Option(help="How near to an end is at the edge.", min=0, max=0.5)] = MARGIN,
) -> None:
    """Where in their ranges the chosen hyper-parameters lie, and which sit at an edge."""
    import pandas as pd

    folder = results / "cells"
    cells = pd.read_parquet(folder, columns=COLUMNS) if folder.exists() else pd.DataFrame(columns=COLUMNS)
    cells = cells[cells["preset"] == preset]
    if cells.empty:
        raise typer.BadParameter(f"{results} has no cells of the preset {preset!r}")
    found = list(places(cells))
    table = Table(
        title=f"Positions of the chosen values, medians over splits ({preset})", title_justify="left", box=None
    )
    for heading in ("method", "hyper-parameter", "lowest", "median", "highest", "at an edge"):
        table.add_column(heading, justify="left" if heading in ("method", "hyper-parameter", "at an edge") else "right")
    for method, hparam in dict.fromkeys((place.method, place.hparam) for place in found):
        own = [place for place in found if (place.method, place.hparam) == (method, hparam)]
        medians = sorted(place.median for place in own)
        figures = (f"{value:.2f}" for value in (medians[0], median(medians), medians[-1]))
        sets = ", ".join(f"{place.dataset} ({place.median:.2f})" for place in own if place.at_edge(margin))
        table.add_row(escape(method), hparam, *figures, sets)
    Console().print(table)
    n_edges = sum(place.at_edge(margin) for place in found)
    print(f"{n_edges} of {len(found)} optima (method x hyper-parameter x data set) within {margin:.0%} of an end")


if __name__ == "__main__":
    app()
