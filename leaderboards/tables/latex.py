"""Tables as LaTeX, for the packages booktabs and graphicx. No line is wider than the page, and no table higher."""

import re
from math import isinf, isnan
from string import ascii_lowercase

from lockstep_bench.leaderboards.tables.layout import LayoutTable, Lines, TableEntry
from lockstep_bench.leaderboards.tables.panels import panels
from lockstep_bench.leaderboards.wording.formats import MOST_DIGITS, SUPERSCRIPTS, visible

LONGEST_WORD = 30  # characters; longer ones may be broken anywhere in captions
SPECIAL = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        "–": "--",
        "±": r"$\pm$",
        "×": r"$\times$",
        "₂": r"$_2$",
        "−": "$-$",
        "∞": r"$\infty$",
        **{chr(sign): f"$^{{{chr(plain)}}}$" for plain, sign in SUPERSCRIPTS.items()},
        "†": r"$^\dagger$",
        "‡": r"$^\ddagger$",
    }
)


def latex(tables: list[LayoutTable]) -> str:
    """Return `table` environments for each table, ready for LaTeX's input; names are escaped.

    A table that is too large for a page is split into several. A line that is still too wide is scaled to the page.
    """
    return "\n".join(["% \\usepackage{booktabs,graphicx}", *map(_table, tables)])


def escaped(text: str) -> str:
    """Return the text with LaTeX's special characters escaped.

    A leading [ or * is escaped too, because LaTeX would read it as an argument of the line break before it.
    """
    plain = visible(text).translate(SPECIAL)
    return f"{{{plain[0]}}}{plain[1:]}" if plain.startswith(("[", "*")) else plain


def _table(table: LayoutTable) -> str:
    notes: dict[str, str] = {}  # letters by remark

    def show(entry: TableEntry, remark: str) -> str:
        return _entry(entry) + (notes.setdefault(remark, _letter(len(notes))) if remark else "")

    lines = table.lines(escaped, show, "--")
    parts = (table.suite, table.preset, table.metric)
    label = "tab:" + "-".join(re.sub(r"[^a-zA-Z0-9]+", "-", part).strip("-") for part in parts)
    first, *others = panels(lines, _width)
    caption = _breakable(table.caption("±", "Bold", "underlined"))
    floats = [_float(first, [rf"\caption{{{caption}}}", rf"\label{{{label}}}"], notes)]
    floats += [_float(panel, [rf"\caption{{Continued from Table~\ref{{{label}}}.}}"], notes) for panel in others]
    return "\n".join(floats)


def _float(panel: Lines, caption: list[str], notes: dict[str, str]) -> str:
    head, body, foot = panel
    cells = "".join(cell for row in body for cell in row)
    noted = [f"{letter} {_breakable(remark)}" for remark, letter in notes.items() if letter in cells]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *caption,
            r"\small",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{l{'c' * (len(head) - 1)}}}",
            r"\toprule",
            _line(head),
            r"\midrule",
            *map(_line, body),
            *([r"\midrule", _line(foot)] if foot else []),
            r"\bottomrule",
            r"\end{tabular}}",
            *([r"\par\smallskip\raggedright", "; ".join(noted) + "."] if noted else []),
            r"\end{table}",
            "",
        ]
    )


def _letter(number: int) -> str:
    """Return the mark of a note: a to z, then aa, bb."""
    times, letter = divmod(number, len(ascii_lowercase))
    return rf"\textsuperscript{{{ascii_lowercase[letter] * (times + 1)}}}"


def _width(cell: str) -> int:
    """Return about how many characters wide a cell is in print."""
    plain = re.sub(r"\\(mathbf|underline|textsuperscript)", "", cell)
    return len(re.sub(r"[$^{}]", "", re.sub(r"\\([a-z]+|.)", "+", plain)))


def _breakable(text: str) -> str:
    """Return the text escaped, with breaks in words that might be longer than a line."""
    pieces = re.findall(rf"\S{{1,{LONGEST_WORD}}}|\s+", text)
    joined = ""
    for piece, following in zip(pieces, [*pieces[1:], " "], strict=True):
        joined += escaped(piece) + ("" if piece.isspace() or following.isspace() else r"\allowbreak{}")
    return joined


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _entry(entry: TableEntry) -> str:
    shown = _number(entry.mean, entry.decimals)
    if not isnan(entry.stderr):
        shown += rf" \pm {_number(entry.stderr, entry.decimals)}"
    style = {"best": r"\mathbf", "could be best": r"\underline"}.get(entry.verdict)
    shown = f"${style}{{{shown}}}$" if style else f"${shown}$"
    return shown + escaped(entry.signs)


def _number(value: float, decimals: int) -> str:
    if isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if abs(value) >= MOST_DIGITS:
        mantissa, exponent = f"{value:.2e}".split("e")
        return rf"{mantissa} \times 10^{{{int(exponent)}}}"
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return text.lstrip("-") if float(text) == 0 else text
