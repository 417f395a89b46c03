"""The report of a recheck on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leaderboards.data.rechecks import DIFFERENT, NOT_RUN, OUTCOMES, WITHIN, Again, Recheck
from leaderboards.metrics import metric
from leaderboards.wording.formats import counted, visible

COLOURS = {WITHIN: "yellow", DIFFERENT: "red", NOT_RUN: "red"}


def show(recheck: Recheck, console: Console) -> None:
    """Print a line for each cell, and what they say together."""
    table = Table()
    for name in ("Suite", "Data set", "Method", "Preset", "Split", "Metric", "Kept", "Again", "Noise", "Outcome"):
        table.add_column(name, overflow="fold")
    for cell in recheck.cells:
        texts = (cell.suite, cell.dataset, cell.method, cell.preset, str(cell.split), metric(cell.metric).title)
        numbers = (repr(cell.kept), "" if cell.new is None else repr(cell.new), f"{cell.noise:.3g}", _outcome(cell))
        table.add_row(*(Text(visible(text)) for text in (*texts, *numbers)), style=COLOURS.get(cell.outcome))
    console.print(table)
    console.print(Text(visible(sentence(recheck))))


def sentence(recheck: Recheck) -> str:
    """Return the outcome in a sentence, such as "10 of 9,402 rows (seed 20260131) run again: 9 equal, 1 different."."""
    outcomes = [cell.outcome for cell in recheck.cells]
    parts = [f"{outcomes.count(outcome)} {outcome}" for outcome in OUTCOMES if outcome in outcomes]
    drawn = f"{len(outcomes)} of {counted(recheck.drawn_from, 'row')} (seed {recheck.draw})"
    return f"{drawn} run again by code {recheck.code_revision or 'unknown'}: {', '.join(parts)}."


def _outcome(cell: Again) -> str:
    return f"{cell.outcome}: {cell.problem}" if cell.problem else cell.outcome
