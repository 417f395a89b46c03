"""Leaderboards: result Parquet in; HTML, CSV and plots out. Imports no torch.

>>> import leaderboards
>>> leaderboards.export("results")  # a tidy table, one row per method and metric
>>> leaderboards.build("results", "site")  # site/index.html and the pages it leads to
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build", "export"]


def build(results: Path | str, html: Path | str) -> Path:
    """Write the site of the results folder `results` to the folder `html` and return the path of its index.html.

    A folder in which nothing has finished yet gives a page that says so.
    """
    from leaderboards.pages import write_site

    return write_site(Path(results), Path(html))


def export(results: Path | str) -> pd.DataFrame:
    """The summary of the results folder `results`, with the columns of `leaderboards.tidy.COLUMNS`."""
    from leaderboards.results import read_results
    from leaderboards.tidy import tidy

    return tidy(read_results(Path(results)).cells)
