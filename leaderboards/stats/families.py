"""Choice of one variant of each method by validation scores, never by test scores.

Variants of one method, which share a module, form a family.
"""

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.stats.ranks import ranks
from lockstep_bench.methods import card, headline

VALIDATED = ("dataset", "method", "validation_nmll", "validation_w2_scaled")


@cache
def family_of(method: str) -> str:
    """Return the key of a method's family of variants: its module, or its own name if it is not built in."""
    return card(method).family or method


class Validation(NamedTuple):
    """Validation scores by which one variant of each family is chosen.

    Attributes:
        n_cells: number of results of each method.
        scores: mean score over splits, data sets x methods.
    """

    n_cells: pd.Series
    scores: pd.DataFrame


def validation(cells: pd.DataFrame) -> Validation:
    """Return the validation scores in result rows, which have the columns `VALIDATED`."""
    n_cells = cells.groupby("method").size().rename(index=str)
    scored = cells.assign(score=cells["validation_nmll"].fillna(cells["validation_w2_scaled"]))
    scores = scored.groupby(["dataset", "method"])["score"].mean().unstack("method")  # noqa: PD010
    return Validation(n_cells, scores)


def representatives(validated: Validation, among: Collection[str] | None = None, keep: str = "") -> dict[str, str]:
    """Return the variant that represents each family of variants of one method, by family.

    Of the variants with the most results, the one with the best mean rank by validation score represents a family. The
    score is the NMLL on validation rows, or the distance to the reference posterior where a suite tunes by that. Ranks
    are those of means over splits, on each data set among the variants of the family; a variant without a score has the
    last ranks. Among equally ranked variants, one of the default methods (`headline`) is taken, then the one with the
    shortest name.

    Args:
        validated: validation scores of one suite and preset.
        among: methods to choose from; None for all.
        keep: a method that represents its family whatever its score; "" for none.
    """
    families: dict[str, list[str]] = {}
    for name in validated.n_cells.index:
        if among is None or name in among:
            families.setdefault(family_of(name), []).append(name)
    n_cells, scores = validated.n_cells.to_dict(), validated.scores.to_numpy(float)
    column = {str(name): place for place, name in enumerate(validated.scores.columns)}
    chosen = {}
    for family, names in sorted(families.items()):
        most = max(n_cells[name] for name in names)
        full = [name for name in names if n_cells[name] == most]
        mean_ranks = ranks(scores[:, [column[name] for name in full]]).mean(axis=0).tolist()
        order = {
            name: (rank, name not in headline(), len(name), name) for name, rank in zip(full, mean_ranks, strict=True)
        }
        chosen[family] = keep if keep in names else min(full, key=order.__getitem__)
    return chosen
