"""Presets that give every method the same computing time, grouped into series that differ only in this budget."""

import json
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lockstep_bench.shared.protocol import FROM_BUDGET


class BudgetSeries(NamedTuple):
    """Presets of one suite that differ only in their time budget.

    Attributes:
        suite: name of the suite.
        presets: labels of the presets, by budget in seconds, the smallest first.
    """

    suite: str
    presets: Mapping[int, str]


def series_of(cells: pd.DataFrame) -> list[BudgetSeries]:
    """Return the series of presets that differ only in their time budget, ordered by suite and first label.

    Args:
        cells: result rows with columns suite, preset and protocol, and with labelled presets
            (`summary.with_labelled_presets`).
    """
    found: dict[tuple[str, str], dict[int, str]] = {}
    chosen = cells["protocol"].astype(str).str.contains('"budget_seconds"')
    rows = cells.loc[chosen, ["suite", "preset", "protocol"]].astype(str).drop_duplicates()
    for suite, preset, text in rows.itertuples(index=False, name=None):
        protocol = json.loads(text)
        seconds = protocol.pop("budget_seconds")
        for name in FROM_BUDGET:
            protocol.pop(name, None)
        found.setdefault((suite, json.dumps(protocol, sort_keys=True)), {})[seconds] = preset
    series = [BudgetSeries(suite, dict(sorted(presets.items()))) for (suite, _), presets in found.items()]
    return sorted(series, key=lambda one: (one.suite, next(iter(one.presets.values()))))
