"""Formatting of numbers and of text from data and plug-ins, for pages."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import floor, isfinite, isnan, log10, nan

from markupsafe import Markup, escape

from lockstep_bench.shared.texts import visible as visible

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CODE = re.compile("<code>[^<]*--[^<]*</code>")
OPTION = re.compile(r"(?<![^\s>])--[a-z][\w-]*")
LEAST_DIGITS = 1e-4  # smaller numbers alone are printed as powers of ten
MOST_DIGITS = 1e5  # larger numbers are printed as powers of ten


def prose(text: object) -> Markup:
    """Return the text as HTML: special characters are escaped, parts between backticks become code, "5 %" is whole."""
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text))))
    return Markup(re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", coded))


def unbroken_options(html: str) -> str:
    """Return HTML with the class "whole" on the options of commands, because browsers break lines after hyphens."""
    return CODE.sub(lambda code: OPTION.sub(r'<span class="whole">\g<0></span>', code[0]), html)


def without_backticks(text: str) -> str:
    """Return a text for places that show no code, such as tooltips."""
    return text.replace("`", "")


def decimals_for(value: float, stderr: float = nan) -> int:
    """Return how many decimals to print: two significant digits of the standard error, else three of the number itself.

    The result is negative if the error is 100 or more. A standard error that is 0 up to rounding is ignored.
    """
    known = isfinite(stderr) and stderr > (1e-6 * abs(value) if isfinite(value) else 0)
    size = stderr if known else abs(value)
    digits = 2 if known else 3
    decimals = digits - 1 - floor(log10(size)) if isfinite(size) and size > 0 else 0
    return min(max(decimals, -4 if known else 0), 8)


def number(value: float, decimals: int) -> str:
    """Return a number as text: with a true minus sign, a dash for NaN, ∞, and powers of ten from 100,000 on."""
    if not isfinite(value):
        return "–" if isnan(value) else "∞" if value > 0 else "−∞"
    if abs(value) >= MOST_DIGITS:
        return _with_power(value)
    text = f"{value:.{decimals}f}" if decimals >= 0 else f"{round(value, decimals):.0f}"
    if text[0] != "-":  # nearly always, and a site prints a million numbers
        return text
    return text[1:] if float(text) == 0 else f"−{text[1:]}"


def _with_power(value: float) -> str:
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(SUPERSCRIPTS)}".replace("-", "−")


def three_digits(value: float) -> str:
    """Return a number of any size with three significant digits, as a power of ten if it is very small or large."""
    return _with_power(value) if 0 < abs(value) < LEAST_DIGITS else number(value, decimals_for(value))


def not_nothing(value: float, decimals: int) -> str:
    """Return a number as text like `number`, but "<0.001" for a positive value that would be printed as 0.000."""
    text = number(value, decimals)
    least = 10.0**-decimals
    return f"<{number(least, decimals)}" if 0 < value < least / 2 and decimals > 0 else text


def as_printed(value: float, stderr: float) -> tuple[str, str]:
    """Return a published number and its standard error ("" if none) as text, with the decimals of the longer one."""
    shown = [x for x in (value, stderr) if isfinite(x)]
    decimals = max((max(0, -int(Decimal(repr(x)).normalize().as_tuple().exponent)) for x in shown), default=0)
    return number(value, decimals), "" if isnan(stderr) else number(stderr, decimals)


def shortened(text: str, longest: int) -> str:
    """Return the text; if it is longer than `longest` characters, it is cut and ends in an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: "1 split", "20 splits"."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def listed(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first `most` texts and the number of the others: "a, b, c and 4 more"."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are not empty as in "a, b and c"."""
    *before, last = filter(None, parts)
    return f"{', '.join(before)} and {last}" if before else last


def difference_in_words(value: float, unit: str, reach: float = nan) -> str:
    """Return a difference as text: "+0.12", or "+12 %" for a relative one.

    Args:
        value: the difference.
        unit: unit of the difference: "relative", "nats" or "" (`stats.ranking.Ranking.unit`).
        reach: half the width of the difference's interval, whose first two significant digits set the number of
            decimals; NaN without an interval.
    """
    scale, sign = (100, " %") if unit == "relative" and isfinite(value) else (1, "")
    text = number(scale * value, decimals_for(scale * value, scale * reach))
    if text == "0":  # such as -100 % beside an interval that reaches a million
        text = number(scale * value, 0)
    return f"+{text}{sign}" if value > 0 else f"{text}{sign}"
