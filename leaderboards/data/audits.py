"""Facts about data sets that `python -m datasets audit` computed, from the table that the project keeps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lockstep_bench.datasets.tabular.audited import Facts


class Audited(NamedTuple):
    """A data set with its facts.

    Attributes:
        facts: the facts.
        suite: suite that runs the set.
        flag: why none of its splits is ranked; "" for a set that is.
        notes: what a reader of the results must know.
        rows_of: the set with the same rows in other splits; "" for none.
    """

    facts: "Facts"
    suite: str
    flag: str
    notes: tuple[str, ...]
    rows_of: str


def audited_sets() -> Mapping[str, Audited]:
    """Return the audited data sets, by name; none on a machine that lacks what `datasets` imports."""
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
