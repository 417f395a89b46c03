"""Compilers that are found, that fail, that die and that never end, each said in words."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from lockstep_bench.bench.native import compiler
from lockstep_bench.bench.native.compiler import NoCompiler, compile_library, killer, target

pytestmark = pytest.mark.usefixtures("empty_cache")

SOURCE = 'extern "C" int answer() { return 42; }'


def reason_of(call, *arguments) -> str:
    with pytest.raises(NoCompiler) as reason:
        call(*arguments)
    return str(reason.value)


def test_cxx_variable_may_hold_several_words(use_compiler, tmp_path, monkeypatch):
    path = use_compiler('exec "$@"', "ccache")
    monkeypatch.setenv("CXX", f"  {path}  c++ -DANSWER='a b' ")
    assert compiler.compiler() == (path, "c++", "-DANSWER=a b")
    assert compile_library(SOURCE, tmp_path).is_file()
    assert "version" in target()


@pytest.mark.parametrize("quoted", ["{}", "'{}'", '"{}"', "'{}' -O1"])
def test_compiler_path_may_contain_spaces(use_compiler, monkeypatch, quoted):
    path = use_compiler("exit 1", "my tools/g++ 14")
    monkeypatch.setenv("CXX", quoted.format(path))
    assert compiler.compiler()[0] == path


@pytest.mark.parametrize("cxx", ["", "  "])
def test_empty_cxx_variable_counts_as_unset(monkeypatch, cxx):
    monkeypatch.setenv("CXX", cxx)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "looked for c++, g++, clang++. Install one" in reason_of(compiler.compiler)


@pytest.mark.parametrize("cxx", ["no-such-compiler", "no-such-cache g++", "g++++", "''"])
def test_error_names_a_missing_compiler(monkeypatch, cxx):
    monkeypatch.setenv("CXX", cxx)
    assert f"no C++ compiler was found; looked for {cxx}. Install one" in reason_of(compiler.compiler)


@pytest.mark.parametrize("cxx", ["'g++", 'g++ "', "g++ \\"])
def test_error_names_an_unclosed_quotation_in_cxx(monkeypatch, cxx):
    monkeypatch.setenv("CXX", cxx)
    assert reason_of(compiler.compiler).startswith("the variable CXX cannot be split into words: No ")


def test_error_names_a_compiler_that_is_no_program(use_compiler, tmp_path):
    path = use_compiler("")
    with open(path, "wb") as file:
        file.write(b"\0\1 no program")
    assert reason_of(target).startswith(f"{path} cannot be run: ")
    assert reason_of(compile_library, SOURCE, tmp_path).endswith("name another compiler in the variable CXX")


FAILURES = {  # what a compiler does: the reason that is given
    "echo 'loop.cpp:1: error: out of order' >&2; exit 1": "loop.cpp: error: out of order",
    r"printf 'Fehler: \344\366\374 \377\n' >&2; exit 1": "Fehler: ��� �",
    r"printf '\377\376 error \200' >&2; exit 1": "�� error �",
    "exit 3": "exit code 3, without a message",
    "echo >&2; exit 3": "exit code 3, without a message",
    "echo first >&2; echo last >&2; exit 1": "last",
    "exit 0": "it wrote no library",
    "kill -9 $$": "killed by signal 9 (out of memory?)",
    "kill -15 $$": "killed by signal 15 (Terminated)",
    "sh -c 'kill -9 $$'; exit $?": "killed by signal 9 (out of memory?)",
    "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1": (
        "g++: fatal error: Killed signal terminated program cc1plus (out of memory?)"
    ),
    "echo 'ld: final link failed: No space left on device\ncollect2: error: ld' >&2; exit 1": "no space is left in ",
    "echo \"g++: error: unknown value 'native' for '-march'\" >&2; exit 1": "unknown value 'native' for '-march'",
    "echo '-march=native: unrecognized option' >&2; exit 1": "-march=native: unrecognized option",
}


@pytest.mark.parametrize("script", FAILURES)
def test_compiler_error_message_is_reported(use_compiler, tmp_path, script):
    path = use_compiler(script)
    reason = reason_of(compile_library, SOURCE, tmp_path)
    assert reason.startswith(f"{path} could not compile a training loop: ")
    assert FAILURES[script] in reason


def test_long_compiler_messages_are_cut(use_compiler, tmp_path):
    use_compiler("head -c 5000000 /dev/zero | tr '\\0' 'x' >&2; echo ' error' >&2; exit 1")
    assert len(reason_of(compile_library, SOURCE, tmp_path)) < 1000


def test_reported_compiler_error_omits_lines_and_folders(tmp_path):
    """All loops that fail for the same reason are then reported together."""
    sources = {"first": "int f() { return unknown; }", "second": "\n\n\n  int f() { return unknown; }"}
    reasons = set()
    for name, source in sources.items():
        (tmp_path / name).mkdir()
        reasons.add(reason_of(compile_library, source, tmp_path / name))
    assert len(reasons) == 1
    assert "unknown" in reasons.pop()


def test_compiler_messages_are_requested_in_english(use_compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.ISO-8859-1")
    use_compiler('echo "error: $LC_ALL" >&2; exit 1')
    assert reason_of(compile_library, SOURCE, tmp_path).endswith("error: C")


@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 & wait", "trap '' TERM INT; sleep 60; sleep 60"])
def test_compiler_exceeding_its_time_limit_is_killed(use_compiler, tmp_path, monkeypatch, script):
    monkeypatch.setattr(compiler, "COMPILE_SECONDS", 0.3)
    path = use_compiler(script)
    begun = time.monotonic()
    reason = reason_of(compile_library, SOURCE, tmp_path)
    assert time.monotonic() - begun < 30
    assert reason == f"{path} was killed after 0.3 seconds, the limit; name another compiler in the variable CXX"
    assert [one for one in psutil.Process().children(recursive=True) if "sleep" in one.name()] == []


def test_compiler_hanging_on_its_version_is_killed(use_compiler, monkeypatch):
    monkeypatch.setattr(compiler, "DESCRIBE_SECONDS", 0.3)
    path = use_compiler("sleep 60")
    assert reason_of(target).startswith(f"{path} was killed after 0.3 seconds")


def test_compile_time_limits_allow_for_a_busy_machine():
    assert compiler.COMPILE_SECONDS >= 100 * 3
    assert compiler.DESCRIBE_SECONDS >= 60


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, ""), (1, ""), (128, ""), (255, ""), (-4, "killed by signal 4 (Illegal instruction)"), (139, "signal 11")],
)
def test_error_names_the_signal_that_killed_the_compiler(code, words):
    assert words in killer(code)
    assert bool(killer(code)) == bool(words)


def test_compiler_flags_equal_those_of_stored_results(use_compiler, tmp_path):
    """Other flags would change the bits of every fit."""
    use_compiler(f'echo "$@" > {tmp_path}/arguments; exec c++ "$@"')
    library = compile_library(SOURCE, tmp_path)
    assert (tmp_path / "arguments").read_text().split() == [
        *("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-Wno-psabi"),
        *("-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"),
        "-ffp-contract=off",
        *(f"-I{compiler.INCLUDE}", str(tmp_path / "loop.cpp"), "-o", str(library)),
    ]


def test_keyboard_interrupt_kills_the_compiler(use_compiler, tmp_path):
    use_compiler(f"echo > {tmp_path}/begun; sleep 60")
    program = "from lockstep_bench.bench.native.compiler import target\n"
    program += "try: target()\nexcept KeyboardInterrupt: print('interrupted')"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(2)
    assert process.communicate(timeout=30)[0] == "interrupted\n"


def test_endless_compiler_messages_are_not_kept_in_memory(use_compiler, tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "COMPILE_SECONDS", 0.5)
    path = use_compiler("yes >&2")
    assert reason_of(compile_library, SOURCE, tmp_path).startswith(f"{path} was killed after 0.5 seconds")
    code, messages = compiler.run(["sh", "-c", "yes error | head -c 3000000 >&2; echo last >&2; exit 3"], 60, "sh")
    assert code == 3
    assert len(messages) < 3 * compiler.MOST_MESSAGES
    assert messages.endswith("\nlast\n")


def test_background_process_of_a_compiler_is_not_awaited(tmp_path):
    begun = time.monotonic()
    code, messages = compiler.run(["sh", "-c", f"sleep 30 & echo $! > {tmp_path}/pid; echo done >&2"], 60, "sh")
    assert (code, messages) == (0, "done\n")
    assert time.monotonic() - begun < 20
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_compiler_that_closes_stderr_is_awaited():
    assert compiler.run(["sh", "-c", "echo some >&2; exec 2>&-; sleep 0.3; exit 5"], 60, "sh") == (5, "some\n")
    with pytest.raises(NoCompiler, match=r"killed after 0\.2 seconds"):
        compiler.run(["sh", "-c", "exec 2>&-; sleep 30"], 0.2, "sh")


def test_compiler_that_deletes_its_folder_is_reported(use_compiler, tmp_path):
    (tmp_path / "scratch").mkdir()
    use_compiler(f"rm -r {tmp_path}/scratch")
    assert reason_of(compile_library, SOURCE, tmp_path / "scratch").endswith("it wrote no library")


@pytest.mark.parametrize("write", ["mkfifo", "mkdir", "ln -s /dev/zero", "ln -s nowhere"])
def test_compiler_output_that_is_no_file_is_refused(use_compiler, tmp_path, write):
    use_compiler(f"{write} {tmp_path}/loop.so")
    assert reason_of(compile_library, SOURCE, tmp_path).endswith("it wrote no library")
