"""The identity of a machine's code, which each Dask worker states before it is given jobs. Imports nothing heavy."""

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
    """Code, machine and GPUs of a process.

    Attributes:
        host: Name of its machine.
        gpus: Its CUDA_VISIBLE_DEVICES.
        python: Version of Python, as "3.12".
        package: Version of this package, or "not installed".
        revision: Git commit, or "unversioned", and "with edits" where tracked files differ from it.
        sources: SHA-256 of the source files on its disk.
        stale: True if the process has loaded other code than is on its disk now.
    """

    host: str
    gpus: str
    python: str
    package: str
    revision: str
    sources: str
    stale: bool

    def differs(self, other: "Identity") -> str | None:
        """Return how this code, a Dask worker's, differs from `other`, in words; None if it is equal."""
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
    """Return the identity of this process."""
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
    """Return a function for a Dask worker: its host, its GPUs and why it cannot be given jobs, or why it cannot say.

    The function is pickled as code, not by name, and so holds nothing but plain values: a machine without this package
    can answer too. It looks for data in a thread, which may download them, and leaves the Dask worker in touch with its
    scheduler.

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
