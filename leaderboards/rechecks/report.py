"""The report of a recheck (results that were drawn at random and run again) on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockstep_bench.leaderboards.data.rechecks import DIFFERENT, NOT_RUN, OUTCOMES, WITHIN, Again, Recheck
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.wording.formats import counted, visible

COLOURS = {WITHIN: "yellow", DIFFERENT: "red", NOT_RUN: "red"}


def show(recheck: Recheck, console: Console) -> None:
    """Print a line for each result that was run again, and a summary."""
    table = Table()
    for name in ("Cell", "Metric", "Kept", "Again", "Noise", "Outcome"):
        table.add_column(name, overflow="fold")
    for cell in recheck.cells:
        numbers = (f"{cell.kept:.6g}", "" if cell.new is None else f"{cell.new:.6g}", f"{cell.noise:.2g}")
        texts = (in_words(cell), metric(cell.metric).title, *numbers, _outcome(cell))
        table.add_row(*(Text(visible(text)) for text in texts), style=COLOURS.get(cell.outcome))
    console.print(table)
    console.print(Text(visible(sentence(recheck))))


def in_words(cell: Again) -> str:
    """Return the name of the result that was run again, such as "uci, yacht, map, tuned, split 3"."""
    return f"{cell.suite}, {cell.dataset}, {cell.method}, {cell.preset}, split {cell.split}"


def sentence(recheck: Recheck) -> str:
    """Return the outcome in a sentence, such as "10 of 9,402 rows (seed 20260131) run again: 9 equal, 1 different."."""
    outcomes = [cell.outcome for cell in recheck.cells]
    parts = [f"{outcomes.count(outcome)} {outcome}" for outcome in OUTCOMES if outcome in outcomes]
    drawn = f"{len(outcomes)} of {counted(recheck.drawn_from, 'row')} (seed {recheck.draw})"
    return f"{drawn} run again by code {recheck.code_revision or 'unknown'}: {', '.join(parts)}."


def _outcome(cell: Again) -> str:
    return f"{cell.outcome}: {cell.problem}" if cell.problem else cell.outcome
