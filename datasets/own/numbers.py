"""Detection and conversion of text columns that hold numbers, in the notation `datasets.own.format.Format`.

A text column is read as numbers under two conditions. At least four fifths of its cells are numbers or placeholders for
missing numbers, such as - and ?. And more of its cells are numbers than are neither number nor placeholder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lockstep_bench.datasets.own.format import AS_FOUND, Format

if TYPE_CHECKING:
    import pandas as pd

LEAST_SHARE = 0.8  # of a column's texts that are numbers or placeholders
# A number with a unit, a decimal comma, or characters between thousands.
CURRENCY, GROUPS = r"[-+−]?\s?[$€£¥₹]?\s?[-+−]?", r"(?:\d{1,3}(?:[.,'’\s]\d{2,3})+|\d+)?"
OTHER_NOTATION = rf"{CURRENCY}{GROUPS}[.,]?\d+(?:[eE][-+]?\d+)?\s?(?P<unit>\D{{0,8}}[23]?)"
# In lower case. A column of numbers has them where a number is missing; in a column of texts they are texts.
SIGNS = ("-", "--", "---", "–", "—", ".", "..", "...", "?", "??", "???", "*", "/")
WORDS = ("na", "n/a", "n.a.", "n.a", "<na>", "nan", "-nan", "null", "nil", "none", "nd", "n.d.", "missing", "unknown")
ERRORS = ("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#num!", "#name?", "#null!")  # of spreadsheets
PLACEHOLDERS = frozenset((*SIGNS, *WORDS, *(f"({word})" for word in WORDS), *ERRORS))


class Numbers(NamedTuple):
    """A text column that is read as numbers.

    Attributes:
        texts: (N,), the cells as strings; missing where a cell is empty.
        values: (N,), float64; NaN where there is no number.
        placeholders: the strings that stand for a missing number, such as "?".
        others: the strings that are neither numbers nor placeholders.
    """

    texts: pd.Series
    values: pd.Series
    placeholders: pd.Series
    others: pd.Series


def read_numbers(texts: pd.Series, layout: Format = AS_FOUND) -> Numbers | None:
    """Return a text column as numbers, or None if it does not hold numbers by the rule of this module.

    Args:
        texts: (N,), strings without spaces around them; missing where a cell is empty.
        layout: notation of numbers.
    """
    import pandas as pd

    values = pd.to_numeric(layout.plain(texts), errors="coerce").astype("float64")
    without = texts[values.isna()].dropna()
    placeholders = without[without.str.lower().isin(PLACEHOLDERS)]
    others = without.drop(placeholders.index)
    n_numbers, n_texts = int(values.notna().sum()), int(texts.notna().sum())
    if n_numbers + len(placeholders) < LEAST_SHARE * n_texts or n_numbers <= len(others):
        return None
    return Numbers(texts, values, placeholders, others)


def are_in_other_notation(texts: pd.Series) -> bool:
    """Return whether at least four fifths of the strings (N,) look like numbers with a unit or other separators."""
    units = texts.str.extract(f"^{OTHER_NOTATION}$")["unit"]
    counts = units.value_counts()
    return bool(len(counts) and counts.iloc[0] >= LEAST_SHARE * len(texts))
