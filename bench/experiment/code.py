"""Hashes of the code on which the numbers of a cell (one method on one split) depend."""

from functools import cache, partial
from importlib.metadata import EntryPoint

from lockstep_bench import datasets
from lockstep_bench.bench.environment.code_identity import ONE_NAME, code_identity
from lockstep_bench.bench.experiment.estimators import ESTIMATORS
from lockstep_bench.bench.experiment.kinds import Streams
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.methods.catalogue.registry import ENSEMBLE, target
from lockstep_bench.methods.catalogue.rows import rows
from lockstep_bench.shared.method_names import registered

ENVIRONMENT = "lockstep_bench.bench.environment.process"  # how many threads a worker has


@cache
def identity_of(suite: str, dataset: str, method: str) -> str | None:
    """Return two hashes, "SHARED-METHOD", of the code on which a cell's numbers depend; None if it cannot be read.

    SHARED is the same for all methods on a data set of a suite. METHOD belongs to the method. Results of two methods
    come from the same code if their SHARED hashes are equal, results of one method if both hashes are equal.

    SHARED covers the evaluation of the suite, the readers of the data set and of its OOD data sets, and all modules
    that these import: engine, tuner, metrics, networks. It also covers the suite's network and the declared task of the
    data set. METHOD covers the method's class, its module and all modules that this imports, and the version of the
    package if it is a third-party method. `bench.environment.code_identity` defines which imports are followed, and
    which parts of a module change the hash.
    """
    try:
        source = datasets.entry(dataset)
        others = [*source.validation_ood, *(name for group in source.ood_groups.values() for name in group)]
        others += [partner] if (partner := datasets.partner(dataset)) else []
        modules = [_reader(datasets.entry(name)) for name in (dataset, *others)]
        modules += [type(source).__module__, SUITES[suite].kind.runner.partition(":")[0], ENVIRONMENT]
        declared = (source.task, source.n_classes, source.noise_precisions, source.model, source.image, source.mirrored)
        shared = code_identity(tuple(sorted(set(modules))), repr((SUITES[suite].hidden, declared, others)))
        return f"{shared}-{code_identity(*_of_method(suite, method))}"
    except (LookupError, ImportError, OSError, SyntaxError, datasets.BrokenDataset):
        return None


def _of_method(suite: str, method: str) -> tuple[tuple[str, ...], str]:
    """Return the modules of a method, and its class with the version of its package."""
    if isinstance(SUITES[suite].kind, Streams):
        estimator = ESTIMATORS[method].target
        return (estimator.partition(":")[0],), estimator.removeprefix(ONE_NAME)
    pooled = ("lockstep_bench.methods.ensemble",) if method.startswith(ENSEMBLE) else ()
    name = registered(method.removeprefix(ENSEMBLE))
    modules, facts = code_of(target(name))
    return (*modules, *pooled), f"{facts} {rows()[name].settings}" if name in rows() else facts


def code_of(entry: EntryPoint) -> tuple[tuple[str, ...], str]:
    """Return the modules of a method's entry point, and a string with its class and the version of its package."""
    return (entry.module,), f"{entry.value.removeprefix(ONE_NAME)} {entry.dist.version if entry.dist else ''}"


def _reader(source: datasets.Source) -> str:
    """Return the module of the function that reads a data set."""
    read = source.read
    while isinstance(read, partial):
        read = read.func
    return read.__module__
