"""The folder that caches compiled loops between runs. It holds code, so only its owner may write to it."""

import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from lockstep_bench.bench.native.compiler import COMPILE_SECONDS, NoCompiler

CACHE_VARIABLE = "BENCH_NATIVE_CACHE"
ELSEWHERE = f"set {CACHE_VARIABLE} to another folder"
MOST_BYTES = 500_000_000  # of libraries, which have 20 to 100 kB each
# What was used more recently is never removed: another process may be about to load it, or still compile.
IN_USE_SECONDS = 3600
LIBRARY = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.so")


def cache_folder() -> Path:
    """Return the path of the cache: BENCH_NATIVE_CACHE, or by default a folder in the user's cache folder."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else user_cache_path("lockstep-bench") / "native"


def require_folder() -> Path:
    """Return the path of the cache. A missing folder is created, accessible only to this user.

    Raises:
        NoCompiler: if other users may write to the folder.
        OSError: if the folder cannot be created.
    """
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(folder):
        raise NoCompiler(
            f"the cache of compiled loops, {folder}, belongs to another user, who could put code there; {ELSEWHERE}"
        )
    if folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.name == "posix":
        if os.environ.get(CACHE_VARIABLE):
            raise NoCompiler(
                f"others may write to the cache of compiled loops, {folder}, and could put code there; {ELSEWHERE}, or "
                "close this one to others (`chmod 700`)"
            )
        folder.chmod(0o700)  # an earlier version has made it as the umask said
    return folder


def stored(key: str) -> Path | None:
    """Return the path of the library that this user stored under a key; None if it is missing or has changed since.

    Args:
        key: the library's key, 32 hexadecimal digits.
    """
    for path in require_folder().glob(f"{key}-*.so"):
        if path.is_file() and _is_own(path) and path.name == _name(key, path.read_bytes()):
            with suppress(OSError):  # of a disk that may only be read
                os.utime(path)
            return path
    return None


def store(library: Path, key: str) -> Path:
    """Move a library into the cache, atomically, and return its new path.

    Its name consists of the key and a hash of its content, by which `stored` detects changes.
    """
    with library.open("rb") as file:
        os.fsync(file.fileno())
    folder = require_folder()
    path = library.replace(folder / _name(key, library.read_bytes()))
    with suppress(OSError):
        _tidy(folder)
    return path


@contextmanager
def alone(key: str) -> Iterator[None]:
    """Wait until no other process compiles the library of this key, at most for the time limit of the compiler.

    On a file system without locks, and after the time limit, the `with` block runs without the lock.
    """
    path = require_folder() / f".{key}.lock"
    lock = FileLock(path)
    with suppress(Timeout, NotImplementedError):
        lock.acquire(timeout=COMPILE_SECONDS)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # those that wait for it find the library
        lock.release()


def _tidy(folder: Path) -> None:
    """Remove files that killed compilers left, and the least recently used libraries beyond `MOST_BYTES`.

    A library that a process has loaded stays in its memory.
    """
    recent = time.time() - IN_USE_SECONDS
    for source in folder.glob("tmp*/loop.cpp"):
        if source.stat().st_mtime < recent:
            shutil.rmtree(source.parent, ignore_errors=True)
    libraries = [(path.stat(), path) for path in folder.iterdir() if LIBRARY.fullmatch(path.name)]
    excess = sum(facts.st_size for facts, _ in libraries) - MOST_BYTES
    for facts, path in sorted(libraries, key=lambda each: each[0].st_mtime):
        if excess <= 0 or facts.st_mtime > recent:
            break
        path.unlink(missing_ok=True)
        excess -= facts.st_size


def _is_own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:32]}.so"
