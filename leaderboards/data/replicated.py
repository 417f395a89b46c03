"""Rows that were run for tables of papers, apart from all others."""

from collections.abc import Iterable
from typing import NamedTuple

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.shared.papers.entries import Entry, entries


class Apart(NamedTuple):
    """Results in two parts, which differ only in `cells` and `choices`.

    Attributes:
        replications: rows that were run for entries of `shared.papers`.
        others: all other rows, which boards and standings use.
    """

    replications: Leaderboard
    others: Leaderboard


def set_apart(results: Leaderboard, made_for: Iterable[Entry] | None = None) -> Apart:
    """Return results with the rows of replications apart.

    Args:
        results: results as they were read.
        made_for: the entries; None for those of `shared.papers`.
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
