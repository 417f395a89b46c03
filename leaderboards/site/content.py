"""What all pages of the site are made from, computed once."""

from functools import cached_property

import pandas as pd

from leaderboards.data.published import read_published
from leaderboards.data.results import Results
from leaderboards.metrics import HEADLINE
from leaderboards.site.cell_details import COLUMNS, Row
from leaderboards.site.standings import Standings, standings_of
from leaderboards.stats.summary import BOARD, per_split, summarise, with_labelled_presets
from leaderboards.stats.ties import standings
from leaderboards.tables.boards import Board, Sources, board
from leaderboards.wording.commands import MODIFIED, changes
from leaderboards.wording.ran import Failure, failures
from methods import Card, card

Key = tuple[str, str, str]  # suite, data set, preset

FAIR = "tuned"  # the preset that gives all methods the same budget
FIRST_LOOK = "quick"  # the preset whose budgets are too small for conclusions


def is_first_look(preset: str) -> bool:
    """Whether a preset's label is that of the first look, changed or not."""
    return preset.partition("@")[0].removesuffix(MODIFIED) == FIRST_LOOK


def place_of(preset: str) -> tuple[bool, str]:
    """Where a preset's label stands among others: in alphabetical order, first looks last."""
    return is_first_look(preset), preset


class Site:
    """Results and what follows from them.

    Attributes:
        results: as read.
        cells: presets labelled; see `summary.with_labelled_presets`.
        splits, summary, told: of `summary.per_split`, `summary.summarise`, `ties.standings`.
        sources: of published numbers, filled as boards are made.
    """

    def __init__(self, results: Results):
        self.results = results
        self.cells = with_labelled_presets(results.cells)
        self.splits = per_split(self.cells)
        self.summary = summarise(self.cells)
        self.told = standings(self.splits, self.cells)
        self.published = read_published()
        self.sources = Sources()
        self._cards: dict[str, Card] = {}
        self._standings: dict[Key, Standings] = {}

    @cached_property
    def cells_of(self) -> dict[Key, pd.DataFrame]:
        """The cells of each board."""
        return dict(tuple(self.cells.groupby(BOARD)))

    @cached_property
    def rows_of(self) -> dict[Key, dict[str, list[Row]]]:
        """The cells of each board as dictionaries, by method, in the order of their splits and seeds."""
        columns = list(dict.fromkeys((*COLUMNS, *HEADLINE)))
        ordered = self.cells.sort_values(["split", "seed"], kind="stable")[columns]
        found: dict[Key, dict[str, list[Row]]] = {}
        for row in ordered.to_dict("records"):
            board_of = found.setdefault((row["suite"], row["dataset"], row["preset"]), {})
            board_of.setdefault(row["method"], []).append(row)
        return found

    @cached_property
    def splits_of(self) -> dict[Key, pd.DataFrame]:
        """The rows of `splits` of each board; a board where nothing finished has none."""
        return dict(tuple(self.splits.groupby(BOARD)))

    @cached_property
    def told_of(self) -> dict[tuple[str, str, str], pd.DataFrame]:
        """The rows of `told` by suite, preset and metric."""
        return dict(tuple(self.told.groupby(["suite", "preset", "metric"])))

    @cached_property
    def summary_of(self) -> dict[Key, pd.DataFrame]:
        """The rows of `summary` of each board."""
        return dict(tuple(self.summary.groupby(BOARD)))

    @cached_property
    def boards(self) -> dict[Key, Board]:
        """All boards, in the order of suite, data set and `place_of` the preset."""
        told = dict(tuple(self.told.groupby(BOARD)))
        ordered = sorted(self.summary_of.items(), key=lambda one: (*one[0][:2], place_of(one[0][2])))
        return {
            key: board(rows, told.get(key, self.told.iloc[:0]), self.published_of(key), self.sources)
            for key, rows in ordered
        }

    def published_of(self, key: Key) -> pd.DataFrame:
        """Published numbers of a board's data set."""
        suite, dataset, _ = key
        return self.published[(self.published["suite"] == suite) & (self.published["dataset"] == dataset)]

    @cached_property
    def coverage(self) -> dict[tuple[str, str, str], pd.Series]:
        """By suite, preset and method, the mean share of test points inside 90 % intervals of each data set."""
        here = self.splits[self.splits["metric"] == "coverage_90"]
        means = here.groupby(["suite", "preset", "method", "dataset"])["value"].mean()
        return {key: part.droplevel([0, 1, 2]) for key, part in means.groupby(level=[0, 1, 2])}

    @cached_property
    def failures(self) -> list[Failure]:
        """See `ran.failures`."""
        return failures(self.cells)

    @property
    def suites(self) -> list[str]:
        return sorted(self.cells["suite"].unique())

    @property
    def datasets(self) -> list[str]:
        return sorted(self.cells["dataset"].unique())

    @property
    def methods(self) -> list[str]:
        return sorted(self.cells["method"].unique())

    def standings(self, suite: str, preset: str, metric: str) -> Standings:
        """How methods stand by one metric; computed when it is first asked for."""
        key = suite, preset, metric
        if key not in self._standings:
            told = self.told_of.get(key, self.told.iloc[:0])
            self._standings[key] = standings_of(self.cells, suite, preset, metric, told)
        return self._standings[key]

    def card(self, method: str) -> Card:
        """What is known about a method."""
        if method not in self._cards:
            self._cards[method] = card(method)
        return self._cards[method]

    @cached_property
    def originals(self) -> dict[tuple[str, str], str]:
        """By suite and preset, the protocol of those presets that were run as they are."""
        pairs = self.results.cells[["suite", "preset", "protocol"]].drop_duplicates().itertuples(index=False)
        return {(suite, preset): protocol for suite, preset, protocol in pairs}

    def original(self, suite: str, preset: str) -> str | None:
        """The protocol of the preset that `preset` (a label) was before it was changed, if it was run as it is too."""
        return self.originals.get((suite, preset.partition("@")[0].removesuffix(MODIFIED)))

    def changes(self, suite: str, preset: str) -> str:
        """What a changed preset (a label) differs in from the preset itself, if that was run too: "epochs 2000"."""
        original = self.original(suite, preset)
        if original is None or not preset.partition("@")[0].endswith(MODIFIED):
            return ""
        here = (self.cells["suite"] == suite) & (self.cells["preset"] == preset)
        found = changes(self.cells.loc[here, "protocol"].iloc[0], original)
        return ", ".join(f"{name} {value}" for name, value in found.items())

    def presets(self, suite: str) -> list[str]:
        """The presets that a suite was run with, in the order of `place_of`."""
        return sorted(self.cells.loc[self.cells["suite"] == suite, "preset"].unique(), key=place_of)
