"""Audited data sets: facts that `python -m datasets audit` computed, from the table stored in the repository."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lockstep_bench.datasets.tabular.audited import Facts


class Audited(NamedTuple):
    """An audited data set.

    Attributes:
        facts: facts such as the percentage of test rows that copy training rows.
        suite: name of the suite that contains the data set.
        flag: reason why the data set is excluded from rankings; "" if it is not excluded.
        notes: sentences that a reader of the results must know.
        rows_of: name of the data set that has the same rows in other splits; "" if there is none.
    """

    facts: "Facts"
    suite: str
    flag: str
    notes: tuple[str, ...]
    rows_of: str


def audited_sets() -> Mapping[str, Audited]:
    """Return the audited data sets, by name; empty if the dependencies of `datasets` are not installed."""
    try:
        from lockstep_bench import datasets
        from lockstep_bench.datasets.tabular.audited import kept
    except ImportError:
        return {}
    sources = {name: datasets.entry(name) for name in kept()}
    return {
        name: Audited(
            kept()[name],
            source.suites[0],
            next(iter(source.flagged.values()), "") if len(source.flagged) == source.n_splits else "",
            source.notes,
            source.rows_of,
        )
        for name, source in sources.items()
    }
