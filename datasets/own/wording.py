"""Lists of values, columns and rows for messages, shortened to the first few and the number of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10  # values or columns that a sentence names
EXAMPLES = 3


def examples(values: pd.Series) -> str:
    """Return the first distinct values of a column as text: "'a', 'b', 'c', ..."."""
    shown = values.astype(str).unique()[:EXAMPLES]
    return ", ".join(map(repr, shown)) + (", ..." if values.nunique() > len(shown) else "")


def first(texts: Sequence[str], most: int = SHOWN) -> str:
    """Return the first `most` texts, and the number of the others, as text: "a, b and 3 more"."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def in_rows(cells: pd.Series) -> str:
    """Return the positions of cells of a table as text: "line 5" or "rows 4, 8, 9 and 12 more"."""
    kind = f"{cells.index.name or 'row'}{'s' if len(cells) > 1 else ''}"
    return f"{kind} {first(list(map(str, cells.index)), EXAMPLES)}"
