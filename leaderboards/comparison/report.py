"""A comparison for a terminal, and for programs."""

import json
from collections.abc import Sequence
from math import isfinite, isnan

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leaderboards.comparison.comparison import Comparison
from leaderboards.metrics import metric
from leaderboards.wording.formats import counted, visible

COLOURS = {"better": "green", "worse": "red", "moved": "yellow"}
MOST = 40  # lines of a table

TESTS = {"wilcoxon": "Wilcoxon", "t": "paired t", "welch": "Welch"}
UNSTEADY = "Other numbers from the same code, data, protocol, seed, versions and device: a bug"


def show(found: Comparison, console: Console) -> None:
    """Print what moved, the surest first, what ended otherwise, and in a sentence each what else there is."""
    for sentence in found.notes:
        console.print(Text(visible(sentence)))
    moved = found.moved.sort_values("p_value", kind="stable")
    lines = [
        [row.verdict, *_where(row), metric(row.metric).title, _number(row.old), _number(row.new), _told(row)]
        for row in moved.itertuples()
    ]
    _print_table(console, "Beyond noise", ["Metric", "Old", "New", "p"], lines)
    lines = [[row.verdict, *_where(row), str(row.split), row.old, row.new] for row in found.statuses.itertuples()]
    _print_table(console, "Ended otherwise", ["Split", "Old", "New"], lines)
    lines = [
        ["", *_where(row), str(row.split), metric(row.metric).title, repr(row.old), repr(row.new)]
        for row in found.unsteady.itertuples()
    ]
    _print_table(console, UNSTEADY, ["Split", "Metric", "Old", "New"], lines)
    for sentence in sentences(found):
        console.print(Text(visible(sentence)))


def sentences(found: Comparison) -> list[str]:
    """How many numbers and cells there are of each kind."""
    count = found.moves["verdict"].value_counts()
    parts = [
        f"{count.get(verdict, 0)} {words}"
        for verdict, words in {
            "better": "better",
            "worse": "worse",
            "moved": "moved",
            "noise": "within noise",
            "same": "the same to the last bit",
            "untested": "different on too few splits to tell",
        }.items()
        if count.get(verdict, 0) or verdict in ("better", "worse")
    ]
    said = [f"{counted(len(found.moves), 'number')} compared: {', '.join(parts)}."]
    for cells, where in ((found.vanished, "old"), (found.appeared, "new")):
        if not cells.empty:
            methods = cells["method"].nunique()
            told = f"{counted(cells['n'].sum(), 'cell')} of {counted(methods, 'method')}"
            said.append(f"Only in the {where} results: {told} on {counted(cells['dataset'].nunique(), 'data set')}.")
    return said


def as_json(found: Comparison) -> str:
    """The frames of `found` as lists of objects by name, and `notes`; infinities are strings, NaN is null."""
    frames = {name: frame for name, frame in found._asdict().items() if isinstance(frame, pd.DataFrame)}
    said = {name: [_plain(row) for row in frame.to_dict("records")] for name, frame in frames.items()}
    return json.dumps(said | {"notes": found.notes, "anything": found.anything}, indent=1)


def _plain(row: dict) -> dict:
    return {name: _plain_number(value) if isinstance(value, float) else value for name, value in row.items()}


def _plain_number(value: float) -> float | str | None:
    return None if isnan(value) else value if isfinite(value) else str(value)


def _where(row) -> list[str]:
    return [row.suite, row.dataset, row.method, row.preset]


def _number(value: float) -> str:
    return f"{value:.5g}"


def _told(row) -> str:
    return f"{row.p_value:.1g} ({TESTS[row.test]}, n = {row.n})"


def _print_table(console: Console, title: str, columns: Sequence[str], lines: list[list[str]]) -> None:
    if not lines:
        return
    more = f" (the first {MOST} of {len(lines)})" if len(lines) > MOST else ""
    table = Table(title=title + more, title_justify="left")
    for name in ("", "Suite", "Data set", "Method", "Preset", *columns):
        table.add_column(name, overflow="fold")
    for line in lines[:MOST]:
        table.add_row(*(Text(visible(text)) for text in line), style=COLOURS.get(line[0]))
    console.print(table)
