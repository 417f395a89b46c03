"""The shell command that repeats stored results, made from what their rows record."""

import json
import re
import shlex
from collections.abc import Iterable

from lockstep_bench.leaderboards.wording.run_facts import ranges
from lockstep_bench.shared.protocol import IMAGES, SETTINGS

CHANGED = re.compile(r"(-modified)?(-\d+s)?$")  # what a preset's name gets: for changed fields, and for a budget


def original_preset(label: str) -> str:
    """Return the name of the preset that a label's protocol started from: "tuned" of "tuned-modified-10s@3f2a"."""
    return CHANGED.sub("", label.partition("@")[0], count=1)


def is_changed(label: str) -> bool:
    """Return whether a preset's label, such as "paper-modified", is that of a changed protocol."""
    return original_preset(label) != label.partition("@")[0]


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
    """Return the shell command that runs splits of one method on one data set under their protocol.

    An unchanged preset is given by its name. For a changed one ("paper-modified", "tuned-10s"), the command also sets
    the fields of its protocol that differ from `original`.

    Args:
        suite: name of the suite.
        dataset: name of the data set.
        method: name of the method.
        splits: numbers of the splits.
        preset: name or label of the preset.
        protocol: complete protocol of the results, as JSON.
        seed: seed of the results.
        original: protocol of the unchanged preset, as JSON; without it, the command sets all fields.
    """
    numbers = ranges(sorted(set(splits)), "-", ",")
    words = ["python", "run_all.py", *_data(suite, dataset), "--methods", method]
    words += ["--splits", numbers, "--preset", original_preset(preset)]
    if is_changed(preset):
        for name, value in changes(protocol, original or "").items():
            words += ["--set", f"{name}={value}"]
    return shlex.join([*words, "--seed", str(seed)])


def _data(suite: str, dataset: str) -> tuple[str, ...]:
    """Return the options that give a data set: its name, or the file of a user's own table."""
    named = ("--suite", suite, "--datasets", dataset)
    try:
        from lockstep_bench import datasets

        return datasets.entry(dataset).command or named
    except Exception:  # a plug-in may raise anything, and a machine that only publishes lacks what `datasets` imports
        return named


def changes(protocol: str, original: str) -> dict[str, str]:
    """Return the fields of a protocol (JSON) that differ from `original` (JSON), with their values.

    All fields are returned if `original` is empty.
    """
    named, before = _values(protocol), _values(original)
    of_images = "network" in named or "network" in before
    defaults = {
        name: setting.default
        for name, setting in SETTINGS.items()
        if setting.since > 1 and (of_images or setting.data != (IMAGES,))
    }
    after, before = named and defaults | named, before and defaults | before
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
