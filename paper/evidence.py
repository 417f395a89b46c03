"""Look-up of all that the paper reports, in kept rows, by the functions behind the commands of `leaderboards`."""

from functools import cached_property
from pathlib import Path
from typing import Self

import pandas as pd

from lockstep_bench.leaderboards.cli import factors
from lockstep_bench.leaderboards.cli.options import read_folders
from lockstep_bench.leaderboards.data.published import read_published
from lockstep_bench.leaderboards.data.rechecks import Again, Recheck
from lockstep_bench.leaderboards.replications.comparison import Replication, replications
from lockstep_bench.leaderboards.simulation.promises import Kept, promises_on_residuals
from lockstep_bench.leaderboards.simulation.residuals import residuals
from lockstep_bench.leaderboards.stats.factors import designs
from lockstep_bench.leaderboards.stats.rank_correlation import RankCorrelation, rank_correlation
from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking, rank, rank_on_datasets
from lockstep_bench.leaderboards.stats.suites import as_one
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
from lockstep_bench.leaderboards.tables.search_ranges import Optimum, optima
from lockstep_bench.leaderboards.tables.selection import select
from lockstep_bench.shared.papers.entries import entries
from paper.comparisons import ALL_SUITES, COMPARISONS, NETWORKS, OTHER_MODELS, Comparison, Posteriors

REPEATS = 300  # simulated leaderboards; docs/statistics.md has as many


class Evidence:
    """Rankings and other results of kept rows, each computed once.

    Args:
        cells: result rows, columns of `shared.schema.CELLS`.
        rechecks: rechecks of these rows.
        repeats: number of leaderboards to simulate.
    """

    def __init__(self, cells: pd.DataFrame, rechecks: tuple[Recheck, ...] = (), repeats: int = REPEATS):
        self.cells, self.rechecks, self.repeats = cells, rechecks, repeats
        self._rankings: dict[tuple[str, str, bool], dict[str, Ranking]] = {}
        self._simulated: dict[str, Kept] = {}
        self._correlations: dict[tuple[str, str, Posteriors, tuple[str, ...]], RankCorrelation] = {}

    @classmethod
    def read(cls, folder: Path, repeats: int = REPEATS) -> Self:
        """Return the evidence of a results folder; exit with code 2 and a message if it is none."""
        results = read_folders([folder])
        return cls(results.cells, results.rechecks, repeats)

    def ranking(self, name: str, metric: str) -> Ranking:
        """Return the ranking over data sets of a comparison (a key of `COMPARISONS`) by a metric."""
        (ranking,) = self._rank(name, metric, each=False).values()
        return ranking

    def on_each(self, name: str, metric: str) -> dict[str, Ranking]:
        """Return the ranking of a comparison on each data set."""
        return self._rank(name, metric, each=True)

    def rows(self, name: str, metric: str) -> dict[str, Ranked]:
        """Return the rows of a comparison's ranking by method, the best mean rank first."""
        return by_method(self.ranking(name, metric))

    def _rank(self, name: str, metric: str, each: bool) -> dict[str, Ranking]:
        key = name, metric, each
        if key not in self._rankings:
            self._rankings[key] = _ranked(self.cells, COMPARISONS[name], metric, each)
        return self._rankings[key]

    def correlation(
        self, first: str, second: str, posteriors: Posteriors = NETWORKS, without: tuple[str, ...] = OTHER_MODELS
    ) -> RankCorrelation:
        """Return the rank correlation of two metrics over methods, on models of known posterior.

        Args:
            first: a metric.
            second: another one.
            posteriors: the models and runs.
            without: methods to leave out.
        """
        key = first, second, posteriors, without
        if key not in self._correlations:
            cells = select(self.labelled, [posteriors.suite], [posteriors.preset])
            cells = cells[~cells["method"].isin(without)]
            self._correlations[key] = rank_correlation(cells, posteriors.suite, posteriors.preset, (first, second))
        return self._correlations[key]

    @cached_property
    def labelled(self) -> pd.DataFrame:
        """The rows, with presets that several protocols share renamed to preset@hash."""
        return with_labelled_presets(self.cells)

    def mean(self, suite: str, preset: str, dataset: str, method: str, metric: str) -> float:
        """Return the mean of a metric over the finished splits of a method on a data set."""
        kept = self.labelled
        chosen = (kept["suite"] == suite) & (kept["preset"] == preset) & (kept["dataset"] == dataset)
        return float(kept.loc[chosen & (kept["method"] == method) & (kept["status"] == "ok"), metric].mean())

    def simulated(self, noise: str) -> Kept:
        """Return how often verdicts are false on leaderboards of residuals of the seven methods over all suites.

        Args:
            noise: "constant" or "predicted".
        """
        if noise not in self._simulated:
            self._simulated[noise] = self._simulate(noise)
        return self._simulated[noise]

    def _simulate(self, noise: str) -> Kept:
        rows, suite, _ = as_one(self.cells, ALL_SUITES)
        cells = with_labelled_presets(rows)
        (design,) = (one for one in designs(cells) if one.suite == suite and "tuned" in one.labels.values())
        label = design.labels["50", noise]
        return promises_on_residuals(residuals(select(cells, [suite], [label]), suite, label, "nmll"), self.repeats)

    @cached_property
    def claims(self) -> list[Replication]:
        """The replicated tables and figures of the papers, with the verdicts on their claims."""
        return replications(self.cells, read_published(), entries())

    def optima(self, methods: tuple[str, ...]) -> list[Optimum]:
        """Return where in their search ranges the tuned values of methods lie, on each data set of the three suites."""
        kept = self.cells
        tuned = kept["suite"].isin(ALL_SUITES) & kept["preset"].isin(["tuned", "tuned-modified"])
        return list(optima(kept[tuned & kept["method"].isin(methods)]))

    @cached_property
    def rechecked(self) -> list[Again]:
        """All results that were drawn at random and run again."""
        return [again for recheck in self.rechecks for again in recheck.cells]


def by_method(ranking: Ranking) -> dict[str, Ranked]:
    """Return the rows of a ranking by the compared level alone: "mile" for "mile · 16-16 · predicted"."""
    return {row.method.partition(" · ")[0]: row for row in ranking.rows}


def _ranked(cells: pd.DataFrame, comparison: Comparison, metric: str, each: bool) -> dict[str, Ranking]:
    rows, suite, _ = as_one(cells, comparison.suites)
    methods, datasets = list(comparison.methods), list(comparison.datasets)
    if comparison.factor:
        levels = methods, list(filter(None, [comparison.network])), list(filter(None, [comparison.noise]))
        asked = factors.Asked(suite, comparison.preset, metric, comparison.factor, levels, datasets, "", each)
        return factors.compared(rows, asked)[0]
    chosen = select(with_labelled_presets(rows), [suite], [comparison.preset], datasets)
    if each:
        return rank_on_datasets(chosen, suite, comparison.preset, metric, methods=methods, odds=False)
    return {"": rank(chosen, suite, comparison.preset, metric, methods=methods, odds=False)}
