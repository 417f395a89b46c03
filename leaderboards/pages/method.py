"""The page of one method: what it is, and how it fared on every data set."""

import json
from typing import NamedTuple

import pandas as pd

from leaderboards import opened
from leaderboards.boards import Row
from leaderboards.formulas import formula
from leaderboards.metrics import HEADLINE, Metric, metric
from leaderboards.ran import failures
from leaderboards.site import Site


class Section(NamedTuple):
    """One suite and preset: the method's row of each data set's table."""

    suite: str
    preset: str
    columns: dict[str, Metric]
    rows: list[tuple[str, Row]]  # (data set, its row)
    hparams: dict[str, list[tuple[str, str, str]]]  # name -> (data set, chosen values in words, range)


def context(site: Site, method: str) -> dict:
    """What the template `method.html` shows."""
    card = site.card(method)
    cells = site.cells[site.cells["method"] == method]
    places = cells[["suite", "preset"]].drop_duplicates().itertuples(index=False)
    sections = [section(site, method, cells, suite, preset) for suite, preset in sorted(places)]
    return {
        "method": method,
        "about": card,
        "formula": formula(card.objective) if card.objective else "",
        "sections": sections,
        "preset_options": [(preset, preset) for preset in dict.fromkeys(one.preset for one in sections)],
        "metric_options": list({name: of.title for one in sections for name, of in one.columns.items()}.items()),
        "failures": failures(cells),
        "relatives": [one for one in site.methods if one != method and card.family and site.card(one).family == card.family],
    }


def section(site: Site, method: str, cells: pd.DataFrame, suite: str, preset: str) -> Section:
    """The section of one suite and preset."""
    rows = []
    for key, made in site.boards.items():
        if (key[0], key[2]) == (suite, preset):
            rows += [(made.dataset, row) for row in made.rows if row.method == method and not row.published]
    having = {name for _, row in rows for name, cell in row.cells.items() if cell.value}
    here = cells[(cells["suite"] == suite) & (cells["preset"] == preset)]
    return Section(suite, preset, {name: metric(name) for name in HEADLINE if name in having}, rows, chosen(here))


def chosen(cells: pd.DataFrame) -> dict[str, list[tuple[str, str, str]]]:
    """What tuning chose, by hyper-parameter and data set: median (lowest to highest), and the range it had."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for dataset, part in cells[cells["hparams"].notna()].groupby("dataset"):
        settings = [opened.as_object(text) for text in part["hparams"]]
        spaces = [opened.as_object(text) for text in part["search_space"].dropna().unique()]
        for name in dict.fromkeys(name for one in settings for name in one):
            values = pd.Series([one[name] for one in settings if name in one])
            ranges = dict.fromkeys(_range(space[name]) for space in spaces if name in space)
            found.setdefault(name, []).append((dataset, _in_words(values), "; ".join(ranges)))
    return found


def _in_words(values: pd.Series) -> str:
    if not pd.api.types.is_numeric_dtype(values):
        return ", ".join(sorted(set(map(str, values))))
    low, middle, high = (opened.printed(float(v)) for v in (values.min(), values.median(), values.max()))
    return middle if low == high else f"{middle} ({low} to {high})"


def _range(distribution: object) -> str:
    """An Optuna distribution, as a row has it in JSON, in words."""
    if isinstance(distribution, str):
        distribution = opened.as_object(distribution)
    attributes = distribution.get("attributes", {}) if isinstance(distribution, dict) else {}
    if "choices" in attributes:
        return "one of " + ", ".join(map(str, attributes["choices"]))
    if {"low", "high"} <= attributes.keys():
        scale = ", log scale" if attributes.get("log") else ""
        return f"{attributes['low']:g} to {attributes['high']:g}{scale}"
    return json.dumps(distribution)
