"""The page on replications: compares numbers and claims of papers' tables and figures with our results.

An entry is one table or figure of a paper (`shared.papers.entries`).
"""

from math import isfinite
from typing import Any, NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.figures.differences import Difference, differences
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.figures.replications import figures
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.replications.claims import (
    CONTRADICTED,
    HOLDS,
    IN_PART,
    MIXED,
    NOT_RUN,
    JudgedClaim,
    tally_of,
)
from lockstep_bench.leaderboards.replications.comparison import Compared, Replication
from lockstep_bench.leaderboards.replications.ledger import columns, disputes, settle
from lockstep_bench.leaderboards.replications.ledger_text import ledger_line
from lockstep_bench.leaderboards.replications.lines import (
    Line,
    claim_numbers,
    gaps_in_words,
    in_words,
    line,
    not_compared,
)
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.wording.formats import counted, number, visible
from lockstep_bench.leaderboards.wording.mixtures import left_out
from lockstep_bench.leaderboards.wording.run_facts import Failure, ProvenanceWords, failures, provenance

FEWEST_DOTS = 4  # numbers that make a figure
MOST_OPEN = 24  # numbers of a table that is shown without a click

# Style classes by verdict of a claim.
CLASSES = {HOLDS: "agrees", IN_PART: "agrees", MIXED: "differs", CONTRADICTED: "differs"}


class TestLine(NamedTuple):
    """The test of a claim on one data set, as printed."""

    dataset: str
    n: str
    left: str
    right: str
    difference: str
    stderr: str
    verdict: str

    @property
    def style(self) -> str:
        """CSS class of the verdict."""
        return CLASSES.get(self.verdict, "se")


class ClaimLine(NamedTuple):
    """A claim as printed.

    Attributes:
        text: the claim.
        verdict: verdict over all data sets.
        in_words: number of data sets by verdict.
        about: the compared quantity and methods, as in "NMLL, vifa below map".
        tests: tests of the claim, one per data set.
    """

    text: str
    verdict: str
    in_words: str
    about: str
    tests: list[TestLine]

    @property
    def style(self) -> str:
        """CSS class of the verdict."""
        return CLASSES.get(self.verdict, "se")


class ReplicationSection(NamedTuple):
    """The section of one table or figure.

    Attributes:
        replication: the table or figure with its verdicts.
        instead: text such as "not run yet" if there is no verdict; "" otherwise.
        tally: pairs (number of claims with a verdict, in words; CSS class), one for each verdict.
        gaps: what is missing from the runs, in words.
        lines: published numbers that have a verdict.
        rule: the rule of comparison, if the same unusual rule was used for all numbers; "" otherwise.
        not_compared: reasons why other published numbers have no verdict.
        plot: figure of the differences; None if there are too few.
        claims: claims with their verdicts.
        pictures: our version of the paper's figures.
        provenance: where the results come from; None if the entry has no results of its own.
        failures: failed results.
    """

    replication: Replication
    instead: str
    tally: list[tuple[str, str]]
    gaps: str
    lines: list[Line]
    rule: str
    not_compared: list[str]
    plot: Plot | None
    claims: list[ClaimLine]
    pictures: list[Plot]
    provenance: ProvenanceWords | None
    failures: list[Failure]


class Tally(NamedTuple):
    """Counts over all entries (tables and figures of papers).

    Attributes:
        n_papers: number of papers.
        n_entries: number of entries.
        n_run: number of entries with results.
        n_tests: number of entries that are checked by a unit test instead.
        n_pending: number of entries that could be run on two cores, but have not been run yet.
        n_unavailable: number of entries that were not run because of their cost or missing data.
        n_numbers: number of published numbers with a verdict.
        n_agree: number of these that agree, without a correction for multiple tests.
        n_claims: number of claims with a verdict.
        claims: numbers of claims with each verdict, as in "56 hold, 38 hold in part".
    """

    n_papers: int
    n_entries: int
    n_run: int
    n_tests: int
    n_pending: int
    n_unavailable: int
    n_numbers: int
    n_agree: int
    n_claims: int
    claims: str


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `replications.html`."""
    replicated = site.replicated
    rows = dict(list(replicated.cells.groupby("preset")))
    papers: dict[str, list[ReplicationSection]] = {}
    for made in site.replications:
        papers.setdefault(made.entry.paper, []).append(section(made, rows.get(made.entry.name)))
    parts = (part.cells[columns(disputes())] for part in (site.results, replicated))
    every = pd.concat(parts)  # a disputed number may be of either
    return {
        "papers": papers,
        "ledger": [ledger_line(one) for one in settle(disputes(), every)],
        "tally": tally(site.replications),
        "notes": [mixture.sentence for mixture in left_out(replicated.choices)],
        "MOST_OPEN": MOST_OPEN,
    }


def tally(made: list[Replication]) -> Tally:
    """Return the counts over all entries."""
    status = [one.status for one in made]
    claims = [claim for one in made for claim in one.claims if claim.verdict != NOT_RUN]
    return Tally(
        len({one.entry.paper for one in made}),
        len(made),
        status.count("run"),
        status.count("test"),
        status.count("not run yet"),
        status.count("not run here"),
        sum(len(one.judged) for one in made),
        sum(one.n_agree for one in made),
        len(claims),
        ", ".join(tally_of(claims).values()),
    )


def section(made: Replication, cells: pd.DataFrame | None) -> ReplicationSection:
    """Return the section of one table or figure.

    Args:
        made: the comparison of the table or figure with our results.
        cells: result rows of the runs for this table or figure; None if there are none.
    """
    run = made.status == "run"
    lines = [line(row) for row in made.judged]
    rules = {shown.rule for shown in lines}
    return ReplicationSection(
        made,
        "" if made.judged or made.verdict_on_claims else in_words(made),
        [(words, CLASSES.get(verdict, "se")) for verdict, words in tally_of(made.claims).items()],
        gaps_in_words(made) if run else "",
        [shown._replace(rule="") for shown in lines] if len(rules) == 1 else lines,
        rules.pop() if len(rules) == 1 else "",
        not_compared(made) if run else [],
        plot(made),
        [_claim(claim) for claim in made.claims],
        [] if cells is None else figures(cells, made.entry.name),
        None if cells is None else provenance(cells),
        [] if cells is None else failures(cells),
    )


def plot(made: Replication) -> Plot | None:
    """Return the figure of the differences between published and measured numbers; None for few (`FEWEST_DOTS`)."""
    rows = [row for row in made.judged if isfinite(row.difference)]
    if len(rows) < FEWEST_DOTS:
        return None
    by_label: dict[str, list[Difference]] = {}
    for row in rows:
        dot = Difference(row.difference, row.differs, line(row).name)
        by_label.setdefault(_label(row, rows), []).append(dot)
    values = "; ".join(f"{visible(one.label)} {number(one.value, 1)}" for dots in by_label.values() for one in dots)
    return Plot(
        differences([(visible(label), dots) for label, dots in by_label.items()]),
        f"Measured minus published, in joint standard errors: {values}",
        "Each dot is a number of the table: measured minus published, in joint standard errors. Within the shaded ±2 "
        "the two agree. Red: significant after Holm's correction.",
    )


def _label(row: Compared, rows: list[Compared]) -> str:
    """Return the row of a figure that a number belongs to: its method where there are several, else its data set."""
    for name in ("method", "dataset"):
        if len({getattr(one, name) for one in rows}) > 1:
            return str(getattr(row, name))
    return metric(row.metric).title


def _claim(judged: JudgedClaim) -> ClaimLine:
    claim, title = judged.claim, metric(judged.claim.metric).title
    right = claim.right or f"{claim.value:g}"
    relation = f"within {claim.margin:g} of" if claim.margin is not None else claim.relation
    tests = []
    for test in judged.tests:
        remark = f", {counted(test.missing, 'split')} not shared" if test.missing else ""
        n = f"{counted(test.n, 'split')}{remark}" if test.n else ""
        tests.append(TestLine(test.dataset, n, *claim_numbers(test), test.verdict))
    return ClaimLine(claim.text, judged.verdict, judged.in_words, f"{title}: {claim.left} {relation} {right}", tests)
