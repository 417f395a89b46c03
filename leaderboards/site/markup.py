"""HTML of table entries, written in Python because a page has thousands and template macros take ten times as long."""

import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from lockstep_bench.leaderboards.site import addresses
from lockstep_bench.leaderboards.site.cell_details import CellDetails
from lockstep_bench.leaderboards.stats.remarks import signs
from lockstep_bench.leaderboards.tables.cells import BoardCell
from lockstep_bench.leaderboards.wording.formats import visible, without_backticks

SPECIAL = re.compile("[&<>\"']")  # what `escape` changes, which takes longer than to see that there is none
SHORT = 12  # characters of options within which no line breaks
SIGNS = {"best": "★", "could be best": "≈"}
WORDS = {"best": "best", "could be best": "could be the best"}
MARKS = {
    verdict: f'<span class="mark" aria-hidden="true">{sign}</span><span class="hidden">{WORDS[verdict]}: </span>'
    for verdict, sign in SIGNS.items()
}


def printed(text: object) -> str:
    """Return a text as HTML: escaped, with control and direction characters spelled out."""
    shown = visible(text)
    return str(escape(shown)) if SPECIAL.search(shown) else shown


def breakable(method: str) -> Markup:
    """Return a method's name, where a line may break before its options and, if these are long, behind equals signs."""
    name, bracket, options = method.partition("(")
    shown = printed(options)
    if len(options) > SHORT:
        shown = shown.replace("=", "=<wbr>")
    return Markup(f"{printed(name)}<wbr>({shown}" if bracket else printed(name))


def mark(verdict: str) -> Markup:
    """Return the sign of a verdict, with hidden words for screen readers; empty for verdicts without a sign."""
    return Markup(MARKS.get(verdict, ""))


def sortable(cell: BoardCell) -> Markup:
    """Return the HTML attribute by which readers can sort a table; empty for an entry without a number."""
    return Markup(f' data-value="{cell.amount:.6g}"' if cell.amount == cell.amount else "")  # not NaN


def amount(cell: BoardCell) -> Markup:
    """Return a number with the signs of its remark and its standard error; empty for an entry without a number."""
    if not cell.value:
        return Markup("")
    remark = (
        f'<span aria-hidden="true">{signs(cell.remark)}</span><span class="hidden">, {printed(cell.remark)}</span>'
        if cell.remark
        else ""
    )
    stderr = f' <span class="se">± {printed(cell.stderr)}</span>' if cell.stderr else ""
    return Markup(f'<span class="value">{printed(cell.value)}{remark}</span>{stderr}')


def nothing(reason: str = "") -> Markup:
    """Return a dash in place of a missing number, with the reason as hidden text for screen readers."""
    hidden = printed(without_backticks(reason) or "no value")
    return Markup(f'<span class="hidden">{hidden}</span><span class="se" aria-hidden="true">–</span>')


def cell(
    cell: BoardCell, method: str, name: str, link: str, below: str = "", *, hint: str = "", plain: bool = False
) -> Markup:
    """Return the HTML table cell of a measured number.

    Args:
        cell: the entry with the number.
        method: name of the method.
        name: name of the metric.
        link: address of the details behind the number.
        below: HTML of a second line in the cell; "" for none.
        hint: text of the tooltip; "" for none.
        plain: True to leave out the link, the tooltip and the hidden words, which take most bytes of a large table.
    """
    kind = cell.verdict.replace(" ", "-")
    if plain:
        stderr = f' <span class="se">± {printed(cell.stderr)}</span>' if cell.stderr else ""
        shown = f"{SIGNS.get(cell.verdict, '')}{printed(cell.value or '–')}{signs(cell.remark)}{stderr}"
        return Markup(f'<td class="{kind}"{sortable(cell)}>{shown}{below}</td>')
    shown = amount(cell) if cell.value else nothing(hint)
    title = f' title="{printed(without_backticks(hint))}"' if hint else ""
    return Markup(
        f'<td class="{kind}" data-method="{printed(method)}" data-metric="{printed(name)}"{sortable(cell)}{title}>'
        f'{MARKS.get(cell.verdict, "")}<a href="{printed(link)}">{shown}</a>{below}</td>'
    )


def cells(
    entries: Mapping[str, tuple[BoardCell, str]],
    method: str,
    name: str,
    datasets: Sequence[str],
    target: str,
    plain: bool,
) -> Markup:
    """Return the HTML table cells of one method on several data sets, each on a line.

    They are made here, as a template takes three times as long for tens of thousands of them.

    Args:
        entries: the entry on each data set that the method was run on, and what is missing from it, such as "2 failed".
        method: name of the method.
        name: name of the metric.
        datasets: names of the data sets.
        target: fragment of the details behind the numbers, on the page of each data set.
        plain: as for `cell`.
    """
    made = []
    for dataset in datasets:
        if dataset not in entries:
            made.append(f"<td>{nothing('not run')}</td>")
            continue
        entry, missing = entries[dataset]
        below = second(missing, "failed" if "failed" in missing else "")
        below += second(entry.outlier).replace(", ", "<br>")
        link = "" if plain else f"{addresses.dataset_page(dataset)}#{target}"
        made.append(cell(entry, method, name, link, below, plain=plain))
    return Markup("\n".join(made))


def second(text: str, kind: str = "") -> str:
    """Return the HTML of a second line in a cell; empty for an empty text."""
    return f'<span class="second{" " + kind if kind else ""}">{printed(text)}</span>' if text else ""


def in_phrases(text: str) -> str:
    """Return the HTML of a second line in a cell that breaks after commas only: "median 2.31, one split 13.5"."""
    shown = printed(text).replace(" ", "&nbsp;").replace(",&nbsp;", ", ")
    return f'<span class="second">{shown}</span>' if text else ""


def splits(details: CellDetails) -> Markup:
    """Return the HTML rows of the table of splits that belongs to a number."""
    rows = []
    for split in details.splits:
        between = [str(split.seed)] if details.several_seeds else []
        between += [printed(split.status)] if details.n_failed else []
        values = "</td><td>".join([*between, *map(printed, split.values)])
        values = f"<td>{values}</td>" if between or split.values else ""
        rows.append(f'<tr><th scope="row">{split.split}{second(split.flag)}</th>{values}</tr>\n')
    return Markup("".join(rows))
