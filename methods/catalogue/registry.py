"""The registry of methods: built-in ones and those of installed packages, listed without importing them.

A package adds a method by an entry point of the group `lockstep_bench.methods`:

    [project.entry-points."lockstep_bench.methods"]
    my-method = "my_package.my_method:MyMethod"

Every method NAME with a single member also has an ensemble `ensemble:NAME`, which pools five of them. `names` does not
list ensembles. A name may end with options of the method's constructor, as `mfvi(tempering=0.1)` does, and those of
ensembles with their size, as in `deep-ensemble(members=20)` (`methods.catalogue.options`).
"""

import ast
import difflib
import importlib.util
import os.path
import re
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lockstep_bench.methods.catalogue import options
from lockstep_bench.methods.catalogue.options import MEMBERS, InvalidOption
from lockstep_bench.methods.catalogue.rows import families, rows
from lockstep_bench.shared.called import as_called
from lockstep_bench.shared.method_names import registered

if TYPE_CHECKING:
    from lockstep_bench.methods.base import Method

GROUP = "lockstep_bench.methods"
ENSEMBLE = "ensemble:"

BUILT_IN = {name: row.target for name, row in rows().items()}

# The method that shows what can be had without the inputs: what is no better than it is marked.
BASELINE = "constant"

# A line of every table, without a rank: reference lines, which train no network of ours, and the control of a sampler.
UNRANKED = (
    *(BASELINE, "linear", "gp", "gp-matern", "sghmc-noiseless"),
    *("ngboost", "lightgbm", "quantile-forest", "conformal-ridge", "tabpfn", "tabicl"),
)

# One method per family: the methods that the word `headline` stands for on the command line.
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
    BASELINE,
    "linear",
)

NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")  # folders are called by it
RESERVED = ("all", "headline")  # words that name several methods on the command line


class UnknownMethod(LookupError):
    """No method has this name; the message suggests the closest one."""

    def __str__(self) -> str:
        (name,) = self.args
        if folder := _package_folder(name):
            return as_called(
                f"method {name!r} is not installed, and the folder {folder!r} has a package; run "
                f"`pip install -e {folder}` if it is the method's. `python -m methods list` shows all {len(names())}"
            )
        candidates = (*names(), *(f"{ENSEMBLE}{member}" for member in names()))
        near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        return as_called(f"method {name!r} is unknown{hint} `python -m methods list` shows all {len(names())}")


def _package_folder(name: str) -> str:
    """Return the folder in the working folder that is called as a method and has a package; "" if there is none."""
    folder = registered(name.removeprefix(ENSEMBLE))
    return folder if NAME.fullmatch(folder) and os.path.isfile(os.path.join(folder, "pyproject.toml")) else ""


class BrokenMethod(ImportError):
    """A registered method cannot be imported, breaks the contract of `get`, or has no ensemble."""


@cache
def _targets() -> dict[str, list[EntryPoint]]:
    """Return the entry points of each name; `get` refuses names with more than one."""
    targets = {name: [EntryPoint(name, target, GROUP)] for name, target in BUILT_IN.items()}
    for entry in sorted(entry_points(group=GROUP)):
        targets.setdefault(entry.name, []).append(entry)
    return targets


def names() -> tuple[str, ...]:
    """Return all registered names: built-in methods first, then those of entry points in alphabetical order."""
    return tuple(_targets())


def target(name: str) -> EntryPoint:
    """Return the entry point of a method.

    Raises:
        UnknownMethod: if no method has this name.
    """
    if name not in _targets():
        raise UnknownMethod(name)
    return _targets()[name][0]


def is_ranked(name: str) -> bool:
    """Return whether a method, with whatever options its name has, gets a rank; the others are lines of the tables."""
    return registered(name) not in UNRANKED


def headline() -> tuple[str, ...]:
    """Return one method per family, for a first comparison."""
    return HEADLINE


def get(name: str) -> "Method":
    """Return an instance of the method called `name`, or of its ensemble for `ensemble:NAME`. Imports the method.

    Raises:
        UnknownMethod: if no method has this name.
        BrokenMethod: if the method cannot be imported, is not a `Method` of this name, shares its name with another
            method, or has no ensemble.
    """
    return _ensemble(name) if name.startswith(ENSEMBLE) else _single(name)


def _single(name: str, *, pooled: bool = False) -> "Method":
    """Return the method called `name`; as `pooled`, for an ensemble of it, whose option `members` errors then list."""
    entry = target(registered(name))
    _require_a_name_of_its_own(entry.name)
    row = rows().get(entry.name)
    settled = row.options if row else {}
    pooled = pooled or (row is not None and MEMBERS in row.facts)
    try:
        constructor = entry.load()
        values = options.values_of(name, constructor, settled, pooled=pooled)
        size = {MEMBERS: values[MEMBERS]} if pooled and MEMBERS in values else {}
        method = constructor(**settled, **{option: value for option, value in values.items() if option not in size})
    except InvalidOption as error:
        raise BrokenMethod(str(error)) from error
    except (Exception, SystemExit) as error:  # a script that is not meant to be imported may call sys.exit
        reason = f"{type(error).__name__}: {error}{_hint(error, entry)}"
        raise BrokenMethod(f"method {name!r} ({entry.value}) cannot be loaded: {reason}") from error

    from lockstep_bench.methods.base import Method

    if row:
        vars(method).update(row.attributes() | size)
    if not isinstance(method, Method):
        kind = type(method).__name__
        raise BrokenMethod(
            f"method {name!r} ({entry.value}) is a {kind}, not a lockstep_bench.methods.api.Method; "
            "derive its class from Method"
        )
    if method.name != registered(name):
        raise BrokenMethod(
            f"method {registered(name)!r} ({entry.value}) has the attribute name = {method.name!r}; "
            "the two must be equal"
        )
    if values:
        method.name, method.options = options.canonical(name, values), values
        method.title = f"{method.title}, {options.in_words(method.name)}"
    return method


def _require_a_name_of_its_own(name: str) -> None:
    """Raise BrokenMethod if several methods have a name, or if it is a word of the command line."""
    entries = _targets()[name]
    packages = [f" of the package {entry.dist.name}" if entry.dist else "" for entry in entries]
    first, *others = (entry.value + package for entry, package in zip(entries, packages, strict=True))
    if others:
        raise BrokenMethod(
            f"the name {name!r} belongs to {first}, and {', '.join(others)} has it too. Give the latter's entry point "
            "and class another name, or uninstall its package"
        )
    if not NAME.fullmatch(name):
        raise BrokenMethod(
            f"{first} cannot be called {name!r}: names have letters, digits and ._+- only, and 100 at most. Give its "
            "entry point and class another name"
        )
    if name in RESERVED:
        raise BrokenMethod(
            f"{first} cannot be called {name!r}: on the command line the word names several methods. Give its entry "
            "point and class another name"
        )


def _hint(error: BaseException, entry: EntryPoint) -> str:
    """Return a hint if a method cannot be imported for a common reason, else an empty text."""
    missing = error.name or "" if isinstance(error, ImportError) else ""
    if missing.removeprefix("lockstep_bench.").partition(".")[0] in ("methods", "bench"):
        return "; import what a method needs from `lockstep_bench.methods.api`"
    module = sys.modules.get(entry.module)
    if not isinstance(error, AttributeError) or module is None:
        return ""
    if not getattr(module, "__file__", None):
        return (
            f". The folder {entry.module!r} beside you hides the module: start Python in another folder, or move the "
            "package's modules into a folder `src` and install it again"
        )
    return _classes_to_name(module, entry) if error.obj is module and error.name == entry.attr else ""


def _classes_to_name(module: ModuleType, entry: EntryPoint) -> str:
    """Return a hint for an entry point that names no class of its module: the classes that it may name."""
    from lockstep_bench.methods.base import Method

    classes = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Method) and value.__module__ == module.__name__
    ]
    if not classes:
        return ". The module defines no subclass of Method; write one, or name another module in the entry point"
    return (
        f". The module's subclasses of Method: {', '.join(classes)}. Change the entry point in pyproject.toml, as to "
        f'{entry.name} = "{entry.module}:{classes[0]}", and install the package again'
    )


def _ensemble(name: str) -> "Method":
    inner = name.removeprefix(ENSEMBLE)
    if registered(inner) not in _targets() and not inner.startswith(ENSEMBLE):
        raise UnknownMethod(name)

    from lockstep_bench.methods.ensemble import ensemble_of

    try:
        member, size = options.apart(inner)
        single = _ensemble(member) if member.startswith(ENSEMBLE) else _single(member, pooled=True)
        ensemble = ensemble_of(single, **size)
        ensemble.name = options.canonical(ensemble.name, {**ensemble.options, **size})
        return ensemble
    except InvalidOption as error:
        raise BrokenMethod(str(error)) from error
    except ValueError as error:
        raise BrokenMethod(f"method {name!r} does not exist: {error}") from error


def problem_with(name: str) -> str | None:
    """Return the reason why a method cannot be used, or None if it can. Imports the method."""
    try:
        get(name)
    except (UnknownMethod, BrokenMethod) as error:
        return str(error)
    return None


def describe(name: str) -> str:
    """Return the first line of the docstring of a method's module, without importing the module.

    Raises:
        UnknownMethod: if no method has this name.
    """
    if name.startswith(ENSEMBLE):
        return f"Ensemble of: {describe(name.removeprefix(ENSEMBLE))}"
    entry = target(registered(name))
    if (row := rows().get(entry.name)) and (summary := families()[row.family].get("summary")):
        return str(summary)
    try:
        return (ast.get_docstring(source(entry)) or "").partition("\n")[0]
    except Exception as error:  # a third-party package may raise anything, and must not break the listing
        return f"cannot be read: {type(error).__name__}: {error}"


def source(entry: EntryPoint) -> ast.Module:
    """Return the syntax tree of a method's module, without importing the module.

    Raises:
        ModuleNotFoundError: if there is no such module, or it has no source file.
    """
    spec = importlib.util.find_spec(entry.module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"module {entry.module!r} has no source file")
    return _parsed(Path(spec.origin).read_text(encoding="utf-8"))


@cache
def _parsed(source: str) -> ast.Module:
    """Return the syntax tree of a text. Several methods share a module, and a page lists many variants of a method."""
    return ast.parse(source)
