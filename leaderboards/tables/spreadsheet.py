"""Tables as CSV whose texts no spreadsheet program runs as formulas."""

import pandas as pd

from lockstep_bench.leaderboards.wording.formats import visible

FORMULA = ("=", "+", "-", "@")  # also after a tab or a line end, which are spelled out


def as_csv(frame: pd.DataFrame) -> str:
    """Return the frame as CSV, in which texts that a spreadsheet would run as a formula start with an apostrophe.

    Control characters in texts are escaped.
    """
    texts = frame.select_dtypes(include=["object", "string"])
    printed = {str(name): of.map({value: _inert(value) for value in of.unique()}) for name, of in texts.items()}
    return frame.assign(**printed).to_csv(index=False, lineterminator="\n")


def _inert(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(FORMULA) else text
