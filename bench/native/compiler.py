"""Compiles C++ to shared libraries, which stay in the user's cache folder from run to run."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

INCLUDE = Path(__file__).parent / "include"
FLAGS = (
    *("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-Wno-psabi"),
    *("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fno-strict-aliasing"),
)
CACHE_VARIABLE = "BENCH_NATIVE_CACHE"
COMPILERS = ("c++", "g++", "clang++")


# Needs the headers and, to be loaded, the instructions that the flags allow.
TRIAL = '#include "lanes.hpp"\nextern "C" int width() { return W; }\n'


class NoCompiler(RuntimeError):
    """There is no C++ compiler, or it cannot compile a training loop."""


def cache_folder() -> Path:
    """Return the folder of compiled loops: BENCH_NATIVE_CACHE, by default one in the user's cache folder."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else user_cache_path("lockstep-bench") / "native"


@cache
def compiler() -> str:
    """Return the path of the C++ compiler: that of the variable CXX, or the first that is installed.

    Raises:
        NoCompiler: if there is none.
    """
    names = (os.environ["CXX"],) if os.environ.get("CXX") else COMPILERS
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise NoCompiler(
        f"no C++ compiler was found; looked for {', '.join(names)}. "
        "Install one, for example by `apt install g++`, or name one in the variable CXX"
    )


@cache
def target() -> str:
    """Return a text that differs between compilers, versions, processors and headers."""
    command = [compiler(), "-march=native", "-E", "-v", "-x", "c++", os.devnull]
    described = subprocess.run(command, capture_output=True, text=True, check=False)
    headers = [path.read_text() for path in sorted(INCLUDE.glob("*.hpp"))]
    # The processor's instruction set is among the arguments that the driver passes on.
    lines = [line for line in described.stderr.splitlines() if "cc1plus" in line or "version" in line or "-cc1" in line]
    return "\n".join([platform.machine(), *FLAGS, *lines, *headers])


def compiled(source: str) -> ctypes.CDLL:
    """Return the library of a source, from the cache if it was compiled before.

    Several processes may compile the same source at once; each library appears complete or not at all. One that a power
    failure or another program has damaged is compiled anew: to load it could kill the process.

    Raises:
        NoCompiler: if the compiler is missing or rejects the source. The message holds its first error.
    """
    key = hashlib.sha256(f"{target()}\n{source}".encode()).hexdigest()[:32]
    try:
        library = _stored(key) or _store(source, key)
    except OSError as error:
        raise NoCompiler(f"the cache of compiled loops cannot be written: {error}; set {CACHE_VARIABLE}") from error
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise NoCompiler(
            f"a compiled loop cannot be loaded: {error}; set {CACHE_VARIABLE} to another folder"
        ) from error


def lanes() -> int:
    """Return how many replicas a loop trains at once on this machine.

    Raises:
        NoCompiler: if loops cannot be compiled.
    """
    return int(compiled(TRIAL).width())


def obstacle() -> str | None:
    """Return why no loop can be compiled on this machine; None if loops can be."""
    try:
        lanes()
    except (NoCompiler, OSError) as reason:
        return str(reason)
    return None


def _stored(key: str) -> Path | None:
    """Return the library that was stored under a key; None if there is none that is still as it was written."""
    for path in cache_folder().glob(f"{key}-*.so"):
        if path.is_file() and path.name == _name(key, path.read_bytes()):
            return path
    return None


def _store(source: str, key: str) -> Path:
    """Compile a source and return the library, whose name holds a digest of its content."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        library = _compile(source, Path(folder))
        with library.open("rb") as file:
            os.fsync(file.fileno())
        return library.replace(cache_folder() / _name(key, library.read_bytes()))


def _name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:32]}.so"


def _compile(source: str, folder: Path) -> Path:
    written, library = folder / "loop.cpp", folder / "loop.so"
    written.write_text(source)
    command = [compiler(), *FLAGS, f"-I{INCLUDE}", str(written), "-o", str(library)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error" in line] or [result.stderr]
        raise NoCompiler(f"{compiler()} could not compile a training loop: {errors[0]}")
    return library
