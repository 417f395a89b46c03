"""The command that makes cells again, from what their rows say."""

import json
import shlex
from collections.abc import Iterable

from bench.experiment.protocol import IMAGES, SETTINGS
from leaderboards.wording.ran import ranges

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
    said, before = _values(protocol), _values(original)
    of_images = "network" in said or "network" in before
    unsaid = {
        name: setting.default
        for name, setting in SETTINGS.items()
        if setting.since > 1 and (of_images or setting.data != (IMAGES,))
    }
    after, before = said and unsaid | said, before and unsaid | before
    return {
        name: "none" if value is None else str(value)
        for name, value in after.items()
        if name not in before or before[name] != value
    }


def _values(protocol: str) -> dict[str, object]:
    """Return the fields that a protocol (JSON) names; none for a text that cannot be read."""
    try:
        return dict(json.loads(protocol))
    except (ValueError, TypeError):
        return {}
