"""The page on factors: effects of posterior, network and noise model on scores, in a crossed (factorial) design."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lockstep_bench.leaderboards.metrics import Metric, metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.stats.comparable import Asked
from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean
from lockstep_bench.leaderboards.stats.factors import (
    BASE,
    FACTORS,
    Combination,
    Crossed,
    Design,
    Effects,
    combination_of,
    crossed,
    effects,
)
from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking, on_each_dataset, over_datasets
from lockstep_bench.leaderboards.stats.units import unit_of_difference
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.leaderboards.wording.formats import counted, decimals_for, joined, listed, number, visible

METRICS = ("nmll", "crps", "rmse")
MOST_LISTED = 8
USUAL = BASE["network"], BASE["noise"]
BRIEFLY = Asked(power=False)
FEWEST_COMBINATIONS = 2  # of network and noise, on a data set that has a table


class EffectLine(NamedTuple):
    """One line of an effect table: the difference between a level of a factor and the factor's default level.

    Attributes:
        level: name of the level.
        within: the combination of the other two factors in which the levels are compared, or the number of them.
        hint: names of the compared combinations of all three factors.
        main: whether this is the main effect, averaged over all combinations of the other factors.
        overall: difference over data sets; None if unknown.
        on_datasets: difference on each data set of the table; None if unknown.
    """

    level: str
    within: str
    hint: str
    main: bool
    overall: Ranked | None
    on_datasets: list[Ranked | None]


class EffectTable(NamedTuple):
    """Effects of one factor on one metric.

    Attributes:
        factor: one of `FACTORS`.
        reference: level that differences refer to.
        unit: unit of the differences (`Ranking.unit`).
        datasets: names of the data sets, one per column.
        lines: main effects, each followed by the effects within single combinations of the other factors.
    """

    factor: str
    reference: str
    unit: str
    datasets: list[str]
    lines: list[EffectLine]


class Score(NamedTuple):
    """Mean score of a combination on a data set, as printed; texts are empty if it was not run."""

    combination: Combination
    value: str
    stderr: str
    hint: str


class ScoreTable(NamedTuple):
    """Scores on one data set: a line for each posterior, a column for each pair of network and noise model."""

    dataset: str
    columns: list[tuple[str, str]]
    splits: str
    lines: list[tuple[str, list[Score]]]


class MetricPart(NamedTuple):
    """Effects on one metric, and its scores."""

    name: str
    metric: Metric
    effects: list[EffectTable]
    scores: list[ScoreTable]


class FactorSection(NamedTuple):
    """The section of one factorial design.

    Attributes:
        design: the design.
        sentences: sentences on what was run and what is left out.
        parts: effects and scores, one part for each metric.
        answers: for each factor, which levels are significantly better or worse over data sets, by the first metric.
    """

    design: Design
    sentences: list[str]
    parts: list[MetricPart]
    answers: list[str]


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `factors.html`."""
    sections = [one for design in site.designs if (one := section(site, design)).parts]
    titles = {part.name: part.metric.title for one in sections for part in one.parts}
    return {"sections": sections, "titles": titles}


def section(site: Site, design: Design) -> FactorSection:
    """Return the section of one factorial design."""
    cells = site.cells
    names = [name for name in METRICS if name in cells and cells[name].notna().any()]
    tables = {name: crossed(cells, design, name) for name in names}
    parts = []
    for name, table in tables.items():
        scores = score_tables(table)
        datasets = [one.dataset for one in scores]
        made = [effect_table(table, factor, datasets) for factor in FACTORS]
        if any(one.lines for one in made):
            parts.append(MetricPart(name, metric(name), [one for one in made if one.lines], scores))
    said = sentences(tables[parts[0].name], [one.dataset for one in parts[0].scores]) if parts else []
    return FactorSection(design, said, parts, answers(parts[0]) if parts else [])


def answers(part: MetricPart) -> list[str]:
    """Return a sentence for each factor: its levels whose main effect over data sets is significant, and which way."""
    said = []
    for table in part.effects:
        rows = [(line.level, line.overall) for line in table.lines if line.main and line.overall]
        better = [f"`{visible(level)}` is better" for level, row in rows if row.verdict in AHEAD]
        worse = [f"`{visible(level)}` is worse" for level, row in rows if row.verdict == "worse"]
        n_open = len(rows) - len(better) - len(worse)
        rest = f"{n_open} undecided" if better or worse else "no difference is shown"
        found = [*better, *worse, *([rest] if n_open else [])]
        if rows:
            said.append(
                f"{table.factor.capitalize()}, against `{visible(table.reference)}`, by {part.metric.phrase}: "
                f"{joined(found)}."
            )
    return said


def sentences(table: Crossed, datasets: Sequence[str]) -> list[str]:
    """Return sentences on which combinations were run, and on what the tables leave out."""
    said = []
    for network, noise in _combinations(table):
        posteriors = table.only({"network": [network], "noise": [noise]}).levels("posterior")
        said.append(f"{network} · {noise}: {counted(len(posteriors), 'posterior')}.")
    said.append(f"Posteriors that were run in {' · '.join(USUAL)} alone have no line; the page of the suite has them.")
    alone = [name for name in dict.fromkeys(table.tried.index.get_level_values("dataset")) if name not in datasets]
    if alone:
        said.append(f"Data sets with one combination of network and noise alone: {listed(alone, MOST_LISTED)}.")
    if table.own_noise:
        said.append(f"Left out, as their noise is not the protocol's: {listed(table.own_noise, MOST_LISTED)}.")
    return said


def effect_table(table: Crossed, factor: str, datasets: Sequence[str]) -> EffectTable:
    """Return the effects of a factor: the difference between each level and the default level.

    The main effect of a level is averaged over all combinations of the other factors in which both levels were run.
    Further lines give the effects of network and noise model in each combination of the other factors. Posteriors that
    were run only in the default combination are left out.
    """
    levels = table.levels(factor)
    reference, lines = levels[0], []
    for level in levels[1:]:
        if factor == "posterior" and table.only({factor: [level]}).combinations == [(level, *USUAL)]:
            continue
        pair = [reference, level]
        whole = effects(table, factor, pair)
        lines += [_line(whole, factor, pair, datasets, True)] if whole.within else []
        for single in whole.within if factor != "posterior" and len(whole.within) > 1 else []:
            lines.append(_line(effects(table, factor, pair, [single]), factor, pair, datasets, False))
    return EffectTable(factor, reference, unit_of_difference(table.metric), list(datasets), lines)


def _line(found: Effects, factor: str, pair: Sequence[str], datasets: Sequence[str], main: bool) -> EffectLine:
    reference, level = pair
    within = " · ".join(found.within[0]) if len(found.within) == 1 else counted(len(found.within), "combination")
    hint = ", ".join(combination_of(factor, level, names) for names in found.within)
    boards = found.comparable(reference)
    by_dataset = on_each_dataset(boards, BRIEFLY)
    rows = [_row(by_dataset[name], found.names[level]) if name in by_dataset else None for name in datasets]
    overall = _row(over_datasets(boards, BRIEFLY), found.names[level]) if len(by_dataset) > 1 else None
    return EffectLine(level, within, hint, main, overall, rows)


def _row(ranking: Ranking, name: str) -> Ranked | None:
    """Return the row of a level that has a difference."""
    rows = (row for row in ranking.all_rows if row.method == name and row.difference == row.difference)
    return next(rows, None)


def score_tables(table: Crossed) -> list[ScoreTable]:
    """Return a table of scores for each data set on which several combinations of network and noise model were run.

    Scores are means over the splits that all combinations were run on. Posteriors that were run only in the default
    combination have no line.
    """
    tables = []
    places = {one: place for place, one in enumerate(table.combinations)}
    tried, names = table.tried.to_numpy(), table.tried.index.get_level_values("dataset").to_numpy()
    for dataset in dict.fromkeys(names):
        ran = {
            pair: tried[:, [place for one, place in places.items() if one[1:] == pair]].any(axis=1) & (names == dataset)
            for pair in _combinations(table)
        }
        here = [pair for pair, splits in ran.items() if splits.any()]
        if len(here) < FEWEST_COMBINATIONS:
            continue
        shared = np.logical_and.reduce([ran[pair] for pair in here])
        lines = []
        for posterior in sorted(table.levels("posterior")):
            columns = [Combination(posterior, *pair) for pair in here]
            scores = [_score(one, table, places.get(one), shared, str(dataset)) for one in columns]
            if any(score.hint and score.combination[1:] != USUAL for score in scores):
                lines.append((posterior, scores))
        tables.append(ScoreTable(str(dataset), here, counted(int(shared.sum()), "split"), lines))
    return tables


def _score(combination: Combination, table: Crossed, place: int | None, shared: np.ndarray, dataset: str) -> Score:
    """Return the score of a combination on the splits `shared` of a data set; `place` is that of its column."""
    ran = shared & table.tried.to_numpy()[:, place] if place is not None else np.zeros(len(shared), bool)
    if not ran.any():
        return Score(combination, "", "", "")
    values = table.observed.to_numpy()[ran, place]
    mean = corrected_mean(values[~np.isnan(values)], table.ratios[dataset])
    decimals = decimals_for(mean.mean, mean.stderr)
    stderr = number(mean.stderr, decimals) if mean.stderr == mean.stderr else ""
    n_failed = int(np.isnan(values).sum())
    hint = f"{combination}, {counted(len(values), 'split')}" + (f", {n_failed} failed" if n_failed else "")
    return Score(combination, number(mean.mean, decimals), stderr, hint)


def _combinations(table: Crossed) -> list[tuple[str, str]]:
    """Return the combinations of network and noise, the usual levels first."""
    pairs = {(one.network, one.noise) for one in table.combinations}
    return [pair for pair in product(table.levels("network"), table.levels("noise")) if pair in pairs]
