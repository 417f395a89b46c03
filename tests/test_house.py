"""The architecture can be seen: few files beside the rooms, and each room says what lives in it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "lockstep_bench/commands",
    "lockstep_bench/run",
    "lockstep_bench/shared",
    "bench",
    "benchmarks",
    "methods",
    "datasets",
    "leaderboards",
    "paper",
)
ROOMS = sorted(
    path.parent.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")
)


@pytest.mark.parametrize(("package", "most"), [("bench", 10), ("leaderboards", 6)])
def test_package_folders_hold_few_files_beside_subpackages(package, most):
    assert len([path for path in (ROOT / package).iterdir() if path.is_file()]) <= most


# Functions of more than 60 lines: tables of data sets, and signatures with long docstrings, read best in one piece.
LONG = {
    "datasets/__main__.py: new",
    "datasets/images/idx.py: sources",
    "datasets/own/table.py: describe",
    "datasets/synthetic/posteriors.py: sources",
    "datasets/tabular/uci.py: sources",
    "datasets/tabular/uci_classification.py: sources",
    "leaderboards/cli/verdicts.py: rank",
    "methods/mcmc/nuts.py: sample",
}


def test_functions_are_at_most_sixty_lines_long():
    long = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno > 60:
                    long.add(f"{path.relative_to(ROOT).as_posix()}: {node.name}")
    assert long == LONG


@pytest.mark.parametrize("room", ROOMS)
def test_each_subpackage_docstring_states_contents_and_imports(room):
    docstring = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text()))
    assert docstring
    assert room in PACKAGES or "Imports" in docstring.split(), "say what the room may import"
