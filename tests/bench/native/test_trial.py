"""A compiler whose code this machine cannot run is found out in another process, once, and named."""

import sys

import pytest

from lockstep_bench.bench.native import compiler, libraries, trial
from lockstep_bench.bench.native.libraries import compiled, lanes, obstacle

pytestmark = pytest.mark.usefixtures("empty_cache")

SOURCE = 'extern "C" int answer() { return 42; }'


@pytest.fixture
def compiler_with(use_compiler, tmp_path):
    """Returns a function that makes a compiler which puts lines after the headers of a source, and returns its path."""
    try:
        real = compiler.compiler_name()
    except compiler.NoCompiler as reason:
        pytest.skip(str(reason))
    compiler.compiler.cache_clear()

    def use(lines: str) -> str:
        includes = "\n".join(line for line in trial.SOURCE.splitlines() if line.startswith("#include"))
        (tmp_path / "first.hpp").write_text(f"{includes}\n{lines}\n")
        return use_compiler(
            f'case "$*" in *loop.cpp*) set -- -include {tmp_path}/first.hpp "$@" -O1;; esac\n{real} "$@"'
        )

    return use


def test_compiler_passing_the_trial_is_accepted(compiler_with, empty_cache):
    compiler_with("")
    assert obstacle() is None
    assert lanes() in (4, 8, 16)
    assert compiled(SOURCE).answer() == 42
    assert len(list(empty_cache.iterdir())) == 2


TRAPS = {
    "at load": "static struct Trap { Trap() { __builtin_trap(); } } at_load;",
    "words": "#define fill_normal __builtin_trap(), fill_normal",
    "matrices": "#define cholesky __builtin_trap(), cholesky",
    "functions": "#define tanh_(x) (__builtin_trap(), tanh_(x))",
}


@pytest.mark.parametrize("place", TRAPS)
def test_crash_of_trial_code_is_reported_without_crashing(compiler_with, empty_cache, place):
    path = compiler_with(TRAPS[place])
    assert obstacle().startswith(f"a trial of loops that {path} has compiled was killed by signal ")
    assert obstacle().endswith(": this machine cannot run them; name another compiler in the variable CXX")
    with pytest.raises(compiler.NoCompiler, match="was killed by signal"):
        compiled(SOURCE)
    assert list(empty_cache.iterdir()) == []


def test_trial_runs_only_once_per_compiler(compiler_with, monkeypatch):
    compiler_with("")
    runs = []
    run_apart = trial.run_apart
    monkeypatch.setattr(trial, "run_apart", lambda library: runs.append(run_apart(library)))
    for _ in range(3):
        obstacle.cache_clear()
        assert obstacle() is None
    assert runs == [None]


def test_failed_trial_is_repeated_in_the_next_process(compiler_with):
    compiler_with(TRAPS["at load"])
    assert obstacle()
    compiler_with("")
    for known in (compiler.target, obstacle):
        known.cache_clear()
    assert obstacle() is None


def test_endless_trial_is_killed(compiler_with, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 1)
    path = compiler_with("static struct Loop { Loop() { for (volatile int i = 0;; i = 0) {} } } at_load;")
    assert obstacle() == (
        f"a trial of loops that {path} has compiled was killed after 1 seconds, the limit; "
        "name another compiler in the variable CXX"
    )


@pytest.mark.parametrize("script", ["echo no library >", "cp /bin/sh", "cp {trial_alone}"])
def test_compiler_output_without_loops_is_refused(use_compiler, tmp_path, script):
    (tmp_path / "data").write_text("")
    output = 'while [ "$1" != -o ] && [ $# -gt 0 ]; do shift; done; [ $# -gt 0 ] || exit 0'
    path = use_compiler(f'{output}\n{script.format(trial_alone=tmp_path / "data")} "$2"')
    assert obstacle().startswith(f"a trial of loops that {path} has compiled ")
    assert "name another compiler" in obstacle()
    assert str(tmp_path / "cache") not in obstacle()  # a folder that is another at every try


def test_error_names_a_program_that_is_no_compiler(monkeypatch):
    monkeypatch.setenv("CXX", sys.executable)  # takes no flags of a compiler
    assert obstacle().startswith(f"{sys.executable} could not compile a training loop")


def test_missing_compiler_is_searched_only_once(monkeypatch):
    monkeypatch.setenv("CXX", "g+++")
    assert obstacle().startswith("no C++ compiler was found; looked for g+++. ")
    monkeypatch.setattr(libraries, "target", None)  # cannot be called
    with pytest.raises(compiler.NoCompiler, match="looked for g"):
        lanes()
