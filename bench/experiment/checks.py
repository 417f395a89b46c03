"""Outcomes of `python -m methods check` for third-party methods, stored in the user's cache folder.

An outcome is valid for the method's present code and the code of this project that it imports. After a change of
either, the method counts as not checked.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from lockstep_bench.bench.environment.code_identity import code_identity
from lockstep_bench.bench.experiment.code import code_of
from lockstep_bench.methods.catalogue.registry import BUILT_IN, ENSEMBLE, UnknownMethod, target
from lockstep_bench.shared.method_names import registered


def keep_outcome(method: str, failed: Sequence[str]) -> None:
    """Store the outcome of all checks of a third-party method.

    Args:
        method: name of the method; for methods of this project nothing is stored.
        failed: titles of the checks that the method failed.
    """
    if file := _file(method):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"method": method, "failed": list(failed)}), encoding="utf-8")


def outcome_of_check(method: str) -> str | None:
    """Return whether the present code of a method passed its checks, as a key of `shared.schema.CHECKED`.

    The result is None for methods of this project. An ensemble, or a method with options in its name, has the outcome
    of the plain method.
    """
    file = _file(method)
    if file is None:
        return None
    try:
        return "failed" if json.loads(file.read_text(encoding="utf-8"))["failed"] else "passed"
    except (OSError, ValueError, KeyError):
        return "not checked"


def _file(method: str) -> Path | None:
    """Return the file of a method's present code; None for a method of this project, and for an estimator."""
    from platformdirs import user_cache_path

    name = registered(method.removeprefix(ENSEMBLE))
    if name in BUILT_IN:
        return None
    try:
        identity = code_identity(*code_of(target(name)))
    except UnknownMethod:
        return None
    except (ImportError, OSError, SyntaxError):
        identity = "unreadable"
    return user_cache_path("lockstep-bench") / "checks" / f"{identity}.json"
