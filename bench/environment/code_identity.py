"""A hash of the source code on which a result depends.

Most commits, for example to a page or a test, change no result. This hash changes only if the code of some modules, or
of modules that these import, changes. Results with equal hashes may therefore be compared with each other.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from lockstep_bench.bench.environment.source_facts import ONE_NAME, PACKAGES, Facts, is_ours, known_facts, short

__all__ = ["ONE_NAME", "PACKAGES", "code_identity", "folder_of"]

# Modules that change no number of a cell: catalogues, which name many other modules, and the record of a result.
PASSED_OVER = frozenset(
    {
        "bench.experiment.suites",
        "bench.results.record",
        "datasets.registry",
        "methods.catalogue.registry",
        "methods.catalogue.rows",
    }
)
DIGITS = 16  # hexadecimal


@cache
def code_identity(modules: Iterable[str], facts: str = "") -> str:
    """Return a hash of `facts` and of the source of `modules` and of every module that they import.

    The imports are followed through `PACKAGES`, also those inside functions, except those only for type checking. An
    import from a package's `__init__.py` is followed to the module that defines the name. Modules in `PASSED_OVER`, and
    modules that only these import, are ignored. From other packages, only the modules named in `modules` are included.
    The sources are parsed, not imported, each once on a machine (`bench.environment.source_facts`).

    Docstrings, comments, layout and annotations of functions do not change the hash. Versions of Python may write the
    same code differently, so a hash may change with Python's minor version.

    Args:
        modules: A tuple of names, such as ("lockstep_bench.methods.vifa", "lockstep_bench.datasets.tabular.uci").
        facts: Anything else that identifies the code, such as a version.

    Raises:
        ImportError, OSError, SyntaxError: If the source of a module cannot be read.
    """
    digest = sha256(facts.encode())
    for name in sorted(_with_imports(map(short, modules))):
        digest.update(f"\n{name} {_facts(name).code}".encode())
    known_facts().keep()
    return digest.hexdigest()[:DIGITS]


def _with_imports(modules: Iterable[str]) -> set[str]:
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in reached and name not in PASSED_OVER:
            reached.add(name)
            waiting += _imports(name)
    return reached


@cache
def _imports(name: str) -> frozenset[str]:
    """Return the modules that a module imports, including those that it uses as attributes of a package."""
    facts = _facts(name)
    imported: set[str] = set()
    bound: dict[str, str] = {}  # modules by the names that the code has for them
    for each in facts.imports:
        module = _definer(each.module, each.name) if each.name else each.module
        if each.name or "." in module:
            imported.add(module)
        if module == (f"{each.module}.{each.name}" if each.name else each.module.partition(".")[0]):
            bound[each.bound_to] = module
    for variable, attribute in facts.attributes:
        if variable in bound:
            imported.add(_definer(bound[variable], attribute))
    return frozenset(imported)


def _definer(module: str, name: str) -> str:
    """Return the module `module.name` if it is a module, or else the module that defines this name."""
    if _file(f"{module}.{name}"):
        return f"{module}.{name}"
    if name in (imported := _names_from_elsewhere(module)):
        return _definer(*imported[name])
    return module


@cache
def _names_from_elsewhere(module: str) -> dict[str, tuple[str, str]]:
    """Return the names that a module imports at its top from modules of this project: name -> (module, name there)."""
    imports = _facts(module).at_top if _file(module) else ()
    return {each.bound_to: (each.module, each.name) for each in imports}


@cache
def _facts(name: str) -> Facts:
    file = _file(name)
    if file is None:
        raise ImportError(f"there is no source file of the module {name!r}")
    return known_facts().of(file.read_bytes())


@cache
def _file(name: str) -> Path | None:
    if not is_ours(name):
        spec = find_spec(name)
        return Path(spec.origin) if spec and spec.origin and spec.has_location else None
    package, *parts = name.split(".")
    path = folder_of(package).joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def folder_of(package: str) -> Path:
    """Return the folder that contains the source of one of `PACKAGES`."""
    spec = find_spec(ONE_NAME + package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))
