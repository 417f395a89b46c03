"""Tables as LaTeX, for the package booktabs."""

import re
from math import isinf, isnan

from leaderboards.tables.layout import Entry, Table
from leaderboards.wording.formats import MOST_DIGITS, visible

SPECIAL = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "–": "--",
        "±": r"$\pm$",
        "×": r"$\times$",
        "₂": r"$_2$",
        "†": r"$^\dagger$",
        "‡": r"$^\ddagger$",
    }
)


def latex(tables: list[Table]) -> str:
    """Return a `table` environment for each table, ready for LaTeX's input; names are escaped."""
    return "\n".join(["% \\usepackage{booktabs}", *map(_table, tables)])


def escaped(text: str) -> str:
    """Return the text with LaTeX's special characters escaped, and a first [ or *, which a line's end would take."""
    plain = visible(text).translate(SPECIAL)
    return f"{{{plain[0]}}}{plain[1:]}" if plain.startswith(("[", "*")) else plain


def _table(table: Table) -> str:
    head, body, foot = table.lines(escaped, _entry, "--")
    caption = escaped(table.caption("±", "Bold", "underlined"))
    parts = (table.suite, table.preset, table.metric)
    label = "-".join(re.sub(r"[^a-zA-Z0-9]+", "-", part).strip("-") for part in parts)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{l{'c' * (len(head) - 1)}}}",
            r"\toprule",
            _line(head),
            r"\midrule",
            *map(_line, body),
            *([r"\midrule", _line(foot)] if foot else []),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _entry(entry: Entry, remark: str) -> str:
    shown = _number(entry.mean, entry.decimals)
    if not isnan(entry.stderr):
        shown += rf" \pm {_number(entry.stderr, entry.decimals)}"
    style = {"best": r"\mathbf", "could be best": r"\underline"}.get(entry.verdict)
    shown = f"${style}{{{shown}}}$" if style else f"${shown}$"
    shown += escaped(entry.signs)
    return f"{shown} ({remark})" if remark else shown


def _number(value: float, decimals: int) -> str:
    if isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if abs(value) >= MOST_DIGITS:
        mantissa, exponent = f"{value:.2e}".split("e")
        return rf"{mantissa} \times 10^{{{int(exponent)}}}"
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return text.lstrip("-") if float(text) == 0 else text
