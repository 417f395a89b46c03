"""Reports of a comparison: tables for a terminal, and a summary in sentences."""

from collections.abc import Sequence
from math import isnan

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockstep_bench.leaderboards.comparison.comparison import Comparison, Move, StatusChange, Unsteady
from lockstep_bench.leaderboards.data.frames import records
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.wording.formats import counted, visible

COLOURS = {"better": "green", "worse": "red", "moved": "yellow"}
MOST_ROWS = 40  # of a table

UNSTEADY = "Not reproduced (a bug): different numbers from the same code, data, protocol, seed, versions and device"


def show(comparison: Comparison, console: Console) -> None:
    """Print a summary, the significant changes in order of their p-values, changed statuses and unreproduced cells.

    What could not be compared follows at the end.
    """
    for sentence in sentences(comparison):
        console.print(Text(visible(sentence)))
    moved = comparison.moved.sort_values("p_value", kind="stable")
    lines = [
        [
            row.verdict,
            *_where(row),
            metric(row.metric).title,
            *map(_number, (row.old, row.new, row.detectable)),
            _p_value(row),
        ]
        for row in records(moved, Move)
    ]
    _print_table(console, "Significant changes", ["Metric", "Old", "New", "Detectable", "p"], lines)
    lines = [
        [status.verdict, *_where(status), str(status.split), status.old, status.new]
        for status in records(comparison.statuses, StatusChange)
    ]
    _print_table(console, "Changed status", ["Split", "Old", "New"], lines)
    lines = [
        ["", *_where(cell), str(cell.split), metric(cell.metric).title, repr(cell.old), repr(cell.new)]
        for cell in records(comparison.unsteady, Unsteady)
    ]
    _print_table(console, UNSTEADY, ["Split", "Metric", "Old", "New"], lines)
    for sentence in comparison.notes:
        console.print(Text(visible(sentence)))


def sentences(comparison: Comparison) -> list[str]:
    """Return sentences that count the compared numbers by verdict, and the changed, new and vanished cells."""
    count = comparison.moves["verdict"].value_counts()
    parts = [
        f"{count.get(verdict, 0)} {words}"
        for verdict, words in {
            "better": "better",
            "worse": "worse",
            "moved": "moved",
            "noise": "within noise",
            "same": "the same to the last bit",
            "untested": "different and not tested (no two common splits, one test part for all of them, the same "
            "difference on fewer than five, infinite on both sides, or other data)",
        }.items()
        if count.get(verdict, 0) or verdict in ("better", "worse")
    ]
    summary = [f"{counted(len(comparison.moves), 'number')} compared: {', '.join(parts)}."]
    noise = comparison.moves[(comparison.moves["verdict"] == "noise") & (comparison.moves["old"] != 0)]
    if not noise.empty:
        sizes = (noise["detectable"] / noise["old"].abs()).groupby(noise["metric"], sort=False).median()
        medians = ", ".join(f"{metric(str(name)).title} {100 * size:.2g} %" for name, size in sizes.items())
        summary.append(f"Within noise, the median change that would have been detected with 80 % power: {medians}.")
    for cells, where in ((comparison.vanished, "old"), (comparison.appeared, "new")):
        if not cells.empty:
            methods = cells["method"].nunique()
            amount = f"{counted(int(cells['n'].sum()), 'cell')} of {counted(methods, 'method')}"
            amount += f" on {counted(cells['dataset'].nunique(), 'data set')}"
            summary.append(f"Only in the {where} results: {amount}.")
    return summary


def _where(row: Move | StatusChange | Unsteady) -> list[str]:
    return [row.suite, row.dataset, row.method, row.preset]


def _number(value: float) -> str:
    return "" if isnan(value) else f"{value:.5g}"


def _p_value(row: Move) -> str:
    return "" if isnan(row.p_value) else f"{row.p_value:.1g} (n = {row.n})"


def _print_table(console: Console, title: str, columns: Sequence[str], lines: list[list[str]]) -> None:
    if not lines:
        return
    more = f" (the first {MOST_ROWS} of {len(lines)})" if len(lines) > MOST_ROWS else ""
    table = Table(title=title + more, title_justify="left")
    for name in ("", "Suite", "Data set", "Method", "Preset", *columns):
        table.add_column(name, overflow="fold")
    for line in lines[:MOST_ROWS]:
        table.add_row(*(Text(visible(text)) for text in line), style=COLOURS.get(line[0]))
    console.print(table)
