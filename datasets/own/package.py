"""Writes the Python package of a user's own table, for `python -m datasets new NAME`."""

import importlib.util
import json
import keyword
import re
from collections.abc import Container
from dataclasses import fields, replace
from pathlib import Path

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.table import Table
from lockstep_bench.datasets.paths import nearest_folder, shown

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "lockstep-{name}"
version = "0.1.0"
dependencies = ["lockstep-bench"]

[project.entry-points."lockstep_bench.datasets"]
{name} = "{module}:SOURCE"

[tool.setuptools.package-data]
"*" = ["*.csv", "*.tsv", "*.parquet"]
"""

MODULE = '''\
"""The data set {name}."""

from pathlib import Path

from lockstep_bench.datasets import Table

HERE = Path(__file__).parent

# What pages say of the set, and how it is run. The numbers and the checksums are those of the files beside this one.
SOURCE = Table(
{arguments}
).source()
'''

TEST = '''\
"""Is the table as it was described?"""

from lockstep_bench import datasets


def test_the_table_is_as_described():
    loaded, described = datasets.load("{name}"), datasets.entry("{name}")
    assert loaded.x.shape == (described.n_rows, described.n_features)
    assert len(loaded.splits) == described.n_splits
'''


def write(table: Table, folder: Path, taken: Container[str]) -> list[Path]:
    """Write a Python package that provides a table as a data set, with a copy of its files; return the paths.

    Args:
        table: description of the table; `table.name` is the name of the data set and of the package's module.
        folder: destination, which must be empty or not exist.
        taken: names of other data sets.

    Raises:
        InvalidTable: the data set cannot have this name or folder, or a file has a name that is not UTF-8.
    """
    module = _module_of(table.name, taken)
    files = [Path(given) for given in (table.path, table.splits_file) if given]
    if odd := [file.name for file in files if not _is_utf8(file.name)]:
        raise InvalidTable(f"the file name {odd[0]!r} is not UTF-8, as a package's code must be; rename the file")
    if not _is_utf8(str(folder)):
        raise InvalidTable(f"the folder name {shown(folder)!r} is not UTF-8; choose another with --into")
    place = folder / "src" / module
    words = {"name": table.name, "module": module}
    contents = {
        folder / "pyproject.toml": PROJECT.format(**words).encode(),
        place / "__init__.py": MODULE.format(arguments=_arguments(table), **words).encode(),
        folder / "tests" / f"test_{module}.py": TEST.format(**words).encode(),
    }
    for file in files:
        contents[place / file.name] = file.read_bytes()
    try:
        if nearest_folder(folder) == folder and any(folder.iterdir()):
            raise InvalidTable(f"{folder} exists and is not an empty folder; choose another with --into")
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InvalidTable(f"{shown(folder)} cannot be written: {error.strerror}; choose another with --into") from None
    return list(contents)


def _module_of(name: str, taken: Container[str]) -> str:
    """Return the name of a data set's module, which must be new."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise InvalidTable(f"a data set cannot be called {name!r}; use words of lower-case letters and digits: my-data")
    if name in taken:
        raise InvalidTable(f"there is a data set {name!r} already; choose another name")
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module)
    if keyword.iskeyword(module) or (spec and spec.origin):  # a mere folder of that name has no origin
        raise InvalidTable(f"a data set cannot be called {name!r}: Python has a word or a module {module!r} already")
    return module


def _arguments(table: Table) -> str:
    """Return the arguments of a description as code, a line each; the files are beside the module."""
    table = replace(table, path=Path(table.path).name, splits_file=Path(table.splits_file).name)
    lines = []
    for each in fields(table):
        value = getattr(table, each.name)
        if each.name == "notes":
            lines += ["    notes=(", *(f"        {_literal(note)}," for note in value), "    ),"]
        elif each.name in ("path", "splits_file") and value:
            lines.append(f"    {each.name}=str(HERE / {_literal(value)}),")
        elif value or each.name == "n_classes":
            lines.append(f"    {each.name}={_literal(value)},")
    return "\n".join(lines)


def _is_utf8(name: str) -> bool:
    return name == name.encode(errors="replace").decode()


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
