"""Notation of numbers and missing values in a table's cells, given by options such as `--decimal`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lockstep_bench.datasets.errors import InvalidTable

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {"decimal": (".", ","), "thousands": (",", ".", "'", " ")}
ALIKE = {" ": " \u00a0\u202f", "'": "'’"}  # characters that are written for a separator


class Format(NamedTuple):
    """How the cells of a table are written, according to the user's options.

    Attributes:
        decimal: decimal separator of numbers; "" for a point, or for a comma where points separate thousands.
        thousands: separator between thousands; "" for none.
        na_values: strings and numbers that stand for missing values.
        no_header: whether the first line is a row of data. The columns are then named 1, 2, 3, ...
    """

    decimal: str = ""
    thousands: str = ""
    na_values: tuple[str, ...] = ()
    no_header: bool = False

    @classmethod
    def of(cls, decimal: str | None, thousands: str | None, na_values: str | None, no_header: bool) -> Format:
        """Return how a table writes numbers and missing values, from the values of command-line options.

        Args:
            decimal: decimal separator; None if the option is not given.
            thousands: separator between thousands; None if the option is not given.
            na_values: strings that stand for missing values, separated by commas; None if the option is not given.
            no_header: whether the first line is a row of data.

        Raises:
            InvalidTable: a character cannot be a separator, or both separators are the same.
        """
        for name, value in (("decimal", decimal), ("thousands", thousands)):
            if value is not None and value not in SEPARATORS[name]:
                allowed = " ".join(map(repr, SEPARATORS[name]))
                raise InvalidTable(f"--{name} {value!r} is not a separator of numbers; allowed: {allowed}")
        if decimal and decimal == thousands:
            raise InvalidTable(f"--decimal and --thousands are both {decimal!r}; they must differ")
        texts = [text.strip() for text in (na_values or "").split(",")]
        return cls(decimal or "", thousands or "", tuple(text for text in texts if text), no_header)

    @property
    def options(self) -> tuple[str, ...]:
        """The command-line options that give this notation."""
        values = {"decimal": self.decimal, "thousands": self.thousands, "na-values": ",".join(self.na_values)}
        words = [word for name, value in values.items() if value for word in (f"--{name}", value)]
        return (*words, *(["--no-header"] if self.no_header else []))

    def plain(self, texts: pd.Series) -> pd.Series:
        """Return strings with their numbers rewritten for pandas: a decimal point, no separators between thousands."""
        if self.thousands:
            sign = re.escape(ALIKE.get(self.thousands, self.thousands))
            texts = texts.str.replace(rf"(?<=\d)[{sign}](?=\d{{3}}(?!\d))", "", regex=True)
        decimal = self.decimal or ("," if self.thousands == "." else ".")
        return texts.str.translate(str.maketrans(f"{decimal}.−", f".{decimal}-"))


AS_FOUND = Format()  # nothing is said
