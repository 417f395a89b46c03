"""Whether a machine runs the same code: asked of each worker before it is given work. Imports nothing heavy."""

import hashlib
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.environment.provenance import code_revision, host

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("bench", "methods", "datasets")


@dataclass(frozen=True)
class Identity:
    """What a process is.

    Attributes:
        host: its machine's name.
        gpus: its CUDA_VISIBLE_DEVICES.
        python: version of Python, as "3.12".
        package: version of this package, or "not installed".
        revision: git commit, or "unversioned", and "with edits" where tracked files differ from it.
        sources: SHA-256 of the code that is there.
        stale: whether the process has loaded other code than is there now.
    """

    host: str
    gpus: str
    python: str
    package: str
    revision: str
    sources: str
    stale: bool

    def differs(self, other: "Identity") -> str | None:
        """What this one's code, a worker's, has that `other`'s has not, in words; None if they run the same."""
        for what, own, wanted in (
            ("Python", self.python, other.python),
            ("package version", self.package, other.package),
            ("revision", self.revision, other.revision),
            ("source files of SHA-256", self.sources[:12], other.sources[:12]),
        ):
            if own != wanted:
                return f"it has {what} {own}, and here is {wanted}"
        return "its code was changed after it had been started" if self.stale else None


def identity() -> Identity:
    """This process's."""
    commit, dirty = code_revision.__wrapped__()  # what is there now, in a process that may be days old
    return Identity(
        host(),
        os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        ".".join(platform.python_version_tuple()[:2]),
        _package(),
        f"{commit}{' with edits' if dirty else ''}",
        sources(),
        sources() != LOADED,
    )


def asking() -> Callable[[], Identity | str]:
    """A function that travels as code, not as a name, so that a machine without this package can answer as well.

    It returns the `Identity`, or why there is none.
    """

    def ask():
        try:
            from bench.execution.cluster.identity import identity
        except ImportError as problem:
            import socket

            return f"{socket.gethostname()}: {problem}"
        return identity()

    return ask


def sources() -> str:
    """SHA-256 of all Python files of `PACKAGES`, in hexadecimal."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _package() -> str:
    try:
        return version("lockstep-bench")
    except PackageNotFoundError:
        return "not installed"


LOADED = sources()
