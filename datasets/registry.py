"""Registry of data sets: built-in ones, users' own tables, and those of installed packages.

Packages are imported when one of their data sets is first used. A package adds a data set by an entry point of the
group `lockstep_bench.datasets` whose target is a `datasets.Source`:

    [project.entry-points."lockstep_bench.datasets"]
    my-set = "my_package.my_set:SOURCE"

A user's own table is registered by `add`, for this process and its child processes.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from lockstep_bench.datasets import images
from lockstep_bench.datasets.errors import BrokenDataset, UnknownDataset, in_words
from lockstep_bench.datasets.images.weights import WEIGHTS, Weights
from lockstep_bench.datasets.openml import tasks as openml
from lockstep_bench.datasets.own.table import Table
from lockstep_bench.datasets.packaged import keel, r_datasets
from lockstep_bench.datasets.records import Source
from lockstep_bench.datasets.references import networks
from lockstep_bench.datasets.synthetic import bandits, factor_models, pools, posteriors, sgd_streams, toy
from lockstep_bench.datasets.tabular import (
    diabetes,
    learning_curves,
    sklearn_classification,
    uci,
    uci_classification,
    uci_features,
    uci_gp,
)

GROUP = "lockstep_bench.datasets"
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")  # folders are called by it
VARIABLE = "BENCH_OWN_TABLES"  # a JSON list of `Table.to_json`; processes inherit it
Published = Source | Weights  # descriptions of files that can be downloaded


@cache
def _built_in() -> dict[str, Source]:
    regression = (*uci.sources(), diabetes.SOURCE)
    classification = (*uci_classification.sources(), *sklearn_classification.SOURCES)
    streams = (*factor_models.SOURCES, *sgd_streams.SOURCES)
    reference = (*posteriors.sources(), toy.SOURCE, *networks.sources())
    along_features = uci_features.sources()
    gaussian_processes = uci_gp.sources()
    packaged = (*keel.sources(), *r_datasets.sources())
    further = (*packaged, *openml.sources(), *learning_curves.sources())
    tables = (*regression, *classification, *along_features, *gaussian_processes, *further)
    decisions = (*bandits.sources(), *pools.sources())
    everything = (*tables, *streams, *reference, *decisions, *images.sources())
    return {source.name: source for source in everything}


@cache
def _foreign() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points by name; several where packages claim one name."""
    # A package that is on the path twice (an editable install, say) still makes one claim.
    claims = sorted({(point.name, point.value) for point in entry_points(group=GROUP)})
    points: dict[str, tuple[EntryPoint, ...]] = {}
    for name, value in claims:
        points[name] = (*points.get(name, ()), EntryPoint(name, value, GROUP))
    return points


@cache
def _parsed(text: str) -> dict[str, Source]:
    tables = [Table.from_json(each) for each in json.loads(text)]
    return {table.name: table.source(table.options) for table in tables}


def _own() -> dict[str, Source]:
    """Return the own tables of this process by name."""
    return _parsed(os.environ.get(VARIABLE, "[]"))


def add(table: Table) -> None:
    """Register a user's own table, in this process and its child processes."""
    given = json.loads(os.environ.get(VARIABLE, "[]"))
    os.environ[VARIABLE] = json.dumps([*given, table.to_json()])


@contextmanager
def added(tables: Iterable[Table]) -> Iterator[None]:
    """Register users' own tables until the end of the `with` block; tables whose names are taken are skipped."""
    before = os.environ.get(VARIABLE)
    try:
        for table in tables:
            if table.name not in names():
                add(table)
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def provider(name: str) -> str:
    """Return the origin of a data set or pretrained weights: "built in", "own table", or the module of a package."""
    if name in _built_in() or name in WEIGHTS:
        return "built in"
    return "own table" if name in _own() else " and ".join(point.module for point in _foreign()[name])


def names() -> tuple[str, ...]:
    """Return the names of all data sets: built-in ones, then users' tables, then those of packages by alphabet."""
    return tuple(_built_in() | _own() | _foreign())


def entry(name: str) -> Source:
    """Return the description of a data set, without loading the data.

    Args:
        name: registered name of the data set.

    Raises:
        UnknownDataset: no data set is registered under this name.
        BrokenDataset: the data set's entry point cannot be used.
    """
    if known := _built_in().get(name) or _own().get(name):
        return openml.described(known)
    if name not in _foreign():
        raise UnknownDataset(name, names())
    return _resolved(name, _foreign()[name])


def published(name: str) -> Published:
    """Return the description of a data set or of trained weights, without loading them.

    Args:
        name: registered name of a data set, or key of `datasets.images.weights.WEIGHTS`.

    Raises:
        UnknownDataset: nothing is registered under this name.
        BrokenDataset: the data set's entry point cannot be used.
    """
    return WEIGHTS[name] if name in WEIGHTS else entry(name)


def problems() -> tuple[BrokenDataset, ...]:
    """Import all data sets of installed packages and return the errors that occur."""
    errors = []
    for name, points in _foreign().items():
        try:
            _resolved(name, points)
        except BrokenDataset as error:
            errors.append(error)
    return tuple(errors)


def _resolved(name: str, points: tuple[EntryPoint, ...]) -> Source:
    targets = " and ".join(point.value for point in points)
    if not NAME.fullmatch(name):
        reason = f"{targets} claims the name {name!r}; names have letters, digits and ._+- only, and 100 at most"
        raise BrokenDataset(name, reason, "rename that entry point")
    if name in _built_in():
        raise BrokenDataset(name, f"{targets} claims the name of a built-in set", "rename that entry point")
    if len(points) > 1:
        raise BrokenDataset(name, f"{targets} claim the same name", "rename or uninstall one of them")
    remedy = "repair or uninstall the package that registers it"
    try:
        source = points[0].load()
    except (Exception, SystemExit) as error:
        # Whatever another package's module does on import, the other sets must stay usable.
        raise BrokenDataset(name, f"{targets} cannot be imported: {in_words(error)}", remedy) from error
    if not isinstance(source, Source):
        raise BrokenDataset(name, f"{targets} is a {type(source).__name__}, not a datasets.Source", remedy)
    if source.name != name:
        raise BrokenDataset(name, f"{targets} calls itself {source.name!r}; the two names must be equal", remedy)
    return source
