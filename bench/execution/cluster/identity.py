"""The version of the code on a machine. Dask workers report theirs, and get jobs only if it equals the driver's.

Imports no large library at the top.
"""

import hashlib
import os
import platform
from collections.abc import Awaitable, Callable
from dataclasses import astuple, dataclass
from importlib.metadata import PackageNotFoundError, version

from lockstep_bench.bench.environment.code_identity import PACKAGES, folder_of
from lockstep_bench.bench.environment.provenance import code_revision, host
from lockstep_bench.bench.execution.cluster.remote import Needs


@dataclass(frozen=True)
class Identity:
    """The code version, machine and GPUs of a process.

    Attributes:
        host: Name of the machine.
        gpus: Value of CUDA_VISIBLE_DEVICES; "" if it is not set.
        python: Version of Python, such as "3.12".
        package: Version of this package, or "not installed".
        revision: Git commit, or "unversioned"; followed by "with edits" if tracked files differ from the commit.
        sources: SHA-256 of the source files that are on the disk now.
        stale: Whether the source files have changed since the process loaded them.
    """

    host: str
    gpus: str
    python: str
    package: str
    revision: str
    sources: str
    stale: bool

    def differs(self, other: "Identity") -> str | None:
        """Return how the code of this Dask worker differs from the driver's, `other`, in words; None if equal."""
        for name, got, wanted in (
            ("Python", self.python, other.python),
            ("package version", self.package, other.package),
            ("revision", self.revision, other.revision),
            ("source files of SHA-256", self.sources[:12], other.sources[:12]),
        ):
            if got != wanted:
                return f"it has {name} {got}, and here is {wanted}"
        return "its code was changed after it had been started" if self.stale else None


def identity() -> Identity:
    """Return the code version, machine and GPUs of this process."""
    commit, dirty = code_revision.__wrapped__()  # without the cache, because the process may be days old
    return Identity(
        host(),
        os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        ".".join(platform.python_version_tuple()[:2]),
        _package(),
        f"{commit}{' with edits' if dirty else ''}",
        sources(),
        sources() != LOADED,
    )


def question(needs: Needs, expected: Identity) -> Callable[[], Awaitable[str | tuple[str, str, list[str]]]]:
    """Return a function that checks, on a Dask worker, whether it can run the jobs.

    The function returns the worker's host, its GPUs, and the reasons why it cannot run the jobs; or an error as text.
    It is pickled as code, not by name, and contains only plain values. It therefore also runs on a machine without
    this package. Missing data are downloaded in a thread, so that the Dask worker keeps contact with the scheduler.

    Args:
        needs: What the jobs need.
        expected: The identity that the Dask worker should have.
    """
    wanted, code = (needs.published, needs.wanted), astuple(expected)

    async def ask() -> str | tuple[str, str, list[str]]:
        try:
            import asyncio

            from lockstep_bench.bench.execution.cluster import identity, remote

            mine = identity.identity()
            if difference := mine.differs(identity.Identity(*code)):
                return mine.host, mine.gpus, [f"is refused: {difference}"]
            lacks = await asyncio.to_thread(remote.missing_needs, remote.Needs(*wanted))
            return mine.host, mine.gpus, [f"lacks {lack}" for lack in lacks]
        except Exception as problem:  # another version of this package may raise anything
            return f"{type(problem).__name__}: {problem}"

    return ask


def sources() -> str:
    """Return the SHA-256 of all Python files of `PACKAGES`, in hexadecimal."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        folder = folder_of(package)
        for path in sorted(folder.rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder.parent).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _package() -> str:
    try:
        return version("lockstep-bench")
    except PackageNotFoundError:
        return "not installed"


LOADED = sources()
