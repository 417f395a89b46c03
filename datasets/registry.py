"""Which data sets there are: ours, and those of installed packages, imported only when asked for.

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
from datasets.tabular import diabetes, sklearn_classification, uci, uci_classification

GROUP = "lockstep_bench.datasets"


@cache
def _built_in() -> dict[str, Source]:
    regression = (*uci.sources(), diabetes.SOURCE)
    classification = (*uci_classification.sources(), *sklearn_classification.SOURCES)
    streams = (*factor_models.SOURCES, *sgd_streams.SOURCES)
    truths = (*posteriors.sources(), toy.SOURCE)
    everything = (*regression, *classification, *streams, *truths, *images.sources())
    return {source.name: source for source in everything}


@cache
def _foreign() -> dict[str, tuple[EntryPoint, ...]]:
    """Entry points by name; more than one where packages claim the same name."""
    # A package that is found twice on the path (an editable install, say) is still one claim.
    found = sorted({(point.name, point.value) for point in entry_points(group=GROUP)})
    points = [EntryPoint(name, value, GROUP) for name, value in found]
    return {name: tuple(point for point in points if point.name == name) for name in dict.fromkeys(n for n, _ in found)}


def names() -> tuple[str, ...]:
    """All registered names: the project's own first, then those of entry points, alphabetically."""
    return tuple(_built_in() | _foreign())


def entry(name: str) -> Source:
    """What is known about `name`, without loading it.

    Raises `UnknownDataset` for a name nobody registered and `BrokenDataset` when an entry point cannot be used.
    """
    if name in _built_in():
        return _built_in()[name]
    if name not in _foreign():
        raise UnknownDataset(name, names())
    return _resolved(name, _foreign()[name])


def published(name: str) -> Source | Weights:
    """What is known about the files called `name`: those of a data set, or trained weights."""
    return WEIGHTS[name] if name in WEIGHTS else entry(name)


def problems() -> tuple[BrokenDataset, ...]:
    """What is wrong with the entry points of installed packages; imports every one of them."""
    found = []
    for name, points in _foreign().items():
        try:
            _resolved(name, points)
        except BrokenDataset as problem:
            found.append(problem)
    return tuple(found)


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
        # Whatever a stranger's module does on import, the other sets must stay usable.
        raise BrokenDataset(name, f"{targets} cannot be imported: {type(error).__name__}: {error}", remedy) from error
    if not isinstance(source, Source):
        raise BrokenDataset(name, f"{targets} is a {type(source).__name__}, not a datasets.Source", remedy)
    if source.name != name:
        raise BrokenDataset(name, f"{targets} calls itself {source.name!r}; the two names must be equal", remedy)
    return source
