"""Leaderboards: HTML pages, tables and figures made from results in Parquet. Imports no torch.

>>> from lockstep_bench import leaderboards
>>> leaderboards.export("results")  # a tidy table, one row per method and metric
>>> leaderboards.build("results", "site")  # site/index.html and the pages it leads to
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep_bench.full_name import require_full_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from lockstep_bench.leaderboards.site.pages import WrittenSite

    Folders = Path | str | Sequence[Path | str]

require_full_name(__name__)

__all__ = ["build", "build_and_export", "export", "prepare"]


def build(results: Folders, html: Path | str, running: tuple[int, int] | None = None, *, again: bool = True) -> Path:
    """Write the site of one or several results folders, and return the path of its index.html.

    Several folders are read as if one run had filled them. Where their rows contradict each other,
    `leaderboards.data.fingerprints` chooses which row is used. If no result is finished, the page says so.

    Args:
        results: the results folders.
        html: folder that the pages are written to; created if missing.
        running: numbers of finished and of all cells of a run that is still in progress, shown on the page; None if no
            run is.
        again: whether the folder will be built again. What the next build needs is then kept in the user's cache
            folder, and used by it. The pages are the same either way.
    """
    return _built(results, html, running, again).page


def build_and_export(results: Folders, html: Path | str) -> tuple[Path, pd.DataFrame]:
    """Write the site as `build` does, and return the path of its index.html with the table that `export` returns.

    The results are read and summarised once for both.
    """
    from lockstep_bench.leaderboards.tables.tidy import tidied

    written = _built(results, html)
    return written.page, tidied(written.summary)


def _built(
    results: Folders, html: Path | str, running: tuple[int, int] | None = None, again: bool = True
) -> WrittenSite:
    import pandas as pd

    from lockstep_bench.leaderboards.data.results import read_results
    from lockstep_bench.leaderboards.site.kept import Kept
    from lockstep_bench.leaderboards.site.pages import write_site

    # Pages ask for text one value at a time, which is faster from Python's own strings than from Arrow's.
    with pd.option_context("mode.string_storage", "python"), _rare_garbage_collection():
        kept = Kept(Path(html)) if again else None
        return write_site(read_results(*_paths(results)), Path(html), running=running, kept=kept)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Let Python look for circles of references after every 300,000 new objects, not after every 700.

    A build makes millions of objects and few circles. Looking for them takes an eighth of its time otherwise.
    """
    usual = gc.get_threshold()
    gc.set_threshold(300_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def prepare() -> None:
    """Import the libraries that `build` needs, so that a later call of `build` is a second faster."""
    import scipy.special  # noqa: F401

    from lockstep_bench.leaderboards.site import pages  # noqa: F401


def export(results: Folders) -> pd.DataFrame:
    """Return means and standard errors over splits, as a tidy table with columns `leaderboards.tables.tidy.COLUMNS`.

    The table has one row per suite, data set, method, preset and metric. Results of replications (runs that repeat a
    table or figure of a paper) are left out; `leaderboards.replications` compares them with their papers.
    """
    from lockstep_bench.leaderboards.data.replicated import set_apart
    from lockstep_bench.leaderboards.data.results import read_results
    from lockstep_bench.leaderboards.tables.tidy import tidy

    return tidy(set_apart(read_results(*_paths(results))).others.cells)


def _paths(results: Folders) -> list[Path]:
    return [Path(results)] if isinstance(results, str | Path) else [Path(folder) for folder in results]
