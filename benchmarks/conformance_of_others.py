"""Checks of other libraries of approximate inference, by the checks that our own methods pass.

    python -m venv ivon && ivon/bin/pip install -e . ivon-opt==0.1.3
    ivon/bin/python -m benchmarks.conformance_of_others ivon-opt
    python -m benchmarks.conformance_of_others --table

The first command installs a library beside this project, the second runs the checks of `python -m methods check` on its
wrappers (`benchmarks.libraries`) and keeps the outcomes in `benchmarks/libraries/conformance.csv`, in place of earlier
ones of the same library. Without a name all installed libraries are checked. `--table` prints the kept table.

A fit has as many updates as the wrapper says in the checks against the conjugate posterior, and 60 in all others. One
check is new: a fit has the same bits in three processes with different values of PYTHONHASHSEED.
"""

import csv
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from optuna.distributions import FloatDistribution

from lockstep_bench.shared.door import Door
from benchmarks.libraries.wrapping import Wrapper, precisions

# Library -> the module that wraps it.
LIBRARIES = {
    "posteriors": "of_posteriors",
    "laplace-torch": "of_laplace_torch",
    "ivon-opt": "of_ivon",
    "vbll": "of_vbll",
    "torch-uncertainty": "of_torch_uncertainty",
    "lightning-uq-box": "of_lightning_uq_box",
    "sklearn-contrib-bde": "of_bde",
}
KEPT = Path(__file__).parent / "libraries" / "conformance.csv"
RECOVERS, SAME_BITS, RANGES = "conjugate posterior", "deterministic", "finite over its search spaces"
ELSEWHERE = "same bits in other processes"
UPDATES = 60  # of the checks besides the posterior, as of our own methods over their search spaces
HASH_SEEDS = ("1", "2", "3")  # of processes: they order a set of texts in different ways
ROOT = Path(__file__).resolve().parents[1]

app = Door()


class Outcome(NamedTuple):
    """Outcome of a check of a wrapper; all fields are strings.

    Attributes:
        library: name of the library.
        version: version of the library that was installed.
        method: name of the wrapper.
        judged_against: the posterior with which the method is compared.
        check: title of the check.
        outcome: "passed", "failed", "not applicable" or "not run".
        detail: what was measured, or why it failed or was not run.
        beside: versions of Python and torch.
    """

    library: str
    version: str
    method: str
    judged_against: str
    check: str
    outcome: str
    detail: str
    beside: str


def wrappers(library: str) -> tuple[type[Wrapper], ...]:
    """Return the wrappers of a library, which need not be installed."""
    methods: tuple[type[Wrapper], ...] = import_module(f"benchmarks.libraries.{LIBRARIES[library]}").METHODS
    return methods


def installed(library: str) -> str | None:
    """Return the installed version of a library, or None."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def outcomes(kind: type[Wrapper]) -> Iterator[tuple[str, str, str]]:
    """Run all checks on a wrapper and yield title, outcome and detail of each."""
    from lockstep_bench.bench.conformance import RULES, check

    columns = (SAME_BITS, RANGES)
    short = [title for title in RULES if title != RECOVERS and (kind.all_checks or title in columns)]
    for method, titles in ((kind(), [RECOVERS]), (kind(UPDATES), short)):
        for finding in check(method, titles):
            yield finding.check, word(finding.passed, finding.detail), finding.detail
    for title in RULES:
        if title != RECOVERS and title not in short:
            yield title, "not run", "a fit takes long, and the check is in no column of the table"


def word(passed: bool, detail: str) -> str:
    """Return `failed`, `passed`, or `not applicable` if the detail says that there was nothing to check."""
    if not passed:
        return "failed"
    beginnings = "not applicable", "not checked", "not measured", "not compared", "no:", "the method has no training"
    return "not applicable" if detail.startswith(beginnings) else "passed"


def in_other_processes(library: str, only: str = "") -> dict[str, tuple[str, str]]:
    """Return outcome and detail of the comparison of bits between processes, for all wrappers or `only` one."""
    code = "import torch; torch.set_num_threads(1); from benchmarks.conformance_of_others import digests; "
    code += f"digests({library!r}, {only!r})"
    runs = []
    for seed in HASH_SEEDS:
        command = [sys.executable, "-W", "ignore", "-c", code]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        printed = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(printed.stdout.splitlines()[-1]))
    found = {}
    for name in runs[0]:
        results = len({run[name] for run in runs})
        equal = "equal bits" if results == 1 else f"{results} results for one seed"
        found[name] = "passed" if results == 1 else "failed", f"{len(HASH_SEEDS)} processes give {equal}"
    return found


def digests(library: str, only: str) -> None:
    """Print the hashes of `digest` for all wrappers of a library or for one, as JSON on one line."""
    kinds = [kind for kind in wrappers(library) if only in ("", kind.name)]
    typer.echo(json.dumps({kind.name: digest(kind) for kind in kinds}))


def digest(kind: type[Wrapper]) -> str:
    """Return a hash of the bits of a fit's predictions on the regression of the checks."""
    from lockstep_bench.bench.conformance.examined import REGRESSION, Examined

    predictive = Examined(kind(UPDATES), [REGRESSION]).single_fit(REGRESSION, 0)
    return hashlib.sha256(b"".join(part.numpy().tobytes() for part in predictive)).hexdigest()


def read(path: Path = KEPT) -> list[Outcome]:
    """Return the kept outcomes."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [Outcome(**row) for row in csv.DictReader(file)]


def write(rows: Sequence[Outcome], path: Path = KEPT) -> None:
    """Keep outcomes, in the order of `LIBRARIES`."""
    names = list(LIBRARIES)
    ordered = sorted(rows, key=lambda row: names.index(row.library))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Outcome._fields)
        writer.writerows(ordered)


def table(rows: Sequence[Outcome], failures: dict[tuple[str, str], str] | None = None) -> str:
    """Return the kept outcomes as a table in Markdown, a line per wrapper.

    Args:
        rows: the outcomes.
        failures: (wrapper, check) -> heading of the section that explains a failure, to link to.
    """
    lines = ["| library | method | judged against | recovers two linear posteriors | same bits for same seed "]
    lines[0] += "| survives its ranges | other checks |"
    lines.append("|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row.method for row in rows):
        of_method = {row.check: row for row in rows if row.method == name}
        first = next(iter(of_method.values()))
        cells = [f"{first.library} {first.version}", f"`{name}`", first.judged_against]
        cells += [_cell([of_method[RECOVERS]], failures), _cell([of_method[SAME_BITS], of_method[ELSEWHERE]], failures)]
        cells.append(_cell([of_method[RANGES]], failures))
        others = [row for row in of_method.values() if row.check not in (RECOVERS, SAME_BITS, ELSEWHERE, RANGES)]
        cells.append(_others(others))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(rows: list[Outcome], failures: dict[tuple[str, str], str] | None) -> str:
    failed = [row for row in rows if row.outcome == "failed"]
    if not failed:
        return "yes" if all(row.outcome == "passed" for row in rows) else rows[0].outcome
    anchor = (failures or {}).get((failed[0].method, failed[0].check))
    return f"[no]({anchor})" if anchor else "no"


def _others(rows: list[Outcome]) -> str:
    failed = [row.check for row in rows if row.outcome == "failed"]
    passed = sum(row.outcome == "passed" for row in rows)
    return f"{passed} passed" + (f"; failed: {', '.join(failed)}" if failed else "")


def ranges(libraries: Sequence[str]) -> str:
    """Return the ranges that the wrappers of libraries search, besides both precisions, as a table in Markdown."""
    from lockstep_bench.bench.conformance.examined import REGRESSION

    lines = ["| method | tuned | updates | ranges from |", "|---|---|---|---|"]
    for kind in (kind for library in libraries for kind in wrappers(library)):
        space = kind().search_space(REGRESSION)
        tuned = [
            f"`{name}` from {one.low:g} to {one.high:g}"
            for name, one in space.items()
            if isinstance(one, FloatDistribution) and name not in precisions(REGRESSION)
        ]
        words = ", ".join(tuned) or "precisions alone" if space else "nothing"
        lines.append(f"| `{kind.name}` | {words} | {kind.usual_updates:,} | {kind.ranges_from} |")
    return "\n".join(lines)


@app.command()
def main(
    libraries: Annotated[list[str] | None, typer.Argument(help="Libraries to check; by default all installed.")] = None,
    only: Annotated[str, typer.Option(help="Check this wrapper alone, such as vbll-dense.")] = "",
    show: Annotated[bool, typer.Option("--table", help="Print the kept table and check nothing.")] = False,
) -> None:
    """Check the wrappers of other libraries and keep the outcomes."""
    if show:
        typer.echo(table(read()))
        return
    import torch

    torch.set_num_threads(1)
    chosen = libraries or [library for library in LIBRARIES if installed(library)]
    unknown = [library for library in chosen if library not in LIBRARIES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)} is not wrapped; wrapped are {', '.join(LIBRARIES)}")
    missing = [library for library in chosen if not installed(library)]
    if missing or not chosen:
        needs = " ".join(dict.fromkeys(wrappers(library)[0].requirement for library in missing or LIBRARIES))
        raise typer.BadParameter(f"not installed: pip install {needs}, best each in an environment of its own")
    for library in chosen:
        rows = list(_checked(library, only))
        write([row for row in read() if row.method not in {row.method for row in rows}] + rows)


def _checked(library: str, only: str) -> Iterator[Outcome]:
    import torch

    beside = f"Python {platform.python_version()}, torch {torch.__version__}"
    elsewhere = in_other_processes(library, only)
    for kind in wrappers(library):
        if only in ("", kind.name):
            for title, outcome, detail in (*outcomes(kind), (ELSEWHERE, *elsewhere[kind.name])):
                typer.echo(f"{kind.name}: {outcome}: {title}: {detail}")
                found = installed(library) or ""
                yield Outcome(library, found, kind.name, kind.judged_against, title, outcome, detail, beside)


if __name__ == "__main__":
    app()
