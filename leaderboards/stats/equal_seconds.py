"""Presets that give every method the same seconds, in series of rising budgets that are else one protocol."""

import json
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lockstep_bench.shared.protocol import FROM_BUDGET


class BudgetSeries(NamedTuple):
    """Budgets of one protocol in a suite.

    Attributes:
        suite: name of the suite.
        presets: labels of presets by seconds, the smallest budget first.
    """

    suite: str
    presets: Mapping[int, str]


def series_of(cells: pd.DataFrame) -> list[BudgetSeries]:
    """Return the series of cells (columns suite, preset and protocol; labelled presets), by suite and first label."""
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
