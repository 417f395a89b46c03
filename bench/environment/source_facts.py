"""Facts about source files from which the hash of code is computed, cached in the user's cache folder by content."""

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lockstep_bench.shared.rows.atomic import write_atomically

ONE_NAME = "lockstep_bench."  # before the name of each package; hashes do without it, as earlier rows had none
PACKAGES = ("bench", "methods", "datasets", "shared")
VARIABLE = "BENCH_CODE_CACHE"
MOST = 5000  # sources that are kept, ten times as many as this project has


class Imported(NamedTuple):
    """An import from a module of this project: of the module itself if `name` is empty, else of `name` from it."""

    module: str
    name: str
    bound_to: str


class Facts(NamedTuple):
    """Facts about one source file.

    Attributes:
        code: SHA-256 of the code without docstrings, comments, layout and the annotations of functions.
        imports: Imports from modules of this project, in order, without those for type checking only.
        at_top: Named imports (`from module import name`) outside functions, classes and conditions.
        attributes: Attributes of imported names that the code uses, as pairs (name, attribute).
    """

    code: str
    imports: tuple[Imported, ...]
    at_top: tuple[Imported, ...]
    attributes: tuple[tuple[str, str], ...]


class KnownFacts:
    """Cache of the facts about source files, by the SHA-256 of their content, so that each file is parsed only once.

    The cache file contains a checksum. A file that is damaged, or was written by another version of Python or of this
    module, is ignored.
    """

    def __init__(self) -> None:
        version = hashlib.sha256(f"{sys.version}".encode() + Path(__file__).read_bytes()).hexdigest()[:16]
        self._path = _cache_folder() / f"{version}.json"
        self._kept: dict[str, list[Any]] = {}
        self._new: dict[str, list[Any]] = {}
        with suppress(OSError, ValueError):
            digest, _, content = self._path.read_bytes().partition(b"\n")
            if hashlib.sha256(content).hexdigest().encode() == digest:
                self._kept = json.loads(content)

    def of(self, source: bytes) -> Facts:
        """Return the facts about a source file with the given content.

        Raises:
            SyntaxError: The content cannot be parsed.
        """
        key = hashlib.sha256(source).hexdigest()
        if key not in self._kept:
            self._kept[key] = self._new[key] = list(parsed(source))
        code, imports, at_top, attributes = self._kept[key]
        imported, top = (tuple(Imported(*each) for each in part) for part in (imports, at_top))
        return Facts(code, imported, top, tuple((name, attribute) for name, attribute in attributes))

    def keep(self) -> None:
        """Write new facts to the cache file; failures are ignored."""
        if self._new:
            facts = self._kept if len(self._kept) <= MOST else self._new
            content = json.dumps(facts, separators=(",", ":")).encode()
            with suppress(OSError):
                write_atomically(hashlib.sha256(content).hexdigest().encode() + b"\n" + content, self._path)
            self._new = {}


@cache
def known_facts() -> KnownFacts:
    """Return the cache of this machine, which each process reads once."""
    return KnownFacts()


def parsed(source: bytes) -> Facts:
    """Parse the content of a source file, and return the facts about it.

    Raises:
        SyntaxError: It cannot be parsed.
    """
    tree = _code(source)
    nodes = list(_run(tree))
    imports = tuple(_imported(nodes))
    bound = {each.bound_to for each in imports}
    attributes = [
        (node.value.id, node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound
    ]
    return Facts(
        hashlib.sha256(ast.unparse(tree).encode()).hexdigest(),
        imports,
        tuple(each for each in _imported(tree.body) if each.name),
        tuple(dict.fromkeys(attributes)),
    )


def is_ours(module: str) -> bool:
    """Return whether a module belongs to this project."""
    return module.partition(".")[0] in PACKAGES


def short(module: str) -> str:
    """Return a module's name without the prefix `lockstep_bench`."""
    return module.removeprefix(ONE_NAME)


def _imported(nodes: Iterable[ast.AST]) -> Iterator[Imported]:
    """Yield the absolute imports from modules of this project."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and is_ours(node.module):
            yield from (Imported(node.module, alias.name, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            ours = [alias for alias in node.names if is_ours(alias.name)]
            yield from (Imported(alias.name, "", alias.asname or alias.name) for alias in ours)


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `node`, except those in blocks `if TYPE_CHECKING`."""
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", "")):
        children = node.orelse
    for child in children:
        yield from _run(child)


def _code(source: bytes) -> ast.Module:
    """Return the syntax tree of a source without docstrings, the annotations of functions and the prefix of imports."""
    tree: ast.Module = _WithoutPrefix().visit(ast.parse(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_text(statement)]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


class _WithoutPrefix(ast.NodeTransformer):
    """Removes the prefix `lockstep_bench` from imports, and from names of modules in strings."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | list[ast.Import]:
        if f"{node.module}." == ONE_NAME:
            return [ast.Import([alias]) for alias in node.names]
        return ast.ImportFrom(short(node.module or "") or None, node.names, node.level)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(node.value.replace(ONE_NAME, "")) if isinstance(node.value, str) else node


def _is_text(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str)


def _cache_folder() -> Path:
    if given := os.environ.get(VARIABLE):
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "code"
