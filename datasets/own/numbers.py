"""Texts of a column that are numbers, under one reading for the whole column.

A reading is a unit, such as kg, % or $, with a decimal separator and a thousands separator (`STYLES`). The unit is the
one that most texts have. A column is a column of numbers if four fifths of its texts are numbers of that unit or
placeholders such as - and ?, and more of its texts are numbers than are neither. The style is the one under which most
texts are numbers. Where two styles read as many texts and give other numbers, as for 1,234, the column is ambiguous:
the decimal separator of the table's other columns, or an option, decides.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

LEAST_SHARE = 0.8  # of a column's texts that are numbers or placeholders
CURRENCIES = "$€£¥₹"
SPACES = " \u00a0\u202f"
ALIKE = {" ": SPACES, "'": "'’"}  # characters that are written for a separator
PARTS = (
    rf"(?P<sign>[-+−]?)\s?(?P<currency>[{CURRENCIES}]?)\s?(?P<after>[-+−]?)"
    rf"(?P<digits>\d(?:[\d.,'’{SPACES}]*\d)?[.,]?|[.,]\d+|(?i:inf(?:inity)?))(?P<exponent>(?:[eE][-+]?\d+)?)"
    rf"\s?(?P<unit>(?:(?:[^\W\d_]|[%‰°{CURRENCIES}])\D{{0,15}}[23]?)?)"
)
# In lower case. A column of numbers has them where a number is missing; in a column of texts they are texts.
SIGNS = ("-", "--", "---", "–", "—", ".", "..", "...", "?", "??", "???", "*", "/")
WORDS = ("na", "n/a", "n.a.", "n.a", "<na>", "nan", "-nan", "null", "nil", "none", "nd", "n.d.", "missing", "unknown")
ERRORS = ("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#num!", "#name?", "#null!")  # of spreadsheets
PLACEHOLDERS = frozenset((*SIGNS, *WORDS, *(f"({word})" for word in WORDS), *ERRORS))


class Style(NamedTuple):
    """Separators of numbers; "" for none."""

    decimal: str
    thousands: str

    @property
    def pattern(self) -> str:
        """The expression that the digits of a number match; the first group of thousands does not begin with 0."""
        point, comma = re.escape(self.decimal), self._thousands
        middle = r"\d{2,3}" if self.thousands == "," else r"\d{3}"  # 12,34,567 in India
        grouped = rf"[1-9]\d{{0,2}}(?:{comma}{middle})*{comma}\d{{3}}"
        whole = rf"(?:\d+|{grouped})" if comma else r"\d+"
        return rf"{whole}(?:{point}\d*)?|{point}\d+|(?i:inf(?:inity)?)"

    def plain(self, digits: pd.Series) -> pd.Series:
        """Return digits as pandas reads them: a decimal point, and nothing between thousands."""
        if self.thousands:
            digits = digits.str.replace(self._thousands, "", regex=True)
        return digits.str.replace(self.decimal, ".", regex=False)

    @property
    def _thousands(self) -> str:
        alike = ALIKE.get(self.thousands)
        return f"[{alike}]" if alike else re.escape(self.thousands)


POINT = Style(".", "")
STYLES = (POINT, Style(",", ""), *(Style(*pair) for pair in (".,", ",.", ".'", ",'", ". ", ", ")))


class Numbers:
    """A column of texts that are numbers.

    Attributes:
        texts: of the column, (N,); missing where a cell is empty.
        unit: of all numbers, "" for none.
        placeholders: those of `texts` that stand for a missing number.
        others: those of `texts` that are neither numbers nor placeholders.
        readings: values (N,) by style; several where they are ambiguous.
    """

    def __init__(
        self, texts: pd.Series, unit: str, others: pd.Series, placeholders: pd.Series, readings: dict[Style, pd.Series]
    ):
        self.texts, self.unit, self.readings = texts, unit, readings
        self.others, self.placeholders = others, placeholders

    @cached_property
    def decimal(self) -> str:
        """The decimal separator that the texts show beyond doubt; "" if there is none."""
        (style, *more) = self.readings
        return style.decimal if not more and self._show(style.decimal) else ""

    def style(self, decimals: frozenset[str]) -> Style | None:
        """Return the style of the numbers, or None if it is ambiguous.

        Args:
            decimals: decimal separators of the table's other columns. Without exactly one, a point is decimal.
        """
        fitting = [style for style in self.readings if len(self.readings) == 1 or {style.decimal} == decimals]
        return fitting[0] if fitting else POINT if POINT in self.readings else None

    def in_words(self, style: Style) -> str:
        """Return how the texts are written in a style, such as "in kg with decimal commas"; "" for plain numbers."""
        signs = {",": "commas", ".": "points", "'": "apostrophes", " ": "spaces"}
        parts = ["decimal commas"] if style.decimal == "," and self._show(",") else []
        if style.thousands and any(map(self._show, ALIKE.get(style.thousands, style.thousands))):
            parts.append(f"{signs[style.thousands]} between thousands")
        unit = [f"in {self.unit}"] if self.unit else []
        return " ".join([*unit, *([f"with {' and '.join(parts)}"] if parts else [])])

    def _show(self, sign: str) -> bool:
        numbers = self.texts.drop(self.placeholders.index)
        return bool(numbers.str.contains(sign, regex=False, na=False).any())


def read_numbers(texts: pd.Series) -> Numbers | None:
    """Return a column of texts as numbers, or None if it is none of numbers.

    Args:
        texts: (N,), without spaces around them; missing where a cell is empty.
    """
    import pandas as pd

    present = texts.dropna()
    values = pd.to_numeric(texts, errors="coerce")
    if len(present) and values.notna().sum() == len(present) and not _may_be_thousands(present):
        return Numbers(texts, "", present.iloc[:0], present.iloc[:0], {POINT: values})
    kinds = pd.Series(present.unique(), dtype="str")  # each text once
    rows = kinds.map(present.value_counts())
    parts = kinds.str.extract(f"^{PARTS}$")
    is_placeholder = kinds.str.lower().isin(PLACEHOLDERS)
    units = parts["currency"].where(parts["currency"] != "", parts["unit"]).where(~is_placeholder)
    if units.isna().all():
        return None
    unit = str(rows.groupby(units).sum().idxmax())
    digits = parts["digits"].where(units == unit)
    readings = {style: _values(parts, digits, style) for style in STYLES}
    read = {style: int(rows[values.notna()].sum()) for style, values in readings.items()}
    is_number = pd.concat(readings.values(), axis=1).notna().any(axis=1)
    n_numbers, n_placeholders = int(rows[is_number].sum()), int(rows[is_placeholder].sum())
    n_others = len(present) - n_numbers - n_placeholders
    if n_numbers + n_placeholders < LEAST_SHARE * len(present) or n_numbers <= n_others:
        return None
    best = {style: values for style, values in readings.items() if read[style] == max(read.values())}
    different = {style: values for style, values in best.items() if _is_first(style, best)}
    is_other = ~is_placeholder & next(iter(different.values())).isna()
    by_text = {style: texts.map(dict(zip(kinds, values, strict=True))) for style, values in different.items()}
    placeholders, others = (present[present.isin(kinds[mask])] for mask in (is_placeholder, is_other))
    return Numbers(texts, unit, others, placeholders, {s: pd.to_numeric(v) for s, v in by_text.items()})


def _may_be_thousands(texts: pd.Series) -> bool:
    """Return whether every point of texts that are numbers may separate thousands, as in 1.234."""
    pointed = texts[texts.str.contains(".", regex=False)]
    return bool(len(pointed) and pointed.str.fullmatch(r"[-+]?[1-9]\d{0,2}\.\d{3}").all())


def _values(parts: pd.DataFrame, digits: pd.Series, style: Style) -> pd.Series:
    """Return numbers in a style; NaN for texts that are none in it."""
    import pandas as pd

    plain = style.plain(digits.where(digits.str.fullmatch(style.pattern)))
    signs = (parts["sign"] + parts["after"]).str.replace("−", "-", regex=False)
    return pd.to_numeric(signs + plain + parts["exponent"], errors="coerce")


def _is_first(style: Style, readings: dict[Style, pd.Series]) -> bool:
    """Return whether no earlier style gives the same numbers."""
    return next(each for each, values in readings.items() if values.equals(readings[style])) == style
