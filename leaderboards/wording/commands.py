"""The command that makes cells again, from what their rows say."""

import json
import shlex
from collections.abc import Iterable

from leaderboards.wording.ran import ranges

# What a row was run with where its protocol does not name these fields: they came later than the first results.
UNSAID = {"space": "paper", "likelihood": "gaussian", "stream_length": 100_000, "max_updates": None}
UNSAID_OF_IMAGES = {
    "schedule": "constant",
    "max_train": None,
    "max_test": None,
    "max_shifted": 1000,
    "start": "random",
    "precision": "float32",
}
MODIFIED = "-modified"


def command(
    suite: str,
    dataset: str,
    method: str,
    splits: Iterable[int],
    preset: str,
    protocol: str,
    seed: int,
    original: str | None = None,
) -> str:
    """The shell command that runs these splits of one method on one data set as they were run.

    A preset as it is needs no more than its name. Of one that was changed ("paper-modified") the row does not say what
    it differs in. Where the protocol (JSON) of the preset as it is, `original`, is at hand, the fields that differ are
    set; else all are.
    """
    plain = preset.partition("@")[0]
    numbers = ranges(sorted(set(splits)), "-", ",")
    words = ["python", "run_all.py", "--suite", suite, "--datasets", dataset, "--methods", method]
    words += ["--splits", numbers, "--preset", plain.removesuffix(MODIFIED)]
    if plain.endswith(MODIFIED):
        for name, value in changes(protocol, original or "").items():
            words += ["--set", f"{name}={value}"]
    return shlex.join([*words, "--seed", str(seed)])


def changes(protocol: str, original: str) -> dict[str, str]:
    """The fields of a protocol (JSON) that differ from those of another, with their values; all if that is empty."""
    before = _resolved(original)
    return {
        name: "none" if value is None else str(value)
        for name, value in _resolved(protocol).items()
        if name not in before or before[name] != value
    }


def _resolved(protocol: str) -> dict[str, object]:
    """All fields of a protocol (JSON) that a command can set; none of one that cannot be read."""
    try:
        said = dict(json.loads(protocol))
    except (ValueError, TypeError):
        return {}
    return UNSAID | (UNSAID_OF_IMAGES if "network" in said else {}) | said
