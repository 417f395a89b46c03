"""Results and statistics that several pages show, each computed once.

A board is the leaderboard of one suite, data set and preset.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import cast

import numpy as np
import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.data.audits import Audited, audited_sets
from lockstep_bench.leaderboards.data.frames import listed, records
from lockstep_bench.leaderboards.data.longer import LongerTraining, longer_trainings
from lockstep_bench.leaderboards.data.published import read_published
from lockstep_bench.leaderboards.data.replicated import set_apart
from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.data.times import seconds_as_run
from lockstep_bench.leaderboards.metrics import HEADLINE, HEADLINE_OF_MEDIANS, LEADS, NULLS, PARTS, metric
from lockstep_bench.leaderboards.replications.comparison import Replication, replications
from lockstep_bench.leaderboards.site.cell_details import COLUMNS, TRAINED, Row
from lockstep_bench.leaderboards.site.standings import Standings, standings_of
from lockstep_bench.leaderboards.site.summaries import summaries, summaries_again
from lockstep_bench.leaderboards.stats import Ranking
from lockstep_bench.leaderboards.stats.equal_seconds import BudgetSeries, series_of
from lockstep_bench.leaderboards.stats.factors import Design, designs
from lockstep_bench.leaderboards.stats.rank_correlation import FEWEST_METHODS
from lockstep_bench.leaderboards.stats.ranking import rank_runs_on_datasets
from lockstep_bench.leaderboards.stats.runs import Runs
from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.leaderboards.stats.summary import BOARD, Moments, per_split, with_labelled_presets
from lockstep_bench.leaderboards.tables.boards import Board, BoardRow, Sources, board
from lockstep_bench.leaderboards.tables.on_demand import OnDemand
from lockstep_bench.leaderboards.wording.commands import changes, is_changed, original_preset
from lockstep_bench.leaderboards.wording.run_facts import Failure, failures
from lockstep_bench.methods import Card, card
from lockstep_bench.shared.papers.entries import entries

Key = tuple[str, str, str]  # suite, data set, preset

EQUAL_BUDGET = "tuned"  # the preset that gives all methods the same tuning budget
KEYS = ["suite", "dataset", "method", "preset", "status"]  # as categories, which are faster to compare and to group
QUICK = "quick"  # the preset whose budgets are too small for conclusions


def is_quick(preset: str) -> bool:
    """Return whether a preset's label belongs to the preset `quick`, modified or not."""
    return original_preset(preset) == QUICK


class Parts(Mapping[Key, pd.DataFrame]):
    """Mapping from each board to its rows of a data frame. Rows are selected at each access, to save memory.

    Only the latest selection is cached, because a page needs it several times.

    Args:
        rows: the data frame, with the columns `BOARD` and any others.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        self._rows = rows
        indices = cast("dict[Key, np.ndarray]", rows.groupby(BOARD).indices if len(rows) else {})
        self._places = {(str(a), str(b), str(c)): places for (a, b, c), places in indices.items()}
        self._latest: tuple[Key, pd.DataFrame] | None = None

    def __getitem__(self, key: Key) -> pd.DataFrame:
        """Return the rows of a board, in their order."""
        if self._latest is None or self._latest[0] != key:
            self._latest = key, self._rows.iloc[self._places[key]]
        return self._latest[1]

    def __contains__(self, key: object) -> bool:
        """Return whether a board has rows."""
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        """Return the boards."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return the number of boards."""
        return len(self._places)


def _rows(cells: pd.DataFrame) -> list[Row]:
    """Return cells as dictionaries."""
    columns = list(map(str, cells))
    values = zip(*(listed(cells[name]) for name in columns), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


class Site:
    """The results that a site shows, and the statistics computed from them.

    Results of replications (runs that repeat a table or figure of a paper) are only in `replications` and
    `replicated`.

    Attributes:
        results: results as they were read, without those of replications.
        cells: result rows, one per cell, with labelled presets (`summary.with_labelled_presets`).
        summary: result of `summary.summarise`.
        kept_summaries: `summaries.Summaries.kept`.
        replications: comparison of every table and figure of `shared.papers` with its results.
        replicated: results of replications only.
        published: published numbers.
        sources: numbered sources of published numbers; boards add to the list when they are made.
    """

    def __init__(self, results: Leaderboard, known: pa.Table | None = None):
        self.published = read_published()
        self.replicated, self.results = set_apart(results, entries())
        self.replications: list[Replication] = replications(self.replicated.cells, self.published, entries())
        cells = with_labelled_presets(self.results.cells).astype(dict.fromkeys(KEYS, "category"))
        self.cells = cells.assign(**{name: cells[name].cat.remove_unused_categories() for name in KEYS})
        of_sets = None if known is None else self.row_digests["dataset"]
        made = summaries(self.cells) if of_sets is None else summaries_again(self.cells, of_sets, known)
        self.summary = made.table.astype({"metric": "category"})
        self.kept_summaries, self._splits_of = made.kept, Parts(made.splits)
        self.sources = Sources()
        self._cards: dict[str, Card] = {}
        self._standings: dict[Key, Standings] = {}
        self._rankings: dict[Key, dict[str, Ranking]] = {}
        self._runs: dict[tuple[str, str], Runs] = {}

    @cached_property
    def cells_of(self) -> Parts:
        """Result rows of each board, one per cell."""
        return Parts(self.cells)

    def rows_on_board(self, key: Key) -> dict[str, list[Row]]:
        """Return the result rows of a board as dictionaries, by method, ordered by split and seed.

        They are not cached, because dictionaries of 100,000 rows would take 500 MB.
        """
        by_method: dict[str, list[Row]] = {}
        for row in _rows(self._detailed_of[key]):
            by_method.setdefault(row["method"], []).append(row)
        return by_method

    def rows_of_method(self, method: str) -> dict[Key, list[Row]]:
        """Return the result rows of a method as dictionaries (keys `TRAINED`) by board, ordered by split and seed."""
        by_board: dict[Key, list[Row]] = {}
        for row in _rows(self._detailed.iloc[self._places_of_methods[method]][list(TRAINED)]):
            by_board.setdefault((row["suite"], row["dataset"], row["preset"]), []).append(row)
        return by_board

    @cached_property
    def _detailed(self) -> pd.DataFrame:
        """Cells with the columns of `Row`, in the order of their splits and seeds."""
        shown = (part for name in HEADLINE_OF_MEDIANS for part in PARTS.get(name, (name,)))
        columns = dict.fromkeys((*COLUMNS, *shown, *(mean for mean, _ in NULLS.values())))
        present = [name for name in columns if name in self.cells]  # those of recalibration are not in all results
        return self.cells[present].sort_values(["split", "seed"], kind="stable")

    @cached_property
    def row_digests(self) -> dict[str, dict[str, bytes]]:
        """Digests of the rows of each data set and of each method: names of columns, and 8 bytes for each row."""
        # Half of the columns have no value, because most metrics do not apply to a given task.
        present = [
            name
            for name, column in self.cells.items()
            if column.dtype != float or not np.isnan(column.to_numpy()).all()
        ]
        digests = pd.util.hash_pandas_object(self.cells[present], index=False).to_numpy()
        names = repr(present).encode()
        places = {column: self.cells.groupby(column).indices for column in ("dataset", "method")}
        return {
            column: {str(name): names + digests[rows].tobytes() for name, rows in by_name.items()}
            for column, by_name in places.items()
        }

    @cached_property
    def _detailed_of(self) -> Parts:
        return Parts(self._detailed)

    @cached_property
    def _places_of_methods(self) -> dict[str, np.ndarray]:
        indices = self._detailed.groupby("method").indices
        return {str(method): np.asarray(places) for method, places in indices.items()}

    @cached_property
    def seconds_as_run(self) -> pd.DataFrame:
        """Seconds of tuning and final fit of each row of `cells`, as measured beside other work (`times`)."""
        return seconds_as_run(self.results.cells, self.results.rows)

    @cached_property
    def folders(self) -> pd.DataFrame:
        """Results folders of each suite and data set: columns folder, suite, dataset."""
        return self.cells[["folder", "suite", "dataset"]].drop_duplicates()

    @cached_property
    def longer_of(self) -> dict[tuple[str, ...], list[LongerTraining]]:
        """Results of longer training, by suite, data set, method, preset (without a hash) and protocol hash."""
        by_protocol: dict[tuple[str, ...], list[LongerTraining]] = {}
        for training in longer_trainings(self.results.longer):
            by_protocol.setdefault(training[:5], []).append(training)
        return by_protocol

    def splits_on(self, key: Key) -> pd.DataFrame:
        """Return the values of a board by split (`summary.per_split`); no rows if no cell has finished."""
        return self._splits_of[key] if key in self._splits_of else per_split(self.cells_of[key])

    def runs(self, suite: str, preset: str) -> Runs:
        """Return the runs of one suite and preset, made at the first call."""
        if (suite, preset) not in self._runs:
            self._runs[suite, preset] = Runs.of(self.cells, suite, preset)
        return self._runs[suite, preset]

    def rankings(self, suite: str, preset: str, name: str) -> dict[str, Ranking]:
        """Return the ranking of all methods by one metric, for each data set; computed at the first call.

        How many further results would decide a difference to the reference is computed only for leading metrics.
        """
        key = suite, preset, name
        if key not in self._rankings:
            self._rankings[key] = self._ranked(self.runs(suite, preset), name)
        return self._rankings[key]

    def _rankings_on(self, key: Key, names: Iterable[str]) -> Mapping[str, Ranking | None]:
        """Return the rankings on one board by each of the given metrics that has a direction, computed when read.

        A ranking is None if no method that is ranked has the metric. By metrics of main tables, all data sets are
        ranked at once, because the pages of suites show them. By others, this data set is ranked alone, because no
        other page shows them.
        """
        suite, dataset, preset = key
        alone: list[Runs] = []  # those of this data set, chosen when they are first needed

        def ranking(name: str) -> Ranking | None:
            if name in HEADLINE:
                return self.rankings(suite, preset, name).get(dataset)
            if not alone:
                alone.append(self.runs(suite, preset).chosen(datasets=[dataset]))
            return self._ranked(alone[0], name).get(dataset)

        return OnDemand([name for name in names if metric(name).goal is not None], ranking)

    def _ranked(self, runs: Runs, name: str) -> dict[str, Ranking]:
        return rank_runs_on_datasets(runs, name, families=False, power=name in LEADS, odds=False)

    @cached_property
    def summary_of(self) -> Parts:
        """Rows of `summary` by board."""
        return Parts(self.summary)

    @cached_property
    def boards(self) -> dict[Key, Board]:
        """All boards, ordered by suite (`suites`), data set and preset (`presets`)."""
        boards, places = {}, {suite: place for place, suite in enumerate(self.suites)}
        for key in sorted(self.summary_of, key=lambda key: (places[key[0]], key[1], self.preset_order(key[0], key[2]))):
            rows = self.summary_of[key]
            rankings = self._rankings_on(key, rows["metric"].unique())
            boards[key] = board(rows, rankings, self.published_of(key), self.sources)
        return boards

    @cached_property
    def measured_of(self) -> dict[tuple[str, str, str], list[tuple[str, BoardRow]]]:
        """Pairs (data set, measured row of its board), by suite, preset and method."""
        measured: dict[tuple[str, str, str], list[tuple[str, BoardRow]]] = {}
        for (suite, dataset, preset), made in self.boards.items():
            for row in made.rows:
                if not row.published:
                    measured.setdefault((suite, preset, row.method), []).append((dataset, row))
        return measured

    def published_of(self, key: Key) -> pd.DataFrame:
        """Return the published numbers of a board's data set."""
        return self.published.iloc[self._places_of_published.get(key[:2], [])]

    @cached_property
    def _places_of_published(self) -> Mapping[tuple[str, str], np.ndarray]:
        return cast("Mapping[tuple[str, str], np.ndarray]", self.published.groupby(["suite", "dataset"]).indices)

    @cached_property
    def designs(self) -> list[Design]:
        """Factorial designs: protocols that differ only in the network and the noise model (`factors.designs`)."""
        return designs(self.cells)

    @cached_property
    def compared_with_truth(self) -> list[tuple[str, str]]:
        """Pairs (suite, preset) in which methods have both a distance from the true posterior and a score."""
        both = self.cells["nmll"].notna() & self.cells["total_variation"].notna()
        methods = self.cells[both].groupby(["suite", "preset", "dataset"], observed=True)["method"].nunique()
        enough = methods[methods >= FEWEST_METHODS].index
        return sorted({(str(suite), str(preset)) for suite, preset, _ in enough})

    @cached_property
    def coverage(self) -> dict[tuple[str, str, str], pd.Series]:
        """Mean coverage of 90 % intervals per data set, by suite, preset and method."""
        known = self.summary[(self.summary["metric"] == "coverage_90") & (self.summary["n"] > 0)]
        of_method: dict[tuple[str, str, str], dict[str, float]] = {}
        for row in records(known, Moments):
            of_method.setdefault((row.suite, row.preset, row.method), {})[row.dataset] = row.mean
        return {key: pd.Series(means, name="mean") for key, means in of_method.items()}

    @cached_property
    def failures(self) -> list[Failure]:
        """Cells that failed or diverged (`run_facts.failures`)."""
        return failures(self.cells)

    @cached_property
    def budgeted(self) -> list[BudgetSeries]:
        """Series of presets that differ only in their time budget."""
        return series_of(self.cells)

    @cached_property
    def exchangeable(self) -> tuple[str, str] | None:
        """The first suite and preset with several methods whose data sets have exchangeable splits; None for none."""
        for suite in self.suites:
            preset = self.presets(suite)[0]
            datasets, _, methods = self.runs(suite, preset).names
            if not any(splits_of(str(name)).along_features for name in datasets) and len(methods) > 1:
                return suite, preset
        return None

    @cached_property
    def audited(self) -> Mapping[str, Audited]:
        """All audited data sets, by name; empty if the site has results on none of them."""
        audited = audited_sets()
        return audited if any(name in audited for name in self.datasets) else {}

    @cached_property
    def suites(self) -> list[str]:
        """Names of suites, the one with most results first."""
        counts = self.cells["suite"].value_counts()
        return sorted(map(str, counts.index), key=lambda name: (-int(counts[name]), name))

    @cached_property
    def datasets(self) -> list[str]:
        """Names of data sets, in alphabetical order."""
        return sorted(self.cells["dataset"].unique())

    @cached_property
    def methods(self) -> list[str]:
        """Names of methods, in alphabetical order."""
        return sorted(self.cells["method"].unique())

    @cached_property
    def families(self) -> dict[str, list[str]]:
        """Methods of each family of variants, in alphabetical order."""
        families: dict[str, list[str]] = {}
        for method in self.methods:
            if family := self.card(method).family:
                families.setdefault(family, []).append(method)
        return families

    def standings(self, suite: str, preset: str, name: str) -> Standings:
        """Return the standings of all methods by one metric, computed at the first call."""
        key = suite, preset, name
        if key not in self._standings:
            self._standings[key] = standings_of(self.runs(suite, preset), name, self.rankings(*key))
        return self._standings[key]

    @cached_property
    def unchecked(self) -> dict[str, str]:
        """Third-party methods with results whose code has not passed `methods check` -> reason in words."""
        outcomes = self.cells[["method", "checked"]].drop_duplicates()
        words = {"not checked": "not checked", "failed": "failed its check"}  # the last that applies is given
        return {
            str(method): said
            for outcome, said in words.items()
            for method in outcomes.loc[outcomes["checked"] == outcome, "method"]
        }

    def card(self, method: str) -> Card:
        """Return the catalogue entry of a method."""
        if method not in self._cards:
            self._cards[method] = card(method)
        return self._cards[method]

    @cached_property
    def originals(self) -> dict[tuple[str, str], str]:
        """Protocols (JSON) of presets that were run unmodified, by suite and preset."""
        pairs = self.results.cells[["suite", "preset", "protocol"]].drop_duplicates().itertuples(index=False)
        return {(suite, preset): protocol for suite, preset, protocol in pairs}

    def original(self, suite: str, preset: str) -> str | None:
        """Return the protocol (JSON) of the original preset of a label; None if that preset was not run."""
        return self.originals.get((suite, original_preset(preset)))

    def protocol(self, suite: str, preset: str) -> str:
        """Return the protocol (JSON) of the preset with this label."""
        chosen = (self.cells["suite"] == suite) & (self.cells["preset"] == preset)
        return str(self.cells.loc[chosen, "protocol"].iloc[0])

    def changes(self, suite: str, preset: str) -> str:
        """Return how a modified preset differs from its original, as in "epochs 2000"; "" for an original.

        If the original was not run, return the fields in which the presets that modify it differ from each other.
        """
        if not is_changed(preset):
            return ""
        protocol, original = self.protocol(suite, preset), self.original(suite, preset)
        if original is not None:
            changed = changes(protocol, original)
        else:
            siblings = [label for label in self.presets(suite) if original_preset(label) == original_preset(preset)]
            differing = {name for label in siblings for name in changes(self.protocol(suite, label), protocol)}
            changed = {name: value for name, value in changes(protocol, "").items() if name in differing}
        return ", ".join(f"{name} {value}" for name, value in changed.items())

    def presets(self, suite: str) -> list[str]:
        """Return the presets that a suite was run with, in the order of `preset_order`."""
        return sorted(self._n_results[suite], key=lambda preset: self.preset_order(suite, preset))

    def preset_order(self, suite: str, preset: str) -> tuple[bool, int, str]:
        """Return a sort key for the presets of a suite: those with most results first, but `quick` last."""
        return is_quick(preset), -self._n_results[suite][preset], preset

    @cached_property
    def _n_results(self) -> dict[str, dict[str, int]]:
        """Number of result rows, by suite and preset."""
        counts: dict[str, dict[str, int]] = {}
        for (suite, preset), n in Counter(zip(self.cells["suite"], self.cells["preset"], strict=True)).items():
            counts.setdefault(str(suite), {})[str(preset)] = n
        return counts
