"""Search for the system's C++ compiler, and calls of it."""

import errno
import os
import platform
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from lockstep_bench.shared.texts import capped

INCLUDE = Path(__file__).parent / "include"
FLAGS = (
    *("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-Wno-psabi"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"),
    # Only `multiply_add` in the source is fused. Which other products a compiler would fuse with their sums depends on
    # the code around them, and a fit would not have the same bits in both memory layouts.
    "-ffp-contract=off",
)
COMPILERS = ("c++", "g++", "clang++")
ANOTHER = "name another compiler in the variable CXX"

# Limits in seconds: on an idle core, a compiler describes itself in 0.02, and compiles a loop in 0.3 to 3.
DESCRIBE_SECONDS, COMPILE_SECONDS = 60, 300
POLL_SECONDS = 0.05
MOST_MESSAGES = 1 << 18  # bytes, at the beginning and at the end
LONGEST_REASON = 300  # characters


class NoCompiler(RuntimeError):
    """There is no C++ compiler, or it fails to compile a training loop."""


@cache
def compiler() -> tuple[str, ...]:
    """Return the command of the C++ compiler, its path first: the command in CXX, or else an installed compiler.

    As for make, the environment variable CXX may hold several words (`ccache g++`).

    Raises:
        NoCompiler: if there is no compiler.
    """
    given = os.environ.get("CXX", "").strip()
    for words in [_words(given)] if given else [[name] for name in COMPILERS]:
        if path := shutil.which(words[0]):
            return path, *words[1:]
    raise NoCompiler(
        f"no C++ compiler was found; looked for {given or ', '.join(COMPILERS)}. "
        "Install one, for example by `apt install g++`, or name one in the variable CXX"
    )


def compiler_name() -> str:
    """Return the command of the compiler as text, for messages."""
    return shlex.join(compiler())


@cache
def target() -> str:
    """Return a text that identifies compiler, version, processor and header files, for keys of the cache.

    Raises:
        NoCompiler: if the compiler is missing or cannot be run.
    """
    command = [*compiler(), "-march=native", "-E", "-v", "-x", "c++", os.devnull]
    described = run(command, DESCRIBE_SECONDS, compiler_name())[1]
    headers = [path.read_text() for path in sorted(INCLUDE.glob("*.hpp"))]
    # The processor's instruction set is among the arguments that the driver passes on.
    lines = [line for line in described.splitlines() if "cc1plus" in line or "version" in line or "-cc1" in line]
    return "\n".join([platform.machine(), *FLAGS, *lines, *headers])


def compile_library(source: str, folder: Path) -> Path:
    """Compile C++ source code in a folder, and return the path of the shared library.

    Raises:
        NoCompiler: if the compiler is missing or rejects the source. The message holds its first error.
        OSError: if the folder cannot be written.
    """
    written, library = folder / "loop.cpp", folder / "loop.so"
    written.write_text(source)
    command = [*compiler(), *FLAGS, f"-I{INCLUDE}", str(written), "-o", str(library)]
    code, messages = run(command, COMPILE_SECONDS, compiler_name())
    if code or not library.is_file():
        raise NoCompiler(f"{compiler_name()} could not compile a training loop: {_reason(code, messages, folder)}")
    return library


def run(command: Sequence[str], seconds: float, name: str) -> tuple[int, str]:
    """Run a command; return its exit code and its output on standard error, in English.

    Args:
        command: the command.
        seconds: time after which the command and all processes that it started are killed.
        name: name of the program that runs, for messages.

    Raises:
        NoCompiler: if the command cannot be started, or takes longer than the limit.
    """
    null, environment = subprocess.DEVNULL, os.environ | {"LC_ALL": "C"}
    try:
        with subprocess.Popen(command, stdin=null, stdout=null, stderr=subprocess.PIPE, env=environment) as process:
            try:
                messages = _messages(process, seconds)
            except BaseException:
                _kill(process)
                raise
    except subprocess.TimeoutExpired:
        raise NoCompiler(f"{name} was killed after {seconds:g} seconds, the limit; {ANOTHER}") from None
    except OSError as error:
        raise NoCompiler(f"{name} cannot be run: {error.strerror}; {ANOTHER}") from error
    return process.returncode, messages.decode(errors="replace")


def killer(code: int) -> str:
    """Return the signal that ended a process, in words; "" if no signal did.

    Args:
        code: exit code of the process. A shell adds 128 to the number of the signal.
    """
    number = -code if code < 0 else code - 128
    if number not in set(signal.valid_signals()):
        return ""
    return f"killed by signal {number} ({'out of memory?' if number == 9 else signal.strsignal(number)})"


def _words(given: str) -> list[str]:
    if shutil.which(given):  # a path with spaces
        return [given]
    try:
        return shlex.split(given)
    except ValueError as error:
        raise NoCompiler(f"the variable CXX cannot be split into words: {error}: {given}") from error


def _messages(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    """Return the beginning and the end of what a process writes to standard error, once it has ended.

    Raises:
        TimeoutExpired: if it has not ended within `seconds`.
    """
    assert process.stderr
    pipe, deadline, first, last = process.stderr.fileno(), time.monotonic() + seconds, b"", b""
    while True:
        ended = process.poll() is not None
        readable = select.select([pipe], [], [], 0 if ended else POLL_SECONDS)[0]
        chunk = os.read(pipe, MOST_MESSAGES) if readable else b""
        if readable and not chunk:
            process.wait(max(0, deadline - time.monotonic()))
        if ended and not chunk:  # what it leaves running, as a cache's server, may keep the pipe
            return first + (b"\n" + last if last else b"")
        if len(first) < MOST_MESSAGES:
            first += chunk
        else:
            last = (last + chunk)[-MOST_MESSAGES:]
        if time.monotonic() > deadline:
            raise subprocess.TimeoutExpired(process.args, seconds)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it has started, such as the compiler proper of a driver or a script."""
    import psutil

    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()


def _reason(code: int, messages: str, folder: Path) -> str:
    """Return why a compiler failed, in a line that is equal for all loops that fail for this reason."""
    if signal_in_words := killer(code):
        return signal_in_words
    if any(os.strerror(number) in messages for number in (errno.ENOSPC, errno.EDQUOT)):
        return f"no space is left in {folder.parent}, or in {tempfile.gettempdir()}; make room there"
    if not code:
        return "it wrote no library"
    lines = [line for line in messages.replace(f"{folder}{os.sep}", "").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    reason = [*errors, *lines[-1:], f"exit code {code}, without a message"][0]
    killed = " (out of memory?)" if "Killed" in reason else ""  # the compiler proper, of which the driver tells
    return capped(re.sub(r"(?<=loop\.cpp)(:\d+)+", "", reason), LONGEST_REASON) + killed
