"""Rankings as text and CSV."""

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking
from lockstep_bench.leaderboards.stats.verdicts import VERDICTS
from lockstep_bench.leaderboards.tables import ranking_numbers, spreadsheet
from lockstep_bench.leaderboards.wording.formats import counted, joined, number, visible

POWER = ("detectable", "needed", "floor", "verdict_detectable", "verdict_needed")
COLUMNS = tuple(name for name in Ranked._fields if name not in POWER)
POWER_HEADINGS = ("needed for it", "floor", "80 % power for the verdict", "needed for the verdict")
NARROW = 80  # characters of a line of text
ROOMY = 24  # characters of the longest method whose table has two spaces between columns
WIDTH = 400  # characters, more than a table needs; a table is as wide as its cells

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


def as_text(rankings: Rankings, said: Remarks, metric: str, width: int = NARROW) -> str:
    """Return the rankings for a terminal: a sentence, a table of six columns and the remarks, for each ranking.

    Args:
        rankings: as in `frame`.
        said: remarks on each method, as in `frame`.
        metric: title of the metric.
        width: characters of a line; a table is wider if its methods have long names.
    """
    parts = []
    for dataset, ranking, rows, title in _tables(rankings):
        against = f"against\n{visible(ranking.reference)}" if ranking.reference else "differ-\nence"
        gap = 2 if max(len(row.method) for row in rows) <= ROOMY else 1
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, gap, 0, 0), pad_edge=False)
        table.add_column("\nmethod", no_wrap=True)
        for heading in ("mean\nrank", "\nranks", against, "95 %\ninterval"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("\nverdict", no_wrap=True)
        for row in rows:
            name, mean_rank, _, difference, interval, *_ = _cells(row, ranking.unit)
            table.add_row(name, mean_rank, f"{row.rank_low}–{row.rank_high}", difference, interval, row.verdict)
        parts += [_wrapped([sentence(rows, metric, title)], width), _printed(table)]
        if remarks := _remarks({visible(row.method): said.get((dataset, row.method), "") for row in rows}):
            parts.append(_wrapped(remarks, width))
    return "\n\n".join(parts) + "\n"


def sentence(rows: Sequence[Ranked], metric: str, title: str = "") -> str:
    """Return what the verdicts of a ranking say together, as a sentence: who leads, and how many are worse or open.

    Args:
        rows: rows of the ranking.
        metric: title of the metric.
        title: name of the data set; "" for a ranking over several.
    """
    by = {verdict: [visible(row.method) for row in rows if row.verdict == verdict] for verdict in VERDICTS}
    splits = counted(rows[0].n_splits, "split")
    on = f"on {visible(title)} ({splits})" if title else f"over {counted(rows[0].n_datasets, 'data set')} ({splits})"
    best, leaders, worse, undecided, failed = (by[verdict] for verdict in VERDICTS)
    of = counted(len(rows), "method")
    if best:
        lead = f"{best[0]} is the best of {of}"
    elif leaders:
        lead = f"{joined(leaders)} could be {'the ' if len(leaders) == 1 else ''}best of {of}"
    else:
        lead = f"no method is shown to be better than another one of {of}"
    if len(rows) == 1:
        lead, undecided = "there is no other method to compare with", []
    elif len(undecided) == len(rows):
        lead, undecided = f"{lead}: there is too little evidence", []
    parts = [
        lead,
        f"{len(worse)} {'is' if len(worse) == 1 else 'are'} worse than at least one other" if worse else "",
        f"too little evidence on {joined(undecided) if len(undecided) < 4 else len(undecided)}" if undecided else "",
        f"{joined(failed)} failed on some split" if failed else "",
    ]
    return f"By {metric} {on}: {'; '.join(filter(None, parts))}."


def as_wide_text(rankings: Rankings, said: Remarks, power: bool = False) -> str:
    """Return the rankings as tables of all columns, with separate tables for methods that were run on fewer splits."""
    parts = []
    for dataset, ranking, rows, title in _tables(rankings):
        table = Table(box=box.SIMPLE_HEAD, title=visible(title) or None, title_justify="left")
        table.add_column("method", no_wrap=True)
        for heading in ("mean rank", "ranks left open", _against(ranking), "95 %"):
            table.add_column(heading, justify="right", no_wrap=True)
        for heading in ("80 % power for", "P(best)"):
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
        parts.append(_printed(table))
    return "\n".join(parts) + "\n"


def _tables(rankings: Rankings) -> list[tuple[str, Ranking, list[Ranked], str]]:
    """Return for each table its data set, ranking, rows and title; methods that were run on fewer splits are apart."""
    return [
        (dataset, ranking, rows, title)
        for dataset, ranking in rankings.items()
        for rows, title in ((ranking.rows, dataset), (ranking.fewer, f"{dataset}, fewer splits".removeprefix(", ")))
        if rows
    ]


def _against(ranking: Ranking) -> str:
    return f"against {visible(ranking.reference)}" if ranking.reference else "difference"


def _remarks(of_methods: Mapping[str, str]) -> list[str]:
    """Return a line for each remark: "Still improving on 9 of 17 data sets: slang; on 7: vifa, inducing-ffg."."""
    methods: dict[str, dict[str, list[str]]] = {}
    for method, remark in of_methods.items():
        for part in filter(None, remark.split("; ")):
            words, _, extent = part.partition(" on ")
            methods.setdefault(words, {}).setdefault(extent, []).append(method)
    lines = []
    for words, by_extent in methods.items():
        first, *rest = sorted(by_extent, key=lambda extent: -int(extent.partition(" ")[0] or 0))
        parts = [f"{words[0].upper()}{words[1:]}{f' on {first}' if first else ''}: {', '.join(by_extent[first])}"]
        parts += [f"on {extent.partition(' ')[0]}: {', '.join(by_extent[extent])}" for extent in rest]
        lines.append(f"{'; '.join(parts)}.")
    return lines


def _printed(table: Table) -> str:
    console = Console(file=io.StringIO(), width=WIDTH, highlight=False, markup=False, emoji=False)
    console.print(table)
    output = console.file
    assert isinstance(output, io.StringIO)
    return "\n".join(line.rstrip() for line in output.getvalue().strip("\n").splitlines())


def _wrapped(lines: Iterable[str], width: int) -> str:
    wrapped = (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in lines)
    return "\n".join("\n  ".join(parts) for parts in wrapped)


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
