"""Detection of columns of dates, months or times, written as texts or as whole numbers such as 20210131."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep_bench.datasets.own.numbers import LEAST_SHARE

if TYPE_CHECKING:
    import pandas as pd

DAY = r"(?:\d{4}([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:\d{4}|\d{2}))(?:[ T].*)?"
TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?"
YEAR, MONTH_NUMBER = r"(?:1[89]|20|21)\d{2}", r"(?:0?[1-9]|1[0-2])"
MONTH = rf"{YEAR}[-./]{MONTH_NUMBER}|{MONTH_NUMBER}[-./]{YEAR}"
NAMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?"
)
NAME = rf"(?i:{NAMES})\.?"
DAY_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
# "Jan 2021", "Jan-21", "31 January 2021", "Jan 31, 2021", "2021 Jan"
NAMED = rf"(?:{DAY_NUMBER}\.?[- /]?)?{NAME}[- /]?'?(?:{YEAR}|\d{{2}})|{NAME} {DAY_NUMBER},? {YEAR}|{YEAR}[- /]?{NAME}"
DATE = f"(?:{DAY}|{TIME}|{MONTH}|{NAMED})"
MONTH_LIKE_NUMBER = r"(?:0[1-9]|1[0-2])\.(?:19|20)\d{2}"  # "01.2021"
EARLIEST, LATEST = 19000101, 21001231


def are_dates(texts: pd.Series) -> bool:
    """Return whether at least four fifths of the texts (N,), none of them missing, are dates, months or times."""
    return bool(len(texts)) and bool(texts.str.fullmatch(DATE).mean() >= LEAST_SHARE)


def are_dates_like_numbers(texts: pd.Series) -> bool:
    """Return whether all texts (N,), none of them missing, are numbers that are written like months: "01.2021"."""
    return bool(len(texts)) and bool(texts.str.fullmatch(MONTH_LIKE_NUMBER).all())


def are_compact_dates(numbers: pd.Series) -> bool:
    """Return whether all numbers (N,), but for missing ones, are days of 1900 to 2100 such as 20210131.

    Fewer than one in a thousand of the numbers with eight digits is such a day.
    """
    import pandas as pd

    values = numbers.dropna()
    if values.dtype.kind not in "iuf" or not len(values):
        return False
    if not values.between(EARLIEST, LATEST).all() or (values % 1 != 0).any():
        return False
    days = pd.to_datetime(values.astype("int64").astype(str), format="%Y%m%d", errors="coerce")
    return bool(days.notna().all())
