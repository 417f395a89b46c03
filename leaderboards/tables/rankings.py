"""Rankings as text and CSV."""

import io
from collections.abc import Mapping

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking
from lockstep_bench.leaderboards.tables import ranking_numbers, spreadsheet
from lockstep_bench.leaderboards.wording.formats import number, visible

POWER = ("detectable", "needed", "floor", "verdict_detectable", "verdict_needed")
COLUMNS = tuple(name for name in Ranked._fields if name not in POWER)
POWER_HEADINGS = ("needed for it", "floor", "80 % power for the verdict", "needed for the verdict")
WIDTH = 400  # characters; a table is as wide as its cells

Rankings = Mapping[str, Ranking]  # by data set; "" for a ranking over all data sets
Remarks = Mapping[tuple[str, str], str]  # by data set and method, as in `Rankings`; most have none


def frame(rankings: Rankings, said: Remarks, power: bool = False) -> pd.DataFrame:
    """Return the rows of rankings as a data frame with the columns `COLUMNS` and numbers of six digits.

    If there are rankings on several data sets, the first column is `dataset`. The column `remark` has facts on a
    method's numbers that its verdict does not show.

    Args:
        rankings: ranking on each data set, or one ranking over all under the key "".
        said: remarks on each method (`stats.remarks`).
        power: whether to add the columns `POWER` on detectable differences and needed numbers of splits.
    """
    names = [*COLUMNS, *(POWER if power else ())]
    tables = [pd.DataFrame(ranking.all_rows, columns=list(Ranked._fields))[names] for ranking in rankings.values()]
    for dataset, table in zip(rankings, tables, strict=True):
        table["remark"] = [said.get((dataset, method), "") for method in table["method"]]
        if dataset:
            table.insert(0, "dataset", dataset)
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*names, "remark"])
    reals = table.select_dtypes("float").columns
    return table.assign(**{name: [float(f"{value:.6g}") for value in table[name]] for name in reals})


def as_csv(rankings: Rankings, said: Remarks, power: bool = False) -> str:
    """Return the rankings as CSV, in which unknown numbers are empty; the arguments are those of `frame`."""
    return spreadsheet.as_csv(frame(rankings, said, power))


def as_text(rankings: Rankings, said: Remarks, power: bool = False) -> str:
    """Return the rankings as tables for a terminal, with separate tables for methods that were run on fewer splits."""
    console = Console(file=io.StringIO(), width=WIDTH, highlight=False, markup=False, emoji=False)
    tables = [
        (dataset, ranking, rows, title)
        for dataset, ranking in rankings.items()
        for rows, title in ((ranking.rows, dataset), (ranking.fewer, f"{dataset}, fewer splits".removeprefix(", ")))
        if rows
    ]
    for dataset, ranking, rows, title in tables:
        difference = f"against {visible(ranking.reference)}" if ranking.reference else "difference"
        table = Table(box=box.SIMPLE_HEAD, title=visible(title) or None, title_justify="left")
        table.add_column("method", no_wrap=True)
        for heading in ("mean rank", "ranks left open", difference, "95 %", "80 % power for", "P(best)"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        for heading in ("data sets", "splits", "failed", *(POWER_HEADINGS if power else ())):
            table.add_column(heading, justify="right", no_wrap=True)
        if remarked := any(said.get((dataset, row.method)) for row in rows):
            table.add_column("remark", no_wrap=True)
        for row in rows:
            remark = [said.get((dataset, row.method), "")] if remarked else []
            cells = _cells(row, ranking.unit)[: len(table.columns) - remarked]
            table.add_row(*cells, *remark)
        console.print(table)
    output = console.file
    assert isinstance(output, io.StringIO)
    return "\n".join(line.rstrip() for line in output.getvalue().strip("\n ").splitlines()) + "\n"


def _cells(row: Ranked, unit: str) -> list[str]:
    return [
        visible(row.method),
        number(row.mean_rank, 1),
        f"{row.rank_low} to {row.rank_high}",
        ranking_numbers.difference(row, unit),
        ranking_numbers.interval(row, unit),
        ranking_numbers.detectable(row, unit),
        number(row.p_best, 2),
        row.verdict,
        str(row.n_datasets),
        str(row.n_splits),
        str(row.n_failed),
        ranking_numbers.needed(row.needed),
        ranking_numbers.floor(row, unit),
        ranking_numbers.rounded(row.verdict_detectable)
        if row.n_datasets == 1
        else ranking_numbers.size(row.verdict_detectable, unit),
        ranking_numbers.needed(row.verdict_needed),
    ]
