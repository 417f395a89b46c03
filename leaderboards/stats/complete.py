"""The common ground: what every method finished, and what that leaves out."""

from typing import NamedTuple

from leaderboards.stats.paired import Paired, blocks
from leaderboards.wording.formats import counted


class Ground(NamedTuple):
    """The data sets that every method finished on all the splits considered.

    Attributes:
        table: those data sets, considered splits alone; complete, without a NaN.
        left_out: why, in words, by data set.
        narrowed: by method, how many of the data sets left out would be in if that method alone were not shown.
    """

    table: Paired
    left_out: dict[str, str]
    narrowed: dict[str, int]


def common_ground(table: Paired) -> Ground:
    """What of `table` allows every method to be compared with every other, nothing filled in.

    A data set is in if every method was tried on it and has a value on each split considered (`Paired.considered`).
    """
    found = blocks(table)
    reasons, alone = {}, dict.fromkeys(table.methods, 0)
    for dataset in table.datasets:
        if dataset not in found.arrays:
            reasons[dataset] = "no split that all its methods were run on"
            continue
        absent = [method for method in table.methods if found.absent.at[dataset, method]]
        lacking = [method for method in table.methods if found.lacking.at[dataset, method]]
        if not absent and not lacking:
            continue
        parts = [f"{_some(absent)} not run"] if absent else []
        parts += [f"{_some(lacking)} without a value on some split"] if lacking else []
        reasons[dataset] = "; ".join(parts)
        if len(absent + lacking) == 1:
            alone[(absent + lacking)[0]] += 1
    keep = table.considered & ~table.observed.index.get_level_values("dataset").isin(list(reasons))
    return Ground(table.part(keep), reasons, {method: n for method, n in alone.items() if n})


def _some(methods: list[str]) -> str:
    return (
        ", ".join(methods)
        if len(methods) <= 3
        else f"{', '.join(methods[:2])} and {counted(len(methods) - 2, 'other')}"
    )
