"""The option `rank --compare`: ranks the levels of one factor (posterior, network or noise model).

The other two factors are held fixed or averaged over.
"""

import enum
from typing import TYPE_CHECKING, NamedTuple

from lockstep_bench.leaderboards.cli.options import stop, stopping_on

if TYPE_CHECKING:
    import pandas as pd

    from lockstep_bench.leaderboards.stats.factors import Combination, Design
    from lockstep_bench.leaderboards.stats.ranking import Ranking


class Factor(enum.StrEnum):
    """The choices of `rank --compare`: the factor of a factorial design whose levels are ranked."""

    POSTERIOR = "posterior"
    NETWORK = "network"
    NOISE = "noise"


class Asked(NamedTuple):
    """A requested ranking of the levels of one factor: posterior, network or noise model.

    Attributes:
        suite: name of the suite.
        preset: name of the preset; "preset@hash" names one of several protocols that were run under the preset.
        metric: name of the metric.
        factor: the factor whose levels are ranked.
        levels: allowed levels of posterior, network and noise model, in this order; empty for all.
        datasets: names of data sets; empty for all.
        reference: level that the differences of the others are taken to; "" for the default.
        each: whether to rank on each data set separately.
    """

    suite: str
    preset: str
    metric: str
    factor: str
    levels: tuple[list[str], list[str], list[str]]
    datasets: list[str]
    reference: str
    each: bool


def compared(cells: "pd.DataFrame", asked: Asked) -> "tuple[dict[str, Ranking], list[str]]":
    """Return the ranking of a factor's levels and notes on what is left out.

    The ranking is over all data sets (key "") or on each one (its name as key). Exits with code 2 if nothing can be
    compared.
    """
    from lockstep_bench.leaderboards.stats.factors import BASE, FACTORS, crossed, effects
    from lockstep_bench.leaderboards.stats.ranking import on_each_dataset, over_datasets
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import require, select, select_metrics

    labelled = with_labelled_presets(cells)
    with stopping_on(ValueError):
        chosen = select(labelled, [asked.suite], datasets=asked.datasets)
        select_metrics(chosen, [asked.metric])
        design = _design(chosen, asked)
        table = crossed(chosen, design, asked.metric)
        for factor, names in zip(FACTORS, asked.levels, strict=True):
            known = table.levels(factor)
            named = [*names, *([asked.reference] if asked.reference and factor == asked.factor else [])]
            require("method" if factor == "posterior" else factor, named, known)
        kept = dict(zip(FACTORS, asked.levels, strict=True))
        table = table.only(kept)
        found = effects(table, asked.factor, kept[asked.factor], _kept(table.combinations, asked))
    if not found.within or len(found.names) < 2:
        stop(
            f"no two levels of {asked.factor} were run on the same splits with the same other factors; there are "
            f"{', '.join(sorted(map(str, table.combinations)))}"
        )
    usual = BASE[asked.factor] if BASE[asked.factor] in found.names else next(iter(found.names))
    reference = asked.reference or usual
    boards = found.comparable(reference)
    if asked.each or len(boards.by_dataset) == 1:
        rankings = on_each_dataset(boards)
        rankings = rankings if asked.each else {"": next(iter(rankings.values()))}
    else:
        rankings = {"": over_datasets(boards)}
    notes = [*found.notes, *boards.notes, *(note for ranking in rankings.values() for note in ranking.notes)]
    return rankings, notes


def _kept(every: "list[Combination]", asked: Asked) -> list[tuple[str, str]]:
    """Return the combinations of the other factors that the user named, which are kept even if splits are lost."""
    from lockstep_bench.leaderboards.stats.factors import FACTORS, others_of

    named = [names for factor, names in zip(FACTORS, asked.levels, strict=True) if factor != asked.factor]
    return list(dict.fromkeys(others_of(asked.factor, one) for one in every)) if any(named) else []


def _design(cells: "pd.DataFrame", asked: Asked) -> "Design":
    """Return the factorial design of the preset: the one with results of the preset itself, or else the only one."""
    from lockstep_bench.leaderboards.stats.factors import designs
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults

    every = designs(cells)
    found = [one for one in every if asked.preset in one.labels.values()]
    found = found or [one for one in every if one.preset == asked.preset]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchResults(
            f"preset '{asked.preset}' of suite {asked.suite} was run with one network and one model of the noise; run "
            "it again with --hidden or --likelihood"
        )
    labels = ", ".join(sorted(label for one in found for label in one.labels.values()))
    raise NoSuchResults(
        f"several designs of preset '{asked.preset}' differ in more than two factors; name one of {labels}"
    )
