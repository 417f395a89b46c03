"""Which methods there are, ours and those of installed packages, found without importing any of them.

A package adds a method by an entry point of the group `lockstep_bench.methods`:

    [project.entry-points."lockstep_bench.methods"]
    my-method = "my_package.my_method:MyMethod"

For every method NAME of one member there is also `ensemble:NAME`, five of them pooled, which no list mentions.
"""

import ast
import difflib
import importlib
import importlib.util
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

GROUP = "lockstep_bench.methods"
ENSEMBLE = "ensemble:"

BUILT_IN = {
    "vifa": "methods.vifa:VIFA",
    "vifa-lr": "methods.vifa:LinearVIFA",
    "vifa-k1": "methods.vifa:VIFAOfOneFactor",
    "vifa-k2": "methods.vifa:VIFAOfTwoFactors",
    "vifa-k3": "methods.vifa:VIFAOfThreeFactors",
    "vifa-k5": "methods.vifa:VIFAOfFiveFactors",
    "online-em-fa": "methods.online_fa:OnlineEM",
    "online-sga-fa": "methods.online_fa:OnlineSGA",
    "swag": "methods.swag:SWAG",
    "swag-diag": "methods.swag:DiagonalSWAG",
    "swa": "methods.swag:SWA",
    "slang": "methods.slang:SLANG",
    "slang-released": "methods.slang:ReleasedSLANG",
    "variational-laplace": "methods.variational_laplace:VariationalLaplace",
    "variational-laplace-tempered": "methods.variational_laplace:TemperedVariationalLaplace",
    "inducing-ffg": "methods.inducing:InducingFFG",
    "inducing-fcg": "methods.inducing:InducingFCG",
    "inducing-ensemble": "methods.inducing:InducingEnsemble",
    "directuq-mean": "methods.directuq:DirectUQMean",
    "directuq-mv": "methods.directuq:DirectUQMeanVariance",
    "directuq-eb": "methods.directuq:DirectUQEmpiricalBayes",
    "directuq-l2": "methods.directuq:DirectUQL2",
    "directuq-naive": "methods.directuq:DirectUQNaive",
    "directuq-mean-all": "methods.directuq:DirectUQMeanAll",
    "directuq-mv-all": "methods.directuq:DirectUQMeanVarianceAll",
    "directuq-eb-all": "methods.directuq:DirectUQEmpiricalBayesAll",
    "directuq-ensemble": "methods.directuq:DirectUQEnsemble",
    "mfvi": "methods.mfvi:MeanFieldVI",
    "mfvi-local": "methods.mfvi:LocalMeanFieldVI",
    "mfvi-mean": "methods.mfvi:MeanFieldVIMean",
    "mfvi-mv": "methods.mfvi:MeanFieldVIMeanVariance",
    "mfvi-eb": "methods.mfvi:MeanFieldVIEmpiricalBayes",
    "mc-dropout": "methods.mc_dropout:MCDropout",
    "laplace": "methods.laplace:LastLayerLaplace",
    "laplace-full": "methods.laplace:FullLaplace",
    "hmc": "methods.hmc:HMC",
    "map": "methods.map:MAP",
    "deep-ensemble": "methods.deep_ensemble:DeepEnsemble",
}

# One method for each idea, for a first look.
HEADLINE = (
    "vifa",
    "online-em-fa",
    "swag",
    "slang",
    "variational-laplace",
    "inducing-ffg",
    "directuq-mean",
    "mfvi",
    "mc-dropout",
    "laplace",
    "map",
    "deep-ensemble",
)


class UnknownMethod(LookupError):
    """A name that is in no registry; the message suggests the nearest one."""

    def __str__(self) -> str:
        (name,) = self.args
        candidates = (*names(), *(f"{ENSEMBLE}{one}" for one in names()))
        near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        return f"method {name!r} is unknown{hint} `python -m methods list` shows all {len(names())}"


class BrokenMethod(ImportError):
    """A registered method that cannot be imported, whose name is taken, or that has no ensemble."""


@cache
def _targets() -> dict[str, EntryPoint]:
    built_in = {name: EntryPoint(name, target, GROUP) for name, target in BUILT_IN.items()}
    foreign = {entry.name: entry for entry in sorted(entry_points(group=GROUP)) if entry.name not in built_in}
    return built_in | foreign


def names() -> tuple[str, ...]:
    """All registered names: the project's own first, then those of entry points, alphabetically."""
    return tuple(_targets())


def target(name: str) -> EntryPoint:
    """Where the method called `name` is; raises `UnknownMethod` for a name nobody registered."""
    if name not in _targets():
        raise UnknownMethod(name)
    return _targets()[name]


def headline() -> tuple[str, ...]:
    """One method for each idea."""
    return HEADLINE


def get(name: str):
    """The method called `name`, or five pooled members of it for `ensemble:NAME`, as a ready instance.

    Raises `UnknownMethod` for a name nobody registered and `BrokenMethod` when its import fails.
    """
    if name.startswith(ENSEMBLE):
        return _ensemble(name)
    entry = target(name)
    try:
        method = entry.load()()
    except (Exception, SystemExit) as error:  # a script that was not meant to be imported may call sys.exit
        reason = f"{type(error).__name__}: {error}"
        raise BrokenMethod(f"method {name!r} ({entry.value}) cannot be loaded: {reason}") from error

    from methods.base import Method

    if not isinstance(method, Method):
        kind = type(method).__name__
        raise BrokenMethod(f"method {name!r} ({entry.value}) is of the class {kind}, which is no methods.base.Method")
    if method.name != name:
        raise BrokenMethod(f"method {name!r} ({entry.value}) calls itself {method.name!r}; the two must be equal")
    return method


def _ensemble(name: str):
    inner = name.removeprefix(ENSEMBLE)
    if inner not in _targets() and not inner.startswith(ENSEMBLE):
        raise UnknownMethod(name)
    method = get(inner)

    from methods.ensemble import ensemble_of

    try:
        return ensemble_of(method)
    except ValueError as error:
        raise BrokenMethod(f"method {name!r} cannot be had: {error}; name a method of one member") from error


def problem_with(name: str) -> str | None:
    """Why `name` cannot be used, or None. Imports the method."""
    try:
        get(name)
    except (UnknownMethod, BrokenMethod) as error:
        return str(error)
    return None


def describe(name: str) -> str:
    """One line about a method, the first of its module's docstring, read without importing the module."""
    if name.startswith(ENSEMBLE):
        return f"Ensemble of: {describe(name.removeprefix(ENSEMBLE))}"
    entry = target(name)
    try:
        source = Path(importlib.util.find_spec(entry.module).origin).read_text(encoding="utf-8")
        return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    except Exception as error:
        # A listing must survive whatever a stranger's package does when it is looked at.
        return f"cannot be read: {type(error).__name__}: {error}"
