"""Descriptions of runs in words: methods, protocols, versions, failures."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data.frames import groups, listed
from lockstep_bench.leaderboards.wording.formats import counted
from lockstep_bench.shared.protocol import in_words

ONE = re.compile(r"(?<![\w,.])1 (trial|epoch|update|sample|training image|test image)s\b")
NOT_INSTALLED = "not installed"  # as `bench.environment.provenance` records it


class RunWords(NamedTuple):
    """Description, in words, of the results of one suite under one preset."""

    suite: str
    preset: str
    methods: list[str]
    cells: str  # "400 finished, 2 diverged"
    protocol: str
    seeds: str


class ProvenanceWords(NamedTuple):
    """Description, in words, of where the numbers of a page come from: code, data, seeds and machines."""

    code: str
    devices: str
    hosts: str
    versions: str
    dates: str


def runs(cells: pd.DataFrame) -> list[RunWords]:
    """Return one description per suite and preset of the result rows."""
    entries = []
    shown = cells[["suite", "preset", "method", "status", "seed", "protocol"]]  # all columns take far longer to split
    for (suite, preset), part in groups(shown, ["suite", "preset"]):
        count = Counter(listed(part["status"])).most_common()
        words = [f"{n} {'finished' if s == 'ok' else s}" for s, n in sorted(count, key=lambda pair: pair[0] != "ok")]
        seeds = sorted(part["seed"].unique())
        entries.append(
            RunWords(
                suite,
                preset,
                sorted(part["method"].unique()),
                ", ".join(words),
                protocol_in_words(part["protocol"].iloc[0]),
                f"{'seed' if len(seeds) == 1 else 'seeds'} {_listed(seeds)}",
            )
        )
    return entries


@cache
def protocol_in_words(protocol: str) -> str:
    """Return a protocol (complete, as JSON) as a phrase; unknown keys are appended unchanged."""
    try:
        return ONE.sub(r"1 \1", in_words(json.loads(protocol)))
    except (ValueError, AttributeError):
        return protocol


def provenance(cells: pd.DataFrame) -> ProvenanceWords:
    """Return code, machines, versions and dates of the result rows, of which there must be at least one."""
    code = cells[["code_revision", "code_dirty"]].drop_duplicates().sort_values("code_revision")
    first, last = cells["finished_at"].min().date(), cells["finished_at"].max().date()
    return ProvenanceWords(
        _listed(revision(commit, dirty) for commit, dirty in code.itertuples(index=False, name=None)),
        _listed(sorted(cells["device"].unique())),
        _listed(sorted(cells["host"].unique())),
        versions(tuple(cells["versions"].unique())),
        str(first) if first == last else f"{first} to {last}",
    )


def revision(commit: str, dirty: bool | None) -> str:
    """Return the abbreviated commit, followed by a note if the code had uncommitted changes."""
    return commit[:12] + (" with uncommitted changes" if dirty is True else "")


@cache
def versions(documents: tuple[str, ...]) -> str:
    """Return the package versions in several JSON documents as text: "numpy 2.2.0, torch 2.6.0 and 2.7.1".

    A package that only some runs had is followed by "(not in all runs)".
    """
    by_package: dict[str, set[str]] = {}
    for document in documents:
        try:
            for package, version in json.loads(document).items():
                by_package.setdefault(package, set()).add(str(version))
        except (ValueError, AttributeError):
            by_package.setdefault("unreadable", set()).add(document)
    return ", ".join(f"{package} {_versions(found)}" for package, found in sorted(by_package.items()))


def _versions(found: set[str]) -> str:
    installed = found - {NOT_INSTALLED}
    return " and ".join(sorted(installed or found)) + (" (not in all runs)" if installed and installed < found else "")


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


class Failure(NamedTuple):
    """Results of one method that failed with the same status and error."""

    suite: str
    dataset: str
    method: str
    preset: str
    status: str
    splits: str
    gist: str  # the last line of the error, where Python says what happened
    error: str  # whole, if it has more lines


def failures(cells: pd.DataFrame) -> list[Failure]:
    """Return the failed results; those with the same method, status, seed and error share an entry."""
    keys = ["suite", "dataset", "method", "preset", "status", "seed", "error"]
    bad = cells.loc[cells["status"] != "ok", [*keys, "split"]].fillna({"error": ""})
    several_seeds = len(cells["seed"].unique()) > 1
    entries = []
    splits_of: dict[tuple[Any, ...], set[int]] = {}
    for *key, split in zip(*(listed(bad[name]) for name in (*keys, "split")), strict=True):
        splits_of.setdefault(tuple(key), set()).add(split)
    for (suite, dataset, method, preset, status, seed, error), of_error in sorted(splits_of.items()):
        splits = sorted(of_error)
        label = f"{'split' if len(splits) == 1 else 'splits'} {ranges(splits)}"
        if several_seeds:
            label += f", seed {seed}"
        lines = [line for line in error.splitlines() if line.strip()] or ["no error text"]
        whole = error if len(lines) > 1 else ""
        entries.append(Failure(suite, dataset, method, preset, status, label, lines[-1].strip(), whole))
    return entries


def ranges(numbers: list[int], to: str = "–", then: str = ", ") -> str:
    """Return sorted, distinct numbers as text, with three or more consecutive ones as a range: "0, 1, 4–9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return then.join(f"{run[0]}{to}{run[-1]}" if len(run) > 2 else then.join(map(str, run)) for run in runs)


def cells_in_words(cells: pd.DataFrame) -> str:
    """Return a text on the size of a set of results: "400 cells: 5 methods on 10 data sets"."""
    methods, sets = cells["method"].nunique(), cells["dataset"].nunique()
    return f"{counted(len(cells), 'cell')}: {counted(methods, 'method')} on {counted(sets, 'data set')}"
