"""A hash of the source code on which a result depends.

Most commits, for example to a page or a test, change no result. This hash changes only with the code of some modules
and of the modules that these import. Results with equal hashes may therefore be compared with each other.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

ONE_NAME = "lockstep_bench."  # before the name of each package; hashes do without it, as earlier rows had none
PACKAGES = ("bench", "methods", "datasets", "shared")
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
    The sources are parsed, not imported.

    Docstrings, comments, layout and annotations of functions do not change the hash. Versions of Python may write the
    same code differently, so a hash may change with Python's minor version.

    Args:
        modules: A tuple of names, such as ("lockstep_bench.methods.vifa", "lockstep_bench.datasets.tabular.uci").
        facts: Anything else that identifies the code, such as a version.

    Raises:
        ImportError, OSError, SyntaxError: If the source of a module cannot be read.
    """
    digest = sha256(facts.encode())
    for name in sorted(_with_imports(map(_short, modules))):
        digest.update(f"\n{name} {_hash_of(name)}".encode())
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
def _hash_of(name: str) -> str:
    return sha256(ast.unparse(_code(name)).encode()).hexdigest()


@cache
def _imports(name: str) -> frozenset[str]:
    """Return the modules that a module imports, and those of packages that it reaches through an attribute."""
    nodes = list(_run(_code(name)))
    imported: set[str] = set()
    bound: dict[str, str] = {}  # modules by the names that the code has for them
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (package := _package(node)):
            defined = {alias: _definer(package, alias.name) for alias in node.names}
            imported |= set(defined.values())
            modules = {alias: module for alias, module in defined.items() if module == f"{package}.{alias.name}"}
            bound |= {alias.asname or alias.name: module for alias, module in modules.items()}
        elif isinstance(node, ast.Import):
            ours = [alias for alias in node.names if _is_ours(alias.name)]
            imported |= {alias.name for alias in ours if "." in alias.name}
            bound |= {alias.asname or alias.name: alias.name for alias in ours if "." not in alias.name}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
            imported.add(_definer(bound[node.value.id], node.attr))
    return frozenset(imported)


def _definer(module: str, name: str) -> str:
    """Return the module that `module.name` is, or else the one that defines it."""
    if _file(f"{module}.{name}"):
        return f"{module}.{name}"
    if name in (imported := _names_from_elsewhere(module)):
        return _definer(*imported[name])
    return module


@cache
def _names_from_elsewhere(module: str) -> dict[str, tuple[str, str]]:
    """Return the names that the body of a module imports from others of ours: name -> module and name there."""
    body = _code(module).body if _file(module) else ()
    imports = [(package, node) for node in body if isinstance(node, ast.ImportFrom) and (package := _package(node))]
    return {alias.asname or alias.name: (package, alias.name) for package, node in imports for alias in node.names}


def _package(node: ast.ImportFrom) -> str | None:
    """Return the package or module of ours that names are imported from; None for any other, or a relative import."""
    return node.module if node.module and not node.level and _is_ours(node.module) else None


def _short(module: str) -> str:
    return module.removeprefix(ONE_NAME)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `node`, except those of blocks that only a type checker reads."""
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", "")):
        children = node.orelse
    for child in children:
        yield from _run(child)


@cache
def _code(name: str) -> ast.Module:
    """Return the syntax tree of a module without docstrings, the annotations of functions and the prefix of imports."""
    file = _file(name)
    if file is None:
        raise ImportError(f"there is no source file of the module {name!r}")
    tree: ast.Module = _WithoutPrefix().visit(ast.parse(file.read_bytes()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_text(statement)]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


class _WithoutPrefix(ast.NodeTransformer):
    """Writes imports, and names of modules in texts, without `lockstep_bench`."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | list[ast.Import]:
        if f"{node.module}." == ONE_NAME:
            return [ast.Import([alias]) for alias in node.names]
        return ast.ImportFrom(_short(node.module or "") or None, node.names, node.level)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(node.value.replace(ONE_NAME, "")) if isinstance(node.value, str) else node


def _is_text(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str)


@cache
def _file(name: str) -> Path | None:
    if not _is_ours(name):
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
