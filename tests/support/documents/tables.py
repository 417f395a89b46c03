"""Checks of tables in documents (methods by data sets) against the results that a comment names.

    rows SUITE PRESET METRIC: table
    rows SUITE PRESET METRIC: table, else OTHER_PRESET, gain over OTHER_PRESET

An entry of a table is a mean over splits with its standard error, which allows for the rows that splits share; with
`METRIC median` it is only a median. A method without rows of PRESET is looked up in that after "else". Numbers in
brackets are what the mean is below that after "gain over", on the splits that both have. A column "against `METHOD`"
has the difference to that method over all data sets of the table, as `rank` prints it, with its interval in brackets; a
column "rank of N" has mean ranks among the methods of the table.
"""

import re
from functools import cache
from math import nan

import pandas as pd

from documents.evidence import agrees, kept, of_preset
from documents.references import Numbers
from lockstep_bench.leaderboards.stats import ranking
from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean
from lockstep_bench.leaderboards.stats.dependence import ratios
from lockstep_bench.methods import is_ranked

NUMBER = r"[-−+]?[\d.,]+"


def problems_with_table(rows: list[list[str]], numbers: Numbers, options: str) -> list[str]:
    """Return sentences on what is wrong in a table of a document; none if all its numbers are right.

    Args:
        rows: texts of the table's entries, row by row, the heading first.
        numbers: parsed contents of the comment.
        options: the words after "table" in the comment.
    """
    (suite, preset), metric = numbers.where, numbers.metric
    heading, *body = rows
    other = re.search(r"else (\S+?)(?:,|$)", options)
    gain = re.search(r"gain over (\S+?)(?:,|$)", options)
    names = set(_board(suite, preset)["dataset"])
    columns = {place: name for place, name in enumerate(heading) if name in names}
    found = [] if columns else [f"no column of the table is a data set of {suite}, preset {preset}"]
    for method_cell, *cells in body:
        method = method_cell.strip("`")
        for place, dataset in columns.items():
            used = preset if _has(suite, preset, dataset, method) or not other else other[1]
            over = gain[1] if gain and used == preset else None
            found += _problems_with_cell(
                cells[place - 1], suite, used, dataset, method, metric, over, numbers.statistic == "median"
            )
    for place, title in enumerate(heading):
        summary = _summary(title, suite, preset, tuple(columns.values()), metric, [row[0].strip("`") for row in body])
        for method_cell, *cells in body if summary is not None else ():
            method = method_cell.strip("`")
            exact = summary[summary.index == method].to_numpy(float).ravel().tolist()
            if exact and not _same(cells[place - 1], exact):
                found.append(f"{title}, {method}: {cells[place - 1]} is {', '.join(f'{value:.4g}' for value in exact)}")
    return found


@cache
def _board(suite: str, preset: str) -> pd.DataFrame:
    rows = kept()
    return of_preset(rows[(rows["suite"] == suite) & (rows["status"] == "ok")], preset)


@cache
def _ratios(suite: str, preset: str) -> dict[str, float]:
    return ratios(_board(suite, preset))


def _has(suite: str, preset: str, dataset: str, method: str) -> bool:
    board = _board(suite, preset)
    return bool(((board["dataset"] == dataset) & (board["method"] == method)).any())


def _problems_with_cell(
    cell: str, suite: str, preset: str, dataset: str, method: str, metric: str, over: str | None, median: bool
) -> list[str]:
    def values(preset: str) -> pd.Series:
        board = _board(suite, preset)
        chosen = (board["dataset"] == dataset) & (board["method"] == method)
        return board.loc[chosen, ["split", metric]].set_index("split")[metric].dropna()

    exact = values(preset)
    ratio = _ratios(suite, preset).get(dataset, nan)
    wanted = [exact.median()] if median else [exact.mean(), corrected_mean(exact.to_numpy(), ratio).stderr]
    if over:
        wanted.append((values(over) - exact).mean())
    if len(exact) and _same(cell, wanted):
        return []
    return [f"{dataset}, {method}: {cell} is {', '.join(f'{value:.4g}' for value in wanted)} ({len(exact)} rows)"]


def _summary(
    title: str, suite: str, preset: str, datasets: tuple[str, ...], metric: str, methods: list[str]
) -> pd.DataFrame | None:
    """Return the numbers of a column over all data sets by method, or None for any other column."""
    against, rank = re.fullmatch(r"against `(\S+)`", title), re.fullmatch(r"rank of (\d+)", title)
    if not (against or rank):
        return None
    rows = kept()
    board = of_preset(rows[(rows["suite"] == suite) & rows["dataset"].isin(datasets)], preset)
    reference = {"reference": against[1]} if against else {}
    competing = [name for name in methods if is_ranked(name)]
    places = pd.DataFrame(ranking.rank(board, suite, preset, metric, methods=competing, **reference).rows)
    places = places.set_index("method")
    if against:
        return places[["difference", "low", "high"]].drop(index=against[1]).dropna()
    assert rank
    assert len(places) == int(rank[1]), f"{title}: there are {len(places)} methods"
    return places[["mean_rank"]]


def _same(cell: str, exact: list[float]) -> bool:
    printed = re.findall(NUMBER, cell)
    return len(printed) == len(exact) and all(agrees(text, value) for text, value in zip(printed, exact, strict=True))
