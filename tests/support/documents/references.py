"""Grammar of the comments in documents that name where numbers come from.

    rows SUITE PRESET METRIC [STATISTIC]: DATASET METHOD VALUE, METHOD VALUE; DATASET METHOD VALUE
    rows SUITE PRESET METRIC: table
    published SOURCE, TABLE, METRIC [STATISTIC]: DATASET METHOD VALUE, ...
    computed EXPRESSION = VALUE; EXPRESSION = VALUE
    in table: METHOD NUMBER NUMBER, METHOD NUMBER
    written in FILE: VALUE, VALUE
    from COMMAND
    replication ENTRY

`rows` are those under `leaderboards/results`. STATISTIC is mean (over splits; by default), median, min or max. VALUE is
as in the text: 2.73, 2.73 ± 0.08, 90.8 %, or, for the range over several, 0.60 to 1.03. METHOD may be a pattern
with *, several names with + between them, METHOD but METHOD, A - B for the difference paired by split, or A / B for the
ratio of the statistics. DATASET may be a pattern too.

`in table` repeats numbers of METHOD's row in a table of the same text that has a comment of its own.

SOURCE is a part of a source in published.csv that no other has. EXPRESSION has numbers and functions of `math`. FILE is
Python that has the values as literals. COMMAND must parse, and ENTRY must be one of `bench/replications`.
"""

import re
from typing import NamedTuple

STATISTICS = ("mean", "median", "min", "max")
TABLE = "table"


class InvalidReference(ValueError):
    """Raised for a source comment that cannot be parsed; the message quotes it."""


class Item(NamedTuple):
    """A value that a comment names, with the data set and the method that it belongs to."""

    dataset: str
    method: str
    value: str


class Numbers(NamedTuple):
    """The parsed contents of a comment that names stored results or published numbers.

    Attributes:
        where: suite and preset of stored results, or source and table of published numbers.
        metric, statistic: metric and statistic of the values.
        items: the values; empty if the comment is about all numbers of the table beside it.
    """

    where: tuple[str, str]
    metric: str
    statistic: str
    items: tuple[Item, ...]


def kind(comment: str) -> str:
    """Return the first word of a comment that names a source, or "" for any other comment."""
    found = re.match(r"(rows|published|computed|in table|written in|from|replication)\b", comment)
    return found[1] if found else ""


def numbers(comment: str) -> Numbers:
    """Return the parsed contents of a comment of the kind `rows` or `published`.

    Raises:
        InvalidReference: the comment has another form.
    """
    head, colon, tail = comment.partition(":")
    if head.startswith("rows"):
        suite, preset, metric, statistic = _fields(comment, head.removeprefix("rows").split())
    else:
        source, table, last = (part.strip() for part in head.removeprefix("published").split(","))
        suite, preset, metric, statistic = _fields(comment, [source, table, *last.split()])
    if not colon or not tail.strip():
        raise InvalidReference(f"{comment!r} gives no values; write them after a colon")
    items = () if tail.split()[0].rstrip(",") == TABLE else tuple(_items(comment, tail))
    return Numbers((suite, preset), metric, statistic, items)


def pairs(comment: str) -> list[tuple[str, str]]:
    """Return the pairs of expression and value in a comment of the kind `computed`."""
    parts = [part.partition("=") for part in comment.removeprefix("computed").split(";")]
    if not all(equals for _, equals, _ in parts):
        raise InvalidReference(f"{comment!r}: write EXPRESSION = VALUE")
    return [(expression.strip(), value.strip()) for expression, _, value in parts]


def repeated(comment: str) -> list[tuple[str, list[str]]]:
    """Return the methods, each with its numbers, in a comment of the kind `in table`."""
    parts = [part.split() for part in comment.removeprefix("in table:").split(",")]
    return [(method, values) for method, *values in parts]


def written(comment: str) -> tuple[str, list[str]]:
    """Return the file and the values in a comment of the kind `written in`."""
    file, _, values = comment.removeprefix("written in").partition(":")
    return file.strip(), [value.strip() for value in values.split(",") if value.strip()]


def _fields(comment: str, fields: list[str]) -> tuple[str, str, str, str]:
    if len(fields) == 3:
        fields = [*fields, "mean"]
    if len(fields) != 4 or fields[3] not in STATISTICS:
        raise InvalidReference(f"{comment!r} cannot be read; its statistic is one of {', '.join(STATISTICS)}")
    return fields[0], fields[1], fields[2], fields[3]


def _items(comment: str, text: str) -> list[Item]:
    found = []
    for group in text.split(";"):
        dataset, _, rest = group.strip().partition(" ")
        for part in re.split(r",\s+(?=\S*[a-z*])", rest):
            match = re.fullmatch(r"(?P<method>[a-z*].*?)\s+(?P<value>[-−+]?\d.*)", part.strip())
            if not match:
                raise InvalidReference(f"{comment!r} cannot be read at {part.strip()!r}; write METHOD VALUE")
            found.append(Item(dataset, match["method"], match["value"]))
    return found
