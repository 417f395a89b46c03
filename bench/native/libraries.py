"""Shared libraries for C++ sources, which are compiled or taken from the cache."""

import ctypes
import hashlib
import tempfile
from functools import cache
from pathlib import Path

from lockstep_bench.bench.native import trial
from lockstep_bench.bench.native.compiler import NoCompiler, compile_library, target
from lockstep_bench.bench.native.library_cache import ELSEWHERE, alone, cache_folder, require_folder, store, stored


@cache
def obstacle() -> str | None:
    """Return why loops cannot be compiled on this machine; None if they can. Each process tests this once."""
    try:
        _library(trial.SOURCE)
    except NoCompiler as reason:
        return str(reason)
    return None


def compiled(source: str) -> ctypes.CDLL:
    """Return the library for a C++ source, from the cache if it was compiled before.

    If several processes need the same source, one compiles it and the others wait. Libraries are stored atomically. A
    library that was damaged by a power failure or another program is compiled again, because loading it could kill
    the process.

    Raises:
        NoCompiler: if the source cannot be compiled, or the library cannot be stored or loaded.
    """
    if reason := obstacle():
        raise NoCompiler(reason)
    library = _library(source)
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise NoCompiler(f"a compiled loop cannot be loaded: {error}; {ELSEWHERE}") from error


@cache
def lanes() -> int:
    """Return the number of single-precision lanes in a SIMD value of this machine.

    Raises:
        NoCompiler: if loops cannot be compiled.
    """
    return int(compiled(trial.SOURCE).width())


def _library(source: str) -> Path:
    key = hashlib.sha256(f"{target()}\n{source}".encode()).hexdigest()[:32]
    try:
        if found := stored(key):
            return found
        with alone(key):
            return stored(key) or _compiled(source, key)
    except OSError as error:
        raise NoCompiler(
            f"the cache of compiled loops, {cache_folder()}, cannot be written: {error.strerror or error}; mend that, "
            f"or {ELSEWHERE}"
        ) from error


def _compiled(source: str, key: str) -> Path:
    with tempfile.TemporaryDirectory(dir=require_folder(), ignore_cleanup_errors=True) as scratch:
        library = compile_library(source, Path(scratch))
        if source == trial.SOURCE:  # is kept only if it has run, so the cache remembers that it has
            trial.run_apart(library)
        return store(library, key)
