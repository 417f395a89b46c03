"""Effects of three crossed factors on scores: the approximate posterior, the network and the model of the noise.

Protocols that differ only in hidden units and likelihood belong to one factorial design. Two levels of one factor are
compared on the splits and in the combinations of the other two factors in which both were run:

    d(split) = mean over these combinations of score(level) - score(other level),

with logarithms of scores for metrics that are compared by ratio. The mean over combinations takes the place of a
method's score in `ranking`, so that intervals, verdicts and failures are those of methods. A difference of the noise
model is therefore never part of a difference between posteriors.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import metric as metric_named
from lockstep_bench.leaderboards.stats.balanced import balanced
from lockstep_bench.leaderboards.stats.comparable import Comparable, comparable_of
from lockstep_bench.leaderboards.stats.dependence import ratios
from lockstep_bench.leaderboards.stats.paired import Paired
from lockstep_bench.leaderboards.stats.runs import paired
from lockstep_bench.leaderboards.stats.suites import JOINED
from lockstep_bench.leaderboards.stats.units import compared_by_ratio
from lockstep_bench.leaderboards.wording.commands import original_preset
from lockstep_bench.leaderboards.wording.formats import counted, listed
from lockstep_bench.methods import is_ranked
from lockstep_bench.shared.protocol import FROM_BUDGET

FACTORS = ("posterior", "network", "noise")
# Suites of regressions whose networks a protocol may change, and the hidden units of their networks.
NETWORKS = dict.fromkeys(
    (
        *("uci", "own", "uci-gap", "uci-tail", "uci-gp", "rdatasets"),
        *("openml-ctr23", "openml-tabarena", "learning-curves"),
    ),
    "50",
)
NOISES = {"gaussian": "constant", "heteroscedastic": "predicted"}  # another likelihood has its own name
BASE = {"posterior": "map", "network": "50", "noise": "constant"}  # levels that differences refer to
MOST_LISTED = 6


class Combination(NamedTuple):
    """A combination of one posterior, one network and one model of the noise."""

    posterior: str
    network: str
    noise: str

    def __str__(self) -> str:
        """Return its name: "mile · 16-16 · predicted"."""
        return " · ".join(self)


class Design(NamedTuple):
    """A factorial design: protocols of one suite and preset that differ only in the network and the model of the noise.

    Attributes:
        suite: name of the suite.
        preset: name of the preset from which all protocols start.
        labels: label of the preset of each protocol, by network and noise model.
    """

    suite: str
    preset: str
    labels: Mapping[tuple[str, str], str]


class Crossed(NamedTuple):
    """Scores of all combinations of a factorial design by one metric.

    Attributes:
        observed: scores; index (dataset, split), columns (posterior, network, noise); NaN where there is no value.
        tried: bool, shape of `observed`: whether the combination was run on the split, successfully or not.
        metric: name of the metric.
        own_noise: posteriors that are left out because they have their own noise model instead of the protocol's.
        ratios: n_test / n_train of each data set's splits (`dependence`).
    """

    observed: pd.DataFrame
    tried: pd.DataFrame
    metric: str
    own_noise: list[str]
    ratios: dict[str, float]

    @property
    def combinations(self) -> list[Combination]:
        """The combinations of posterior, network and noise model that have scores."""
        return [Combination(*map(str, names)) for names in self.tried.columns.to_list()]

    def levels(self, factor: str) -> list[str]:
        """Return the levels of a factor, the default level (`BASE`) first."""
        names = sorted({getattr(one, factor) for one in self.combinations})
        return sorted(names, key=lambda name: name != BASE[factor])

    def only(self, kept: Mapping[str, Collection[str]]) -> "Crossed":
        """Return the scores of combinations whose levels are in `kept`; a factor without an entry keeps all levels."""
        chosen = [
            all(getattr(one, factor) in names for factor, names in kept.items() if names) for one in self.combinations
        ]
        return self._replace(observed=self.observed.loc[:, chosen], tried=self.tried.loc[:, chosen])


class Effects(NamedTuple):
    """Scores of the levels of one factor, averaged over the combinations of the other two factors that all were run in.

    Attributes:
        scores: means over combinations for S splits x L levels (S, L), by data set; NaN where a combination failed.
        names: names of the L levels; names of whole combinations if the other factors have only one combination.
        within: combinations of the other two factors that are averaged over, with levels in the order of `FACTORS`.
        notes: sentences on what the levels are averaged over, and on what was left out.
        table: scores of the single combinations, from which the means are taken.
    """

    scores: dict[str, np.ndarray]
    names: dict[str, str]
    within: list[tuple[str, str]]
    notes: list[str]
    table: Crossed

    def comparable(self, reference: str) -> Comparable:
        """Return the levels in the form in which methods are ranked; differences refer to the level `reference`."""
        place, metric = list(self.names).index(reference), self.table.metric
        scores = {name: (values, values[:, place]) for name, values in self.scores.items()}
        names, goal = list(self.names.values()), metric_named(metric).goal
        return comparable_of(metric, self.names[reference], [], names, goal or "low", scores, self.table.ratios)


def designs(cells: pd.DataFrame) -> list[Design]:
    """Return the factorial designs that have several combinations of network and noise model, by suite and preset.

    Args:
        cells: result rows with labelled presets (`summary.with_labelled_presets`).
    """
    networks = {suite: _network(str(suite)) for suite in cells["suite"].unique()}
    regressions = cells["suite"].map(networks).astype(bool) & (cells["task"] == "regression")
    rows = cells.loc[regressions, ["suite", "preset", "protocol"]].drop_duplicates()
    found: dict[tuple[str, str, str], dict[tuple[str, str], str]] = {}
    for suite, preset, protocol in rows.itertuples(index=False, name=None):
        values = json.loads(protocol)
        hidden = values.pop("hidden", None)
        network = str(hidden).replace(",", "-") if hidden else networks[suite]
        likelihood = values.pop("likelihood", "gaussian")
        if budget := values.get("budget_seconds"):
            values = {name: value for name, value in values.items() if name not in FROM_BUDGET}
        whole = original_preset(str(preset)) + (f"-{budget}s" if budget else "")
        labels = found.setdefault((str(suite), whole, json.dumps(values, sort_keys=True)), {})
        labels[network, NOISES.get(likelihood, likelihood)] = str(preset)
    made = [Design(suite, preset, labels) for (suite, preset, _), labels in found.items() if len(labels) > 1]
    return sorted(made, key=lambda design: (design.suite, design.preset, *sorted(design.labels.values())))


def _network(suite: str) -> str:
    """Return the network of a suite, or of several joined ones (`stats.suites`); "" if it is unknown or differs."""
    networks = {NETWORKS.get(name, "") for name in suite.split(JOINED)}
    return networks.pop() if len(networks) == 1 else ""


def crossed(cells: pd.DataFrame, design: Design, metric: str) -> Crossed:
    """Return the scores of all combinations of a factorial design.

    Baselines without a network are left out, and so are posteriors with a noise model of their own. The latter are
    those without the hyper-parameter `noise_precision` in their results under constant noise.
    """
    of_design = (cells["suite"] == design.suite) & cells["preset"].isin(list(design.labels.values()))
    ranked = cells["method"].isin([name for name in cells["method"].unique() if is_ranked(name)])
    rows = cells[of_design & ranked]
    constant = [label for (_, noise), label in design.labels.items() if noise == "constant"]
    finished = rows[rows["preset"].isin(constant) & (rows["status"] == "ok") & (rows["task"] == "regression")]
    with_noise = finished["hparams"].str.contains('"noise_precision"', na=False)
    own_noise = sorted(set(finished["method"]) - set(finished.loc[with_noise, "method"]))
    rows = rows[(rows["task"] == "regression") & ~rows["method"].isin(own_noise)]
    observed, tried = {}, {}
    for (network, noise), label in design.labels.items():
        table = paired(rows, design.suite, label, metric)
        for method in table.methods:
            key = Combination(method, network, noise)
            observed[key], tried[key] = table.observed[method], table.tried[method]
    frames: list[pd.DataFrame] = []
    for columns, absent in ((observed, np.nan), (tried, False)):
        frame = pd.DataFrame(columns).sort_index()
        frame.columns = pd.MultiIndex.from_arrays(list(zip(*columns, strict=True)) or [[], [], []], names=FACTORS)
        frames.append(frame.astype(object).where(frame.notna(), absent).astype(type(absent)))
    observations, tries = frames
    return Crossed(observations, tries, metric, own_noise, ratios(rows.astype({"dataset": object})))


def effects(
    table: Crossed, factor: str, levels: Sequence[str] = (), within: Collection[tuple[str, str]] = ()
) -> Effects:
    """Return the scores of a factor's levels, averaged over combinations of the other two factors that all were run in.

    Combinations and splits are chosen so that they give the most comparisons (`balanced`).

    Args:
        table: scores of a factorial design.
        factor: one of `FACTORS`.
        levels: levels to compare; by default all, or for posteriors those that share the most combinations.
        within: combinations of the other two factors to average over; splits that lack one of them are left out. By
            default they are chosen.

    Raises:
        ValueError: Neither low nor high values of the metric are good, so that its mean over combinations has no
            meaning.
    """
    if not isinstance(metric_named(table.metric).goal, str):
        raise ValueError(f"metric '{table.metric}' is not averaged over combinations; choose one with a direction")
    levels = list(levels) or _usual_levels(table, factor)
    places = [
        {others_of(factor, one): place for place, one in enumerate(table.combinations) if getattr(one, factor) == level}
        for level in levels
    ]
    shared = sorted(set.intersection(*map(set, places))) if places else []
    if not shared:
        return Effects({}, {level: level for level in levels}, [], [], table)
    observed, tried = table.observed.to_numpy(), table.tried.to_numpy()
    ran = np.logical_and.reduce([tried[:, [of_level[key] for key in shared]] for of_level in places])
    used, here = _balanced(table, ran, shared, within)
    logarithms = compared_by_ratio(table.metric)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.log(observed) if logarithms else observed
        means = np.column_stack([scores[here][:, [of_level[key] for key in used]].mean(axis=1) for of_level in places])
        means = np.exp(means) if logarithms else means
    datasets = table.tried.index.get_level_values("dataset").to_numpy()[here]
    by_dataset = {str(name): np.asfortranarray(means[datasets == name]) for name in dict.fromkeys(datasets)}
    names = {level: combination_of(factor, level, used[0]) if len(used) == 1 else level for level in levels}
    return Effects(by_dataset, names, used, _notes(table, factor, levels, used, by_dataset), table)


def others_of(factor: str, combination: Combination) -> tuple[str, str]:
    """Return the levels of a combination in the two factors other than `factor`."""
    first, second = (level for name, level in zip(FACTORS, combination, strict=True) if name != factor)
    return first, second


def _balanced(
    table: Crossed, ran: np.ndarray, shared: list[tuple[str, str]], within: Collection[tuple[str, str]]
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Return combinations of the other factors, and indices of splits, such that all levels were run on all of them.

    Args:
        table: scores of a design.
        ran: booleans, splits x `shared`: whether all levels were run there.
        shared: combinations of the other two factors.
        within: as of `effects`.
    """
    kept = shared if len(shared) == 1 else [names for names in shared if names in within]
    if kept:
        return kept, np.flatnonzero(ran[:, [shared.index(names) for names in kept]].all(axis=1))
    frame = pd.DataFrame(ran, table.tried.index, pd.Index([" · ".join(names) for names in shared]))
    whole = Paired("", "", table.metric, frame.astype(float).where(frame), frame)
    part = balanced(whole).table
    used = [names for names in shared if " · ".join(names) in part.methods]
    return used, np.flatnonzero(table.tried.index.isin(part.tried.index))


def _usual_levels(table: Crossed, factor: str) -> list[str]:
    """Return all levels of a factor; of posteriors, those that share most combinations of network and noise.

    At least two posteriors are returned. Among equally many combinations, those that most posteriors share are used.
    """
    levels = table.levels(factor)
    if factor != "posterior":
        return levels
    run = {level: {one[1:] for one in table.combinations if one.posterior == level} for level in levels}
    every = sorted(set().union(*run.values()))
    chosen = [names for size in range(1, len(every) + 1) for names in combinations(every, size)]
    sharing = {names: [level for level in levels if run[level].issuperset(names)] for names in chosen}
    return sharing[max(chosen, key=lambda names: (len(sharing[names]) > 1, len(names), len(sharing[names])))]


def _notes(
    table: Crossed, factor: str, levels: Sequence[str], used: Sequence[tuple[str, str]], datasets: Collection[str]
) -> list[str]:
    """Return sentences on what the levels are averaged over, and on what was left out."""
    others = [name for name in FACTORS if name != factor]
    notes = []
    if len(used) > 1:
        named = listed([" · ".join(names) for names in used], MOST_LISTED)
        notes.append(f"Mean over {counted(len(used), 'combination')} of {' and '.join(others)}: {named}.")
    left_out = {
        f"{factor}s that were not run in all of these combinations" if factor != "noise" else "models of the noise": [
            level for level in table.levels(factor) if level not in levels
        ],
        "posteriors whose noise is not the protocol's": table.own_noise,
        "data sets without a split of all levels": [
            name for name in dict.fromkeys(table.tried.index.get_level_values("dataset")) if name not in datasets
        ],
    }
    return notes + [f"Left out, {why}: {listed(names, MOST_LISTED)}." for why, names in left_out.items() if names]


def combination_of(factor: str, level: str, others: tuple[str, str]) -> str:
    """Return the name of a combination of posterior, network and noise, such as "mile · 16-16 · predicted".

    Args:
        factor: the factor that `level` belongs to.
        level: level of this factor.
        others: levels of the other two factors.
    """
    rest = iter(others)
    return str(Combination(*(level if name == factor else next(rest) for name in FACTORS)))
