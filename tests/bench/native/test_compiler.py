"""The cache of compiled loops, and what happens where nothing can be compiled, said in words."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bench.native import compiler
from bench.native.compiler import NoCompiler, cache_folder, compiled

SOURCE = 'extern "C" int answer() {{ return {}; }}'


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    """The cache is an empty folder, and nothing is known of the compiler."""
    for known in (compiler.compiler, compiler.target):
        known.cache_clear()
    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "cache"))
    yield
    for known in (compiler.compiler, compiler.target):
        known.cache_clear()


def libraries() -> list[Path]:
    return sorted(cache_folder().glob("*"))


def fake_compiler(folder: Path, script: str) -> str:
    path = folder / "fake-c++"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


def test_folder_is_that_of_the_variable(tmp_path):
    assert cache_folder() == tmp_path / "cache"


def test_folder_is_the_users_by_default(monkeypatch):
    monkeypatch.delenv(compiler.CACHE_VARIABLE)
    assert cache_folder().parts[-2:] == ("lockstep-bench", "native")


def test_compiled_libraries_are_kept(monkeypatch):
    assert compiled(SOURCE.format(42)).answer() == 42
    (library,) = libraries()
    monkeypatch.setattr(compiler, "_compile", None)  # cannot be called
    assert compiled(SOURCE.format(42)).answer() == 42
    assert libraries() == [library]


def truncate(library: Path) -> None:
    os.truncate(library, 9000)  # loading it would end the process with SIGBUS


def replace_by_pipe(library: Path) -> None:
    library.unlink()
    os.mkfifo(library)


@pytest.mark.parametrize("damage", [truncate, replace_by_pipe])
def test_damaged_library_is_compiled_anew(damage):
    program = f"from bench.native.compiler import compiled; print(compiled({SOURCE.format(5)!r}).answer())"
    command = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.check_output(command, env=environment, timeout=60) == b"5\n"
    (library,) = libraries()
    whole = library.read_bytes()
    damage(library)
    assert subprocess.check_output(command, env=environment, timeout=60) == b"5\n"
    assert [path.read_bytes() for path in libraries()] == [whole]


def test_folder_in_the_place_of_a_library_is_reported():
    compiled(SOURCE.format(6))
    (library,) = libraries()
    library.unlink()
    library.mkdir()
    with pytest.raises(NoCompiler, match=rf"directory.*set {compiler.CACHE_VARIABLE}"):
        compiled(SOURCE.format(6))


def test_keys_change_with_source_flags_and_headers(monkeypatch, tmp_path):
    compiled(SOURCE.format(1))
    compiled(SOURCE.format(2))
    assert len(libraries()) == 2
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O1"))
    compiler.target.cache_clear()
    compiled(SOURCE.format(1))
    assert len(libraries()) == 3
    (tmp_path / "header.hpp").write_text("// other")
    monkeypatch.setattr(compiler, "INCLUDE", tmp_path)
    compiler.target.cache_clear()
    compiled(SOURCE.format(1))
    assert len(libraries()) == 4


def test_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(NoCompiler, match=r"no C\+\+ compiler was found; looked for no-such-compiler"):
        compiled(SOURCE.format(1))


def test_failing_compiler_leaves_no_library(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", fake_compiler(tmp_path, "echo 'loop.cpp:1: error: out of order' >&2; exit 1"))
    with pytest.raises(NoCompiler, match=r"could not compile a training loop: .*out of order"):
        compiled(SOURCE.format(1))
    assert libraries() == []


def test_rejected_source_is_reported():
    with pytest.raises(NoCompiler, match="error"):
        compiled("no C++")
    assert libraries() == []


def test_folder_that_cannot_be_written_is_reported(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(NoCompiler, match=rf"cannot be written.*set {compiler.CACHE_VARIABLE}"):
        compiled(SOURCE.format(1))


def test_broken_library_is_reported(monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(compiler, "_compile", lambda source, folder: broken)
    with pytest.raises(NoCompiler, match="cannot be loaded"):
        compiled(SOURCE.format(7))


def test_processes_may_compile_the_same_source():
    program = f"from bench.native.compiler import compiled; print(compiled({SOURCE.format(3)!r}).answer())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["3", "3"]
    assert len(libraries()) == 1


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Returns a function that sets the search path and the variable CXX of a machine without compiled loops."""
    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path))

    def install(path: str = os.environ["PATH"], cxx: str = "") -> None:
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("CXX", cxx)
        compiler.compiler.cache_clear()
        compiler.target.cache_clear()

    yield install
    compiler.compiler.cache_clear()
    compiler.target.cache_clear()


def test_missing_compilers_are_named(machine, tmp_path):
    machine(path=str(tmp_path))
    assert compiler.obstacle().startswith("no C++ compiler was found; looked for c++, g++, clang++. Install one")
    machine(cxx="g+++")
    assert compiler.obstacle().startswith("no C++ compiler was found; looked for g+++. ")


def test_broken_compilers_are_named(machine):
    machine(cxx=sys.executable)  # takes no flags of a compiler
    assert compiler.obstacle().startswith(f"{sys.executable} could not compile a training loop")


def test_working_compilers_are_no_obstacle(machine):
    machine()
    try:
        compiler.compiler()
    except compiler.NoCompiler as reason:
        pytest.skip(str(reason))
    assert compiler.obstacle() is None
    assert compiler.lanes() in (4, 8, 16)
