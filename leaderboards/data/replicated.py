"""Separation of the results that replicate a table or figure of a paper from all other results."""

from collections.abc import Iterable
from typing import NamedTuple

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.shared.papers.entries import Entry, entries


class Apart(NamedTuple):
    """Results separated into replications and all others. The two parts differ only in `cells` and `choices`.

    Attributes:
        replications: result rows of runs that repeat a table or figure of a paper, listed in `shared.papers`.
        others: all other result rows, which leaderboards and rankings use.
    """

    replications: Leaderboard
    others: Leaderboard


def set_apart(results: Leaderboard, made_for: Iterable[Entry] | None = None) -> Apart:
    """Return the results, separated into replications of papers and all others.

    Args:
        results: results as they were read.
        made_for: the tables and figures that are replicated; None for all in `shared.papers`.
    """
    presets = {entry.rows for entry in (entries() if made_for is None else made_for)}
    chosen = results.cells["preset"].isin(presets).astype(bool)

    def part(wanted: bool) -> Leaderboard:
        in_part = chosen == wanted
        return results._replace(
            cells=results.cells if in_part.all() else results.cells[in_part].reset_index(drop=True),
            choices=[choice for choice in results.choices if (choice.preset in presets) == wanted],
        )

    return Apart(part(True), part(False))
