"""What all pages of the site are made from, computed once."""

from functools import cached_property

import pandas as pd

from leaderboards.boards import Board, Sources, board
from leaderboards.published import read_published
from leaderboards.results import Results
from leaderboards.summary import BOARD, per_split, summarise, with_labelled_presets
from leaderboards.ties import standings
from methods import Card, card

Key = tuple[str, str, str]  # suite, data set, preset


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

    @cached_property
    def cells_of(self) -> dict[Key, pd.DataFrame]:
        """The cells of each board."""
        return dict(tuple(self.cells.groupby(BOARD)))

    @cached_property
    def splits_of(self) -> dict[Key, pd.DataFrame]:
        """The rows of `splits` of each board; a board where nothing finished has none."""
        return dict(tuple(self.splits.groupby(BOARD)))

    @cached_property
    def summary_of(self) -> dict[Key, pd.DataFrame]:
        """The rows of `summary` of each board."""
        return dict(tuple(self.summary.groupby(BOARD)))

    @cached_property
    def boards(self) -> dict[Key, Board]:
        """All boards, in the order of suite, data set and preset."""
        told = dict(tuple(self.told.groupby(BOARD)))
        return {
            key: board(rows, told.get(key, self.told.iloc[:0]), self.published_of(key), self.sources)
            for key, rows in self.summary_of.items()
        }

    def published_of(self, key: Key) -> pd.DataFrame:
        """Published numbers of a board's data set."""
        suite, dataset, _ = key
        return self.published[(self.published["suite"] == suite) & (self.published["dataset"] == dataset)]

    @property
    def suites(self) -> list[str]:
        return sorted(self.cells["suite"].unique())

    @property
    def datasets(self) -> list[str]:
        return sorted(self.cells["dataset"].unique())

    @property
    def methods(self) -> list[str]:
        return sorted(self.cells["method"].unique())

    def card(self, method: str) -> Card:
        """What is known about a method."""
        if method not in self._cards:
            self._cards[method] = card(method)
        return self._cards[method]

    def presets(self, suite: str) -> list[str]:
        """The presets that a suite was run with."""
        return sorted(self.cells.loc[self.cells["suite"] == suite, "preset"].unique())
