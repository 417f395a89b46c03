"""Reading a CSV or TSV file as a table of strings, with errors that name the line at fault."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import warnings
from typing import TYPE_CHECKING

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.wording import first

if TYPE_CHECKING:
    import pandas as pd

UNNAMED = "Unnamed:"  # how pandas begins the name of a column without one, and saves it in the next file
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
NEW_LINE = b"\n"
ABOUT_HEADERS = "Remove lines before the header, and name all columns in it. "
SHOWN = 3  # fields of the first line that an error shows


def read_delimited(path: str, content: bytes, suffix: str, no_header: bool) -> pd.DataFrame:
    """Return the table in a CSV or TSV file; all cells are strings, and the index holds line numbers.

    Args:
        path: path of the file, for messages.
        content: the file's bytes.
        suffix: ".csv" or ".tsv".
        no_header: whether the first line is a row of data.

    Raises:
        InvalidTable: the file is not in UTF-8, or its lines are no table.
    """
    import pandas as pd

    decoded = _decoded(path, content)
    text = decoded.lstrip("\r\n")
    separator = "\t" if suffix == ".tsv" else _separator(text, no_header)
    try:
        return _table(text, separator, no_header)
    except (ValueError, csv.Error, pd.errors.ParserWarning) as error:  # errors of pandas are kinds of ValueError
        fault = _fault(decoded, separator, no_header, error)
        raise InvalidTable(f"{path} cannot be read as a table: {fault}") from error


def _decoded(path: str, content: bytes) -> str:
    encoding, where = "UTF-16", ""
    if content[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and b"\0" not in content[:4]:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            encoding, where = "CP1252", f" in line {content.count(NEW_LINE, 0, error.start) + 1}"
    name = "Windows-1252 or Latin-1" if encoding == "CP1252" else encoding
    raise InvalidTable(
        f"{path} is not in UTF-8{where}, perhaps in {name}; save it as 'CSV UTF-8' in Excel, or convert it by "
        f"`iconv -f {encoding} -t UTF-8 OLD.csv > NEW.csv`"
    )


def _table(text: str, separator: str, no_header: bool) -> pd.DataFrame:
    import pandas as pd

    names = next(csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True), [])
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # of rows that are cut to the first line's length
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None if no_header else 0,
            index_col=False,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
        )
    numbered = enumerate(names, start=1)
    frame.columns = pd.Index(
        [str(number) if no_header else name.strip() or f"{UNNAMED} {number}" for number, name in numbered]
    )
    start = 1 if no_header else 2
    frame.index = pd.RangeIndex(start, len(frame) + start, name="line")
    return frame


def _separator(text: str, no_header: bool) -> str:
    line = text.partition("\n")[0]
    commas = 0 if no_header else line.count(",")  # which may be decimal in a row of numbers
    return ";" if line.count(";") > commas else ","


def _fault(text: str, separator: str, no_header: bool, error: Exception) -> str:
    """Return what is wrong with a file that pandas cannot read, in which line, and what to do."""
    if not text.strip():
        return "it is empty; its first line must name the columns"
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    header: list[str] = []
    header_line, line, end = 0, 0, 0
    with contextlib.suppress(csv.Error):  # for example a field of more than 131,072 characters
        for fields in reader:
            line, end = end + 1, reader.line_num
            if not header:
                header, header_line = fields, line
            elif len(fields) > len(header):
                name = f"{'' if no_header else 'the header in '}line {header_line}"
                sign = SEPARATORS[separator]
                return (
                    f"line {line} has {len(fields)} fields between {sign}s, and {name} has {len(header)} "
                    f"({first(list(map(repr, header)), SHOWN)}). {'' if no_header else ABOUT_HEADERS}Put quotes around "
                    f"a field with a {sign} in it"
                )
        if "EOF inside string" in str(error):
            return f"the quotes that open in line {line} are not closed; close or remove them"
    return str(error)
