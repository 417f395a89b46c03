"""The command that makes cells again, from what their rows say."""

import json
import shlex
from collections.abc import Iterable

# Fields of a protocol that `run_all.py` has an option for, and what a row that does not name them was run with. A
# network that is not named is the suite's own, for which there is no option.
OPTIONS = {
    "trials": None,
    "folds": None,
    "epochs": None,
    "sampler": None,
    "space": "paper",
    "likelihood": "gaussian",
    "network": None,
}
MODIFIED = "-modified"


def command(
    suite: str, dataset: str, method: str, splits: Iterable[int], preset: str, protocol: str, seed: int
) -> str:
    """The shell command that runs these splits of one method on one data set as they were run.

    A preset as it is needs no more than its name. Of one that was changed ("paper-modified") the row does not say what
    it differs in, so every option that can have been given is named with the value that it had.
    """
    plain = preset.partition("@")[0]
    words = ["python", "run_all.py", "--suite", suite, "--datasets", dataset, "--methods", method]
    words += ["--splits", ",".join(_runs(sorted(set(splits)))), "--preset", plain.removesuffix(MODIFIED)]
    if plain.endswith(MODIFIED):
        words += [word for name, value in _resolved(protocol).items() for word in (f"--{name}", str(value))]
    return shlex.join([*words, "--seed", str(seed)])


def _resolved(protocol: str) -> dict[str, object]:
    """Those fields of a protocol (JSON) that have an option; none of one that cannot be read."""
    try:
        said = {name: value for name, value in json.loads(protocol).items() if name in OPTIONS}
    except (ValueError, AttributeError):
        return {}
    values = {name: said.get(name, default) for name, default in OPTIONS.items()}
    return {name: value for name, value in values.items() if value is not None}


def _runs(numbers: list[int]) -> list[str]:
    """Sorted, distinct numbers as ranges: "0-4", "7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in runs]
