"""Closing tables of a run: one for each headline metric, the best method first, and the path of the page."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.markup import escape
from rich.table import Table

from lockstep_bench import methods
from lockstep_bench.bench.console.display import out, say
from lockstep_bench.bench.experiment.available import Missing
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.schema import STATUSES

MOST_TABLES = 2  # more data sets than fit side by side in this many tables are summed up by method
MOST_NAMED = 6
BEST = "*"


class MetricSummary(NamedTuple):
    """Summary of one metric over data sets and methods.

    Attributes:
        title: title of the metric.
        rows: rows of `leaderboards.export`, one per data set and method.
        ranks: mean rank of each method over the data sets, the best first; NaN for baselines, which are not ranked.
        best: data set -> method with the lowest mean over splits, or the lowest median if the splits are along
            features.
    """

    title: str
    rows: list[Any]
    ranks: Mapping[str, float]
    best: Mapping[str, str]


def show_outcome(
    rows: pd.DataFrame,
    wanted: Sequence[Cell],
    results: Results,
    missing: Sequence[Missing],
    page: Path,
    signs: Mapping[str, str],
) -> None:
    """Print tables of the headline metrics, failures, and where the results are.

    Args:
        rows: exported summary (`leaderboards.export`).
        wanted: the requested cells.
        results: the results folder.
        missing: unavailable data sets.
        page: path of the HTML page.
        signs: sign that marks a number, such as an asterisk, for each kind of remark.
    """
    outcomes = _outcomes(rows, wanted)
    for outcome in outcomes:
        columns = sorted({row.dataset for row in outcome.rows})
        tables = _tables(outcome, columns, signs, out.width)
        order = f"; methods by mean rank on {len(columns)} data sets" if len(columns) > 1 else ""
        lowest = f"{',' if order else ';'} {BEST} {_lowest(outcome)}" if outcome.best else ""
        if len(tables) > MOST_TABLES:
            say(f"{outcome.title}, lower is better{order}, and on how many data sets ...")
            out.print(_summary(outcome, signs))
            continue
        statistic = "median and worst" if any(row.by_median for row in outcome.rows) else "mean±standard error"
        say(f"{outcome.title}, {statistic} over splits, lower is better{order}{lowest}:")
        for table in tables:
            out.print(table)
    said = {words for words in signs for outcome in outcomes for row in outcome.rows if words in str(row.remark)}
    for words, sign in signs.items():
        if words in said:
            say(f"{sign} {words}")
    if without := _without_baseline(wanted):
        where = ", ".join(without) if len(without) <= MOST_NAMED else f"{len(without)} data sets"
        say(f"Not compared with predicting the training mean: {where}; `--methods {methods.BASELINE}` adds it")
    statuses = Counter(results.statuses(wanted).values())
    say("Cells: " + ", ".join(f"{statuses[status]} {status}" for status in STATUSES if statuses[status]))
    if missing:
        say(f"Without {', '.join(each.dataset for each in missing)}: not available, see above")
    for line in _next_steps(wanted, results.out):
        out.print(escape(line), soft_wrap=True)
    out.print(f"Page: [bold]{escape(str(page))}[/]", soft_wrap=True)


def _outcomes(rows: pd.DataFrame, wanted: Sequence[Cell]) -> list[MetricSummary]:
    # Where a folder holds several protocols of one preset, the summary names them with their hashes.
    chosen = {
        (cell.suite, cell.dataset, cell.method, preset)
        for cell in wanted
        for preset in (cell.preset, f"{cell.preset}@{cell.protocol.hash}")
    }
    headline = {name: title for cell in wanted for name, title in SUITES[cell.suite].headline.items()}
    outcomes = []
    for name, title in headline.items():
        shown = [
            row
            for row in rows[(rows["metric"] == name) & (rows["n"] + rows["n_failed"] > 0)].itertuples()
            if (row.suite, row.dataset, row.method, row.preset) in chosen and name in SUITES[str(row.suite)].headline
        ]
        if shown:
            typical = [(row.method, row.dataset, row.median if row.by_median else row.mean) for row in shown]
            by_method = pd.DataFrame(typical).pivot_table(index=0, columns=1, values=2, dropna=False)
            ranked = by_method[[methods.is_ranked(str(name)) for name in by_method.index]]
            ranks = ranked.rank(na_option="bottom").mean(axis=1).reindex(by_method.index).sort_values(kind="stable")
            several = ranked.dropna(axis=1, how="all") if len(ranked) > 1 else ranked.iloc[:, :0]
            best = {str(dataset): str(method) for dataset, method in several.idxmin().items()}
            outcomes.append(MetricSummary(title, shown, {str(name): float(rank) for name, rank in ranks.items()}, best))
    return outcomes


def _tables(outcome: MetricSummary, columns: Sequence[str], signs: Mapping[str, str], width: int) -> list[Table]:
    """Return tables with methods down and data sets across, each within the width."""
    figures = {(row.dataset, row.method): _figure(row, outcome, signs) for row in outcome.rows}
    widths = {
        column: max(len(column), *(len(figures.get((column, name), "")) for name in outcome.ranks)) + 2
        for column in columns
    }
    left_over, tables = list(columns), []
    while left_over:
        left = width - max(map(len, outcome.ranks)) - 2
        fitting: list[str] = []
        while left_over and (not fitting or widths[left_over[0]] <= left):
            fitting.append(left_over.pop(0))
            left -= widths[fitting[-1]]
        table = Table(box=None)
        table.add_column("method", no_wrap=True)
        for column in fitting:
            table.add_column(column, justify="right", no_wrap=True)
        for name in outcome.ranks:
            texts = {column: escape(figures.get((column, name), "")) for column in fitting}
            bold = [f"[bold]{text}[/]" if outcome.best.get(column) == name else text for column, text in texts.items()]
            table.add_row(escape(name), *bold)
        tables.append(table)
    return tables


def _summary(outcome: MetricSummary, signs: Mapping[str, str]) -> Table:
    """Return a table with one line per method: its mean rank, and on how many data sets it has the lowest mean."""
    table = Table(box=None)
    table.add_column("method", no_wrap=True)
    for heading in ("mean rank", "... the lowest", *(f"... {sign}" for sign in signs.values()), "failed cells"):
        table.add_column(heading, justify="right")
    firsts = Counter(outcome.best.values())
    for name, rank in outcome.ranks.items():
        own = [row for row in outcome.rows if row.method == name]
        remarked = [sum(words in row.remark for row in own) for words in signs]
        counts = (firsts[name], *remarked, int(sum(row.n_failed for row in own)))
        table.add_row(escape(name), "" if rank != rank else f"{rank:.1f}", *(str(count or "") for count in counts))
    return table


def _figure(row: Any, outcome: MetricSummary, signs: Mapping[str, str]) -> str:
    marks = "".join(sign for words, sign in signs.items() if words in row.remark)
    best = BEST if outcome.best.get(row.dataset) == row.method else ""
    failed = f" ({row.n_failed:.0f} failed)" if row.n_failed else ""
    if row.by_median:
        return f"{row.median:.2f}, {row.worst:.2f}{marks}{best}{failed}"
    return f"{row.mean:.2f}{f'±{row.stderr:.2f}' if row.n > 1 else ''}{marks}{best}{failed}"


def _lowest(outcome: MetricSummary) -> str:
    """Return what the mark of the lowest number says: baselines are not marked, even where they are lower."""
    return "the lowest, baselines apart" if not all(map(methods.is_ranked, outcome.ranks)) else "the lowest"


def _without_baseline(wanted: Sequence[Cell]) -> list[str]:
    """Return the data sets with an NMLL on which the run does not include the baseline `constant`."""
    by_dataset: dict[str, set[str]] = {}
    for cell in wanted:
        if "nmll" in SUITES[cell.suite].headline:
            by_dataset.setdefault(cell.dataset, set()).add(cell.method)
    return sorted(name for name, ran in by_dataset.items() if methods.BASELINE not in ran)


def _next_steps(wanted: Sequence[Cell], folder: Path) -> list[str]:
    """Return sentences on commands and pages that show more than these tables."""
    boards = dict.fromkeys((cell.suite, cell.preset) for cell in wanted)
    if len(boards) != 1 or len({cell.method for cell in wanted}) < 2:
        return []
    ((suite, preset),) = boards
    metric = next(iter(SUITES[suite].headline))
    command = ["python", "-m", "leaderboards", "rank", str(folder)]
    command += ["--suite", suite, "--preset", preset, "--metric", metric]
    steps = [f"Which differences are certain: {shlex.join(command)}"]
    if preset.removesuffix("-modified") == "quick" and "tuned" in SUITES[suite].presets:
        steps.append(
            "The preset quick is for a first look; --preset tuned compares, and --dry-run says how long it takes"
        )
    return steps
