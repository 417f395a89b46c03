"""What stands in the way of compiled loops is said in words."""

import os
import sys

import pytest

from bench.native import compiler as module


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Returns a function that sets the search path and the variable CXX of a machine without compiled loops."""
    monkeypatch.setenv(module.CACHE_VARIABLE, str(tmp_path))

    def install(path: str = os.environ["PATH"], cxx: str = "") -> None:
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("CXX", cxx)
        module.compiler.cache_clear()
        module.target.cache_clear()

    yield install
    module.compiler.cache_clear()
    module.target.cache_clear()


def test_missing_compilers_are_named(machine, tmp_path):
    machine(path=str(tmp_path))
    assert module.obstacle() == "no C++ compiler was found; looked for c++, g++, clang++"
    machine(cxx="g+++")
    assert module.obstacle() == "no C++ compiler was found; looked for g+++"


def test_broken_compilers_are_named(machine):
    machine(cxx=sys.executable)  # takes no flags of a compiler
    assert module.obstacle().startswith(f"{sys.executable} could not compile a training loop")


def test_working_compilers_are_no_obstacle(machine):
    machine()
    try:
        module.compiler()
    except module.NoCompiler as reason:
        pytest.skip(str(reason))
    assert module.obstacle() is None
    assert module.lanes() in (4, 8, 16)
