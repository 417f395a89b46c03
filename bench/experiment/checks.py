"""Outcomes of `python -m methods check` for methods of other packages, kept in the user's cache folder.

An outcome belongs to the code of a method and of all that it imports from this project. After a change of either, the
method counts as not checked.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from lockstep_bench.bench.environment.code_identity import code_identity
from lockstep_bench.bench.experiment.code import code_of
from lockstep_bench.methods.catalogue.registry import BUILT_IN, ENSEMBLE, UnknownMethod, target
from lockstep_bench.shared.method_names import registered


def keep_outcome(method: str, failed: Sequence[str]) -> None:
    """Keep the outcome of all checks of a method of another package.

    Args:
        method: name of the method; a method of this project is passed over.
        failed: titles of the checks that it failed.
    """
    if file := _file(method):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"method": method, "failed": list(failed)}), encoding="utf-8")


def outcome_of_check(method: str) -> str | None:
    """Return whether the present code of a method passed, a key of `shared.schema.CHECKED`.

    Methods of this project have None. An ensemble, or a method with options, has the outcome of the method without.
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
