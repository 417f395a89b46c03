"""Data sets of the suite `function-posterior`, each with a network whose posterior has reference draws.

`networks.toml` has the definitions, one a posterior.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lockstep_bench.datasets.records import Contents, Model, Reader, Source, Split
from lockstep_bench.datasets.references import drawn
from lockstep_bench.datasets.tabular import uci

SUITE = "function-posterior"
TABLE = Path(__file__).with_name("networks.toml")
N_TEST = 100  # test rows, at most


class Definition(NamedTuple):
    """A row of `networks.toml`, whose head says what its fields hold."""

    data: str
    rows: int
    hidden: tuple[int, ...]
    prior_precision: float
    noise_precision: float | None = None


@cache
def definitions() -> Mapping[str, Definition]:
    """Return the definitions of all posteriors by name."""
    tables = tomllib.loads(TABLE.read_text())
    return {name: Definition(**{**fields, "hidden": tuple(fields["hidden"])}) for name, fields in tables.items()}


def read_subset(read: Reader, n_train: int, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the first `n_train` training rows of a data set's first split, and its first test rows, as one split."""
    x, y, splits, *_ = read(contents)
    train, test = splits[0].train[:n_train], splits[0].test[:N_TEST]
    rows = np.concatenate([train, test])
    return x[rows], y[rows], (Split(np.arange(len(train)), len(train) + np.arange(len(test))),)


def _n_test(source: Source) -> int:
    """Return the number of test rows that `read_subset` takes; a tenth of a UCI set are test rows."""
    return min(N_TEST, round(0.1 * source.n_rows)) if source.needs_download else N_TEST


def _same_rows(name: str, definition: Definition) -> tuple[str, ...]:
    """Return the data set that a posterior's rows are from, or, if they are drawn, the first posterior with them."""
    if definition.data not in drawn.sources():
        return (definition.data,)
    first = next(other for other, each in definitions().items() if each.data == definition.data)
    return () if name == first else (first,)


def _source(name: str, definition: Definition, source: Source) -> Source:
    noise = "predicted noise" if definition.noise_precision is None else "constant noise"
    units = "-".join(map(str, definition.hidden))
    return replace(
        source,
        name=name,
        title=f"{source.title}, {definition.rows} rows: network of {units} units, {noise}",
        n_rows=definition.rows + _n_test(source),
        n_splits=1,
        n_ood=0,
        split_scheme="resampled",
        read=partial(read_subset, source.read, definition.rows),
        suites=(SUITE,),
        same_as=_same_rows(name, definition),
        noise_precisions=None,
        model=Model(definition.prior_precision, definition.noise_precision, hidden=definition.hidden),
        notes=(
            "Methods are compared with draws of the posterior by their functions, not by their weights.",
            f"The first {definition.rows} training rows and the first test rows of split 0 of {definition.data}.",
        ),
    )


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the data sets of the suite `function-posterior`."""
    known = {**{source.name: source for source in uci.sources()}, **drawn.sources()}
    return tuple(_source(name, each, known[each.data]) for name, each in definitions().items())
