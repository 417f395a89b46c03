"""Writes a submission: the rows of one or several methods, their package, a description and checksums."""

import json
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.publishing.compact import write_compact
from lockstep_bench.leaderboards.publishing.folder import replace_folder
from lockstep_bench.leaderboards.publishing.manifest import seal
from lockstep_bench.leaderboards.wording.formats import counted
from lockstep_bench.leaderboards.wording.run_facts import cells_in_words, provenance
from lockstep_bench.shared.method_names import registered

DESCRIPTION = "submission.json"
GROUP = "lockstep_bench.methods"  # entry points of methods
LEFT_OUT = ("__pycache__", "*.egg-info", ".*", "build", "dist", "results", "*.parquet")
LARGEST_BYTES = 1 << 20  # of a package

README = """\
# {methods}: results submitted to lockstep-bench

{by} ran {contents}. Code revision: {code}. Finished: {dates}. Machines: {hosts}.

`package/` is the method, `results/` has its rows. Check that no file has changed, and run some of the cells again:

    sha256sum --check SHA256SUMS
    python -m pip install lockstep-bench=={version} ./package
    {recheck}

Until somebody else has done so, these results are self-reported. `lockstep-bench leaderboards standing .` says how they
stand.
"""


class SubmissionRefused(Exception):
    """Raised if a submission cannot be written; the message says what to do."""


def write_submission(results: Leaderboard, package: Path, by: str, folder: Path) -> str:
    """Write a submission of the methods that a package defines, and return what it holds, in words.

    Args:
        results: results that hold rows of these methods; rows of other methods are left out.
        package: folder of the package, with a `pyproject.toml`.
        by: who ran it.
        folder: a folder that is new, empty or was written by this function before; it is replaced as a whole.

    Raises:
        SubmissionRefused: the package defines no method or is too large, or a row's method has no finished row, was not
            checked, or was run from changed code.
        PublishingRefused: `folder` holds other files.
        OSError: a file cannot be written; `folder` stays unchanged.
    """
    methods = methods_of(package)
    rows = results.rows[results.rows["method"].map(registered).isin(methods)]
    _require_complete(rows, methods)
    size = sum(path.stat().st_size for path in package.rglob("*") if path.is_file() and not _is_left_out(path, package))
    if size > LARGEST_BYTES:
        raise SubmissionRefused(
            f"the package '{package}' has {size / 1024:,.0f} KiB; at most {LARGEST_BYTES >> 10:,}; move data and "
            "results out of it"
        )
    contents = cells_in_words(rows)

    def fill(fresh: Path) -> str:
        shutil.copytree(package, fresh / "package", ignore=shutil.ignore_patterns(*LEFT_OUT))
        others = (_of(table, methods) for table in (results.longer, results.recalibrated))
        write_compact(rows, _of(results.timings, methods), [], fresh / "results", *others)
        described = _described(rows, methods, by)
        text = json.dumps(described, indent=1) + "\n"
        (fresh / DESCRIPTION).write_text(text, encoding="utf-8", newline="\n")
        readme = README.format(**described | {"methods": ", ".join(f"`{name}`" for name in methods)})
        (fresh / "README.md").write_text(readme, encoding="utf-8", newline="\n")
        seal(fresh)
        return contents

    return replace_folder(folder, fill)


def methods_of(package: Path) -> list[str]:
    """Return the names of the methods that a package defines, sorted.

    Raises:
        SubmissionRefused: the folder is no package, or defines no method.
    """
    try:
        project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except OSError:
        raise SubmissionRefused(f"'{package}' has no pyproject.toml; give the folder of the method's package") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SubmissionRefused(f"'{package / 'pyproject.toml'}' is not valid TOML: {error}") from None
    names = sorted(project.get("entry-points", {}).get(GROUP, {}))
    if not names:
        raise SubmissionRefused(
            f"'{package / 'pyproject.toml'}' names no method; add [project.entry-points.\"{GROUP}\"] "
            "(docs/adding-a-method.md)"
        )
    return names


def _require_complete(rows: pd.DataFrame, methods: Sequence[str]) -> None:
    """Raise SubmissionRefused unless all methods have finished rows, and rows are of checked methods in known code."""
    for name in methods:
        own = rows[rows["method"].map(registered) == name]
        if not (own["status"] == "ok").any():
            raise SubmissionRefused(f"the results have no finished cell of '{name}'; run the method first")
    unchecked = sorted(set(rows.loc[rows["checked"] != "passed", "method"]))
    if unchecked:
        name = registered(unchecked[0])
        raise SubmissionRefused(
            f"rows of '{name}' were run before its checks passed; run `python -m methods check {name}`, then the cells "
            "again into a new folder"
        )
    if rows["code_dirty"].fillna(value=False).any():
        raise SubmissionRefused(
            "some rows were run from a checkout with uncommitted changes, so nobody can run them again; commit, or "
            "install a released version, and run them into a new folder"
        )


def _described(rows: pd.DataFrame, methods: Sequence[str], by: str) -> dict[str, Any]:
    source = provenance(rows)
    return {
        "methods": list(methods),
        "by": by,
        "contents": cells_in_words(rows),
        "failed": counted(int((rows["status"] != "ok").sum()), "cell"),
        "suites": sorted(set(rows["suite"])),
        "presets": sorted(set(rows["preset"])),
        "code": source.code,
        "dates": source.dates,
        "hosts": source.hosts,
        "version": json.loads(rows["versions"].iloc[-1]).get("lockstep-bench", ""),
        "recheck": "lockstep-bench leaderboards recheck results --cells 5",
    }


def _of(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    return table[table["method"].map(registered).isin(methods)]


def _is_left_out(path: Path, package: Path) -> bool:
    parts = path.relative_to(package).parts
    return any(Path(part).match(pattern) for part in parts for pattern in LEFT_OUT)
