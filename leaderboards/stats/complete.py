"""The complete part of a table: the data sets that every method finished."""

from typing import NamedTuple

from leaderboards.stats.paired import Paired, blocks
from leaderboards.wording.formats import counted


class CompleteBlocks(NamedTuple):
    """The data sets that every method finished on all the splits considered.

    Attributes:
        table: those data sets, considered splits alone; complete, without a NaN.
        left_out: reason for leaving a data set out, in words, by data set.
    """

    table: Paired
    left_out: dict[str, str]


def complete_blocks(table: Paired) -> CompleteBlocks:
    """Return the part of a table on which all methods can be compared without imputing a value.

    A data set is included if every method was run on it and has a value on each split considered
    (`Paired.considered`).
    """
    by_dataset = blocks(table)
    reasons = {}
    for dataset in table.datasets:
        if dataset not in by_dataset.arrays:
            reasons[dataset] = "no split that all its methods were run on"
            continue
        not_run = [method for method in table.methods if by_dataset.not_run.at[dataset, method]]
        failed = [method for method in table.methods if by_dataset.failed.at[dataset, method]]
        parts = [f"{_first_names(not_run)} not run"] if not_run else []
        parts += [f"{_first_names(failed)} failed on some split"] if failed else []
        if parts:
            reasons[dataset] = "; ".join(parts)
    keep = table.considered & ~table.observed.index.get_level_values("dataset").isin(list(reasons))
    return CompleteBlocks(table.part(keep), reasons)


def _first_names(methods: list[str]) -> str:
    if len(methods) <= 3:
        return ", ".join(methods)
    return f"{', '.join(methods[:2])} and {counted(len(methods) - 2, 'other')}"
