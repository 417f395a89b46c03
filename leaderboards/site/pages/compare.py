"""The page that compares two to five methods of the reader's choice: paired differences on each data set and over all.

The script of the site computes the differences and their intervals from the values in the page, as `stats.ranking` does
for differences to the reference: on a data set the corrected resampled t over the splits that both methods have, over
data sets the paired t over the differences on them.
"""

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np
import scipy.special
from markupsafe import Markup

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.answers import ANSWERED, measured
from lockstep_bench.leaderboards.stats.units import unit_of_difference
from lockstep_bench.methods import is_ranked

MOST_METHODS = 5
DIGITS = 7  # of a value
POWERS_OF_TEN = np.array([10.0**power for power in range(16)])


def rivals(site: Site, method: str) -> list[str]:
    """Return the best variants of the other families, by mean rank: those that a method's page offers to compare with.

    The list is empty if `method` is not on the page that compares methods.
    """
    chosen = site.exchangeable
    name = next((name for name in ANSWERED if chosen and measured(site, *chosen, name)), None)
    if not chosen or not name:
        return []
    standings = site.standings(*chosen, name)
    if not is_ranked(method) or method not in standings.by_method:
        return []
    return [row.method for row in standings.families.rows if row.method != method and is_ranked(row.method)]


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `compare.html`."""
    chosen = site.exchangeable
    assert chosen, "the page is made only if there is something to compare"
    suite, preset = chosen
    values = dict(_values(site, suite, preset))
    methods = sorted({method for of_metric in values.values() for method in of_metric["values"]})
    of_sets = _ratios(site, suite, preset)
    most = max(
        (len(some) for one in values.values() for by in one["values"].values() for some in by.values()), default=1
    )
    data = {"metrics": values, "ratios": of_sets, "quantiles": _quantiles(max(most, len(of_sets)))}
    return {
        "suite": suite,
        "preset": preset,
        "methods": methods,
        "metric_options": [(name, one["title"]) for name, one in values.items()],
        "most": MOST_METHODS,
        "data": Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")),
    }


def _values(site: Site, suite: str, preset: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each metric with its titles, direction, unit, and the values by method and data set (null: a failure)."""
    for name in ANSWERED:
        if not measured(site, suite, preset, name):
            continue
        table = site.standings(suite, preset, name).table
        by_method: dict[str, dict[str, list[float | None]]] = {}
        names, methods = table.observed.index.get_level_values("dataset"), np.array(table.methods, object)
        for dataset in table.datasets:
            of_dataset = names == dataset
            everywhere = table.tried.to_numpy()[of_dataset].all(axis=0)
            columns = _rounded(table.observed.to_numpy()[of_dataset][:, everywhere].T)
            for method, numbers in zip(methods[everywhere], columns, strict=True):
                if is_ranked(str(method)):
                    by_method.setdefault(str(method), {})[str(dataset)] = numbers
        shown = metric(name)
        words = {"title": shown.title, "phrase": shown.phrase}
        yield name, words | {"goal": shown.goal, "unit": unit_of_difference(name), "values": by_method}


def _rounded(values: np.ndarray) -> list[list[float | None]]:
    """Return values (M, n) with `DIGITS` significant digits; None for those that are not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        decimals = DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    usual = (decimals >= 0) & (decimals < len(POWERS_OF_TEN))
    power = POWERS_OF_TEN[np.where(usual, decimals, 0).astype(int)]
    rounded = np.rint(np.where(usual, values, 0.0) * power) / power  # the nearest number, as the power of ten is exact
    numbers: list[list[float | None]] = rounded.tolist()
    for line, place in np.argwhere(~usual).tolist():
        value = values[line, place]
        numbers[line][place] = float(f"{value:.{DIGITS}g}") if isfinite(value) else None
    return numbers


def _ratios(site: Site, suite: str, preset: str) -> dict[str, float | None]:
    """Return n_test / n_train of the splits of each data set; null if unknown."""
    of_sets = site.runs(suite, preset).ratios
    return {name: float(f"{ratio:.{DIGITS}g}") if np.isfinite(ratio) else None for name, ratio in of_sets.items()}


def _quantiles(n: int) -> list[float]:
    """Return the 97.5 % quantiles of Student's t with 1 to n degrees of freedom."""
    return [float(f"{value:.8g}") for value in scipy.special.stdtrit(np.arange(1, n + 1), 0.975)]
