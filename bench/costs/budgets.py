"""Budgets of seconds: how many trials and minibatches a method can afford on a data set.

A cell is run with few minibatches and with more. Its times are modelled as linear functions of the number of updates U:

    tuning:  T (a + b U)       T trials, each of which trains its folds for U updates
    fit:     a' + b' U

Under a protocol of T0 trials and M0 minibatches, the method gets s T0 trials and s M0 minibatches, where s is chosen so
that tuning and fit together take the budget. There are at most `MOST_TRIALS` trials and `LONGEST` M0 minibatches. A
method that cannot afford `FEWEST_TRIALS` trials is not tuned: it takes the middle of each range, and up to M0
minibatches.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lockstep_bench.bench.costs.line import Line
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.shared.protocol import Protocol

FEWEST_TRIALS, MOST_TRIALS = 5, 100
FEWEST_MINIBATCHES = 100
LONGEST = 10  # times the protocol's epochs
TRIALS = 10  # of a measured cell, which is the first round of TPE
MINIBATCHES = 250  # of a measured cell, if these are enough updates
TIMES_AS_LONG = 2  # more minibatches over few, at least: otherwise the slope of the line is mostly noise
HALVINGS = 60  # of the interval that has s
WIDEST = 1000.0  # s at most, where caps hold for all


class Rates(NamedTuple):
    """Measured speed of a method on a data set.

    Attributes:
        trial: duration of one trial with all its folds.
        fit: duration of the final fit.
        n_train: number of training rows of the final fit.
    """

    trial: Line
    fit: Line
    n_train: int


class Spending(NamedTuple):
    """The numbers of trials and minibatches that a method can afford under a budget; 0 trials if it is not tuned."""

    trials: int
    minibatches: int


FEWEST = Spending(0, FEWEST_MINIBATCHES)  # of a method that is too slow for any budget


def spending(budget: float, rates: Rates, protocol: Protocol, updates: Callable[[int], int]) -> Spending:
    """Return the numbers of trials and minibatches that a method can afford under a budget of seconds.

    Args:
        budget: seconds for the tuning and the final fit of one cell.
        rates: measured speed of the method on the data set.
        protocol: protocol with T0 trials. M0 is the number of minibatches in its epochs, or its `max_minibatches` if
            that is smaller.
        updates: function that maps the number of minibatches of a final fit to its number of updates.
    """
    whole = protocol.epochs * ceil(rates.n_train / protocol.batch_size)
    planned = min(whole, protocol.max_minibatches or whole)

    def scaled(s: float) -> Spending:
        return Spending(min(floor(s * protocol.trials), MOST_TRIALS), minibatches(min(s, LONGEST)))

    def untuned(s: float) -> Spending:
        return Spending(0, minibatches(min(s, 1.0)))

    def minibatches(s: float) -> int:
        return max(FEWEST_MINIBATCHES, floor(s * planned))

    def within_budget(at: Callable[[float], Spending]) -> Spending:
        low, high = 0.0, WIDEST
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            spent = at(middle)
            n_updates = updates(spent.minibatches)
            seconds = spent.trials * rates.trial.at(n_updates) + rates.fit.at(n_updates)
            low, high = (middle, high) if seconds <= budget else (low, middle)
        return at(low)

    spent = within_budget(scaled)
    return spent if spent.trials >= FEWEST_TRIALS else within_budget(untuned)


def budgeted(cell: Cell, budget: int, spent: Spending | None = None) -> Cell:
    """Return the cell with a budget of seconds in its protocol and in the name of its preset, as in "tuned-10s".

    Args:
        cell: cell under the protocol without a budget.
        budget: seconds for tuning and final fit.
        spent: numbers of trials and minibatches that the method can afford; None if they are not known yet.
    """
    protocol = cell.protocol.changed(budget_seconds=budget, epochs=LONGEST * cell.protocol.epochs)
    if spent:
        tuning = {"trials": spent.trials} if spent.trials else {"trials": 1, "sampler": "centre"}
        protocol = protocol.changed(max_minibatches=spent.minibatches, **tuning)
    return replace(cell, preset=f"{cell.preset}-{budget}s", protocol=protocol)


Key = tuple[str, str, str, str]


def key_of(cell: Cell) -> Key:
    """Return a key (suite, data set, method, protocol hash); cells with the same key share trials and minibatches."""
    return cell.suite, cell.dataset, cell.method, cell.protocol.hash


def spent_before(rows: pd.DataFrame) -> Mapping[Key, Protocol]:
    """Return the protocols of earlier results under budgets of seconds, by key (`key_of`).

    A resumed run takes from them the same numbers of trials and minibatches as before.

    Args:
        rows: rows of a results folder (`Results.rows`).
    """
    rows = rows[rows["protocol"].astype(str).str.contains('"budget_seconds"')]
    columns: Iterable[tuple[str, ...]] = (
        rows[["suite", "dataset", "method", "protocol_hash", "protocol"]]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    )
    return {
        (suite, dataset, method, digest): Protocol.from_json(text) for suite, dataset, method, digest, text in columns
    }


def measured(
    cell: Cell, data_dir: Path | None, device: str, *, on_progress: OnProgress = lambda progress: None
) -> Rates:
    """Measure the speed of a cell's method on its data set, in this process.

    Args:
        cell: cell under the protocol without a budget.
        data_dir: data folder; None for the default.
        device: torch's name of the device.
        on_progress: is never called.
    """
    from lockstep_bench.bench.costs.probe import Parts, seconds_of_parts
    from lockstep_bench.bench.engine.native_training import MIN_UPDATES

    trials = min(TRIALS, cell.protocol.trials)
    long_enough = replace(cell, protocol=cell.protocol.changed(epochs=LONGEST * cell.protocol.epochs))

    def parts(minibatches: int) -> Parts:
        return seconds_of_parts(long_enough, trials, minibatches, data_dir, device)

    few = MINIBATCHES
    n_train = parts(few).n_train  # imports, compiles
    updates = partial(updates_of, cell, n_train)
    while few < LONGEST * MINIBATCHES and updates(few) < MIN_UPDATES:
        few *= 2
    more = 4 * few
    short, long = parts(few), parts(more)
    while long.tuning < TIMES_AS_LONG * short.tuning and updates(4 * more) > updates(more):
        more *= 4
        long = parts(more)
    tuning = Line.through(updates(few), short.tuning, updates(more), long.tuning)
    fit = Line.through(updates(few), short.fit, updates(more), long.fit)
    return Rates(Line(tuning.start / trials, tuning.slope / trials), fit, n_train)


def updates_of(cell: Cell, n_train: int, minibatches: int) -> int:
    """Return the number of updates in the final fit of a cell, if training stops after `minibatches` minibatches.

    An update of some methods uses several minibatches.
    """
    from lockstep_bench import methods
    from lockstep_bench.bench.engine.minibatches import Schedule

    protocol = cell.protocol
    epochs = LONGEST * protocol.epochs
    return Schedule.of(methods.get(cell.method), n_train, protocol.batch_size, epochs, minibatches).plan.n_updates
