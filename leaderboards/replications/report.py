"""Reports of replications: tables for a terminal, a frame for programs."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockstep_bench.leaderboards.replications.claims import CONTRADICTED, HOLDS, ClaimTest, JudgedClaim
from lockstep_bench.leaderboards.replications.comparison import Compared, Replication
from lockstep_bench.leaderboards.replications.judgement import DIFFERS
from lockstep_bench.leaderboards.replications.lines import claim_numbers, gaps_in_words, in_words, line, not_compared
from lockstep_bench.leaderboards.wording.formats import visible

COLUMNS = [
    *("paper", "table", "entry", "kind", "dataset", "method", "metric", "statistic", "relation", "than"),
    *("published", "published_stderr", "published_n", "measured", "measured_stderr", "measured_n"),
    *("difference_in_stderrs", "p_value", "verdict", "differs_after_correction", "remark"),
]

COLOURS = {DIFFERS: "red", CONTRADICTED: "red", HOLDS: "green"}


def frame(made: Sequence[Replication]) -> pd.DataFrame:
    """Return one row per replicated table or figure, per published number, and per claim and data set.

    The columns are `COLUMNS`. The column `kind` is "entry" (a table or figure), "number" or "claim". In the row of a
    claim, `published` is the right method's value or the constant, and `measured_stderr` and `difference_in_stderrs`
    are those of the paired difference.
    """
    rows = []
    for one in made:
        shared = {"paper": one.entry.paper, "table": one.entry.table, "entry": one.entry.name}
        rows.append(shared | {"kind": "entry", "verdict": in_words(one), "remark": gaps_in_words(one)})
        rows += [shared | _number(row) for row in one.compared]
        rows += [shared | _claim(claim, test) for claim in one.claims for test in claim.tests]
    return pd.DataFrame(rows, columns=COLUMNS)


def show(made: Sequence[Replication], console: Console, details: bool) -> None:
    """Print a summary of the replications and, if `details` is true, every number and claim."""
    summary = Table(title="Replications", title_justify="left")
    for name in ("Name", "Table", "Verdict", "Agreeing"):
        summary.add_column(name, overflow="fold")
    for one in made:
        agreeing = f"{one.n_agree} of {len(one.judged)}" if one.judged else ""
        summary.add_row(*map(_text, (one.entry.name, one.entry.table, in_words(one), agreeing)))
    console.print(summary)
    for one in made if details else ():
        _show_entry(one, console)


def _show_entry(one: Replication, console: Console) -> None:
    entry = one.entry
    console.print(_text(f"\n{entry.name}: {entry.table}, {entry.paper}"), style="bold")
    console.print(_text(entry.title))
    _show_numbers(one, console)
    for claim in one.claims if one.status == "run" else ():
        console.print(_text(f"{claim.in_words}: {claim.claim.text}"), style=COLOURS.get(claim.verdict))
        for test in claim.tests:
            left, right, difference, stderr = claim_numbers(test)
            spread = f" ± {stderr}" if stderr else ""
            numbers = f": {left} against {right}, difference {difference}{spread}" if test.n else ""
            console.print(_text(f"  {test.dataset}: {test.verdict}{numbers}"))
    about = {"Missing": gaps_in_words(one)} if one.status == "run" else {}
    about |= {"Departures": entry.departures, "Not run here": one.unavailable}
    about |= {"Command": entry.command if entry.runs or entry.same_rows_as or entry.test else ""}
    for name, text in about.items():
        if text:
            console.print(_text(f"{name}: {text}"))


def _show_numbers(one: Replication, console: Console) -> None:
    if one.judged:
        table = Table("Data set", "Method", "Metric", "Paper", "Ours", "Difference", "Verdict")
        for row in one.judged:
            shown = line(row)
            theirs, ours = (
                " ± ".join(filter(None, pair))
                for pair in ((shown.theirs, shown.their_stderr), (shown.ours, shown.stderr))
            )
            remarks = "; ".join(filter(None, (shown.verdict, shown.missing, shown.rule)))
            texts = (
                shown.dataset,
                shown.method,
                shown.metric,
                theirs,
                f"{ours} ({shown.n})",
                shown.difference,
                remarks,
            )
            table.add_row(*map(_text, texts), style="red" if shown.marked else None)
        console.print(table)
    for sentence in not_compared(one) if one.status == "run" else ():
        console.print(_text(f"Not compared: {sentence}."))


def _text(text: str) -> Text:
    return Text(visible(text))


def _number(row: Compared) -> dict[str, Any]:
    judgement = row.judgement
    remarks = (row.reason, row.missing, line(row).rule)
    return {
        "kind": "number",
        "dataset": row.dataset,
        "method": row.method,
        "metric": row.metric,
        "statistic": row.statistic,
        "than": row.over,
        "published": row.theirs.value,
        "published_stderr": row.theirs.stderr,
        "published_n": row.theirs.n,
        "measured": row.ours.value,
        "measured_stderr": row.ours.stderr,
        "measured_n": row.ours.n,
        "difference_in_stderrs": row.difference,
        "p_value": judgement.p_value if judgement else None,
        "verdict": row.verdict,
        "differs_after_correction": row.differs if judgement else None,
        "remark": "; ".join(filter(None, remarks)),
    }


def _claim(judged: JudgedClaim, test: ClaimTest) -> dict[str, Any]:
    claim = judged.claim
    return {
        "kind": "claim",
        "dataset": test.dataset,
        "method": claim.left,
        "metric": claim.metric,
        "statistic": "mean",
        "relation": claim.relation if claim.margin is None else f"within {claim.margin:g}",
        "than": claim.right,
        "published": test.right,
        "measured": test.left,
        "measured_stderr": test.stderr,
        "measured_n": test.n,
        "difference_in_stderrs": test.difference / test.stderr if test.stderr > 0 else None,
        "verdict": test.verdict,
        "remark": claim.text,
    }
