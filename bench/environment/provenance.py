"""The provenance of a number: code revision, package versions, machine."""

import json
import platform
import socket
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

# Files that change no number. A recheck changes kept results.
NO_CODE = (":(top,exclude)*.md", *(f":(top,exclude){path}" for path in ("docs", "tests", "leaderboards/results")))
PACKAGES = ("torch", "numpy", "optuna", "scikit-learn", "lockstep-bench")


class Revision(NamedTuple):
    """The version of the code that ran: a git commit (or "unversioned"), and whether code files differed from it."""

    commit: str
    dirty: bool | None


@cache
def code_revision() -> Revision:
    """Return the git revision of the checkout that this file is part of."""
    file = Path(__file__).resolve()
    root = file.parents[2]

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        # Fails if this file is an installed copy inside another project's checkout.
        git("ls-files", "--error-unmatch", str(file))
        edits = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", *NO_CODE)
        return Revision(git("rev-parse", "HEAD"), bool(edits))
    except (OSError, subprocess.CalledProcessError):
        return Revision("unversioned", None)


@cache
def versions() -> str:
    """Return the versions of Python and of packages as a JSON object."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "not installed"
    return json.dumps(installed)


def host() -> str:
    """Return this machine's name."""
    return socket.gethostname()
