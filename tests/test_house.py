"""The architecture can be seen: few files beside the rooms, and each room says what lives in it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lockstep_bench/run", "bench", "benchmarks", "methods", "datasets", "leaderboards")
ROOMS = sorted(
    path.parent.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")
)


@pytest.mark.parametrize(("package", "most"), [("bench", 10), ("leaderboards", 6)])
def test_few_files_stand_beside_the_rooms(package, most):
    assert len([path for path in (ROOT / package).iterdir() if path.is_file()]) <= most


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_says_what_lives_there(room):
    docstring = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text()))
    assert docstring
    assert room in PACKAGES or "Imports" in docstring.split(), "say what the room may import"
