"""Registry of data sets: built-in sets, and sets of installed packages, which are imported when first used.

A package adds a set by an entry point of the group `lockstep_bench.datasets` whose target is a `datasets.Source`:

    [project.entry-points."lockstep_bench.datasets"]
    my-set = "my_package.my_set:SOURCE"
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from datasets import images
from datasets.errors import BrokenDataset, UnknownDataset
from datasets.images.weights import WEIGHTS, Weights
from datasets.records import Source
from datasets.synthetic import factor_models, posteriors, sgd_streams, toy
from datasets.tabular import diabetes, sklearn_classification, uci, uci_classification, uci_features

GROUP = "lockstep_bench.datasets"
Published = Source | Weights  # descriptions of files that can be downloaded


@cache
def _built_in() -> dict[str, Source]:
    regression = (*uci.sources(), diabetes.SOURCE)
    classification = (*uci_classification.sources(), *sklearn_classification.SOURCES)
    streams = (*factor_models.SOURCES, *sgd_streams.SOURCES)
    reference = (*posteriors.sources(), toy.SOURCE)
    along_features = uci_features.sources()
    everything = (*regression, *classification, *along_features, *streams, *reference, *images.sources())
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


def names() -> tuple[str, ...]:
    """Return all registered names: built-in sets first, then those of entry points, alphabetically."""
    return tuple(_built_in() | _foreign())


def entry(name: str) -> Source:
    """Return the description of a data set, without loading the set.

    Args:
        name: registered name.

    Raises:
        UnknownDataset: no set is registered under this name.
        BrokenDataset: the entry point of the set cannot be used.
    """
    if name in _built_in():
        return _built_in()[name]
    if name not in _foreign():
        raise UnknownDataset(name, names())
    return _resolved(name, _foreign()[name])


def published(name: str) -> Published:
    """Return the description of a data set or of trained weights, without loading them.

    Args:
        name: registered name of a data set, or key of `datasets.images.weights.WEIGHTS`.

    Raises:
        UnknownDataset: nothing is registered under this name.
        BrokenDataset: the entry point of the set cannot be used.
    """
    return WEIGHTS[name] if name in WEIGHTS else entry(name)


def problems() -> tuple[BrokenDataset, ...]:
    """Import every entry point of installed packages and return the errors."""
    errors = []
    for name, points in _foreign().items():
        try:
            _resolved(name, points)
        except BrokenDataset as error:
            errors.append(error)
    return tuple(errors)


def _resolved(name: str, points: tuple[EntryPoint, ...]) -> Source:
    targets = " and ".join(point.value for point in points)
    if name in _built_in():
        raise BrokenDataset(name, f"{targets} claims the name of a built-in set", "rename that entry point")
    if len(points) > 1:
        raise BrokenDataset(name, f"{targets} claim the same name", "rename or uninstall one of them")
    remedy = "repair or uninstall the package that registers it"
    try:
        source = points[0].load()
    except (Exception, SystemExit) as error:
        # Whatever another package's module does on import, the other sets must stay usable.
        raise BrokenDataset(name, f"{targets} cannot be imported: {type(error).__name__}: {error}", remedy) from error
    if not isinstance(source, Source):
        raise BrokenDataset(name, f"{targets} is a {type(source).__name__}, not a datasets.Source", remedy)
    if source.name != name:
        raise BrokenDataset(name, f"{targets} calls itself {source.name!r}; the two names must be equal", remedy)
    return source
