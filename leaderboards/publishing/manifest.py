"""What a published folder holds: its checksums, which also tell its own files from anyone else's."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUMS = "SHA256SUMS"
MARKER = ".lockstep-bench"  # only a folder or branch that holds it is ever replaced
MARKER_TEXT = "Published by `python -m leaderboards publish`, which replaces what it put here.\n"

# What hosts and git read but no reader does; checksums pass over it, because a host may not serve it.
HIDDEN = {
    MARKER: MARKER_TEXT,
    ".nojekyll": "",  # GitHub serves the files as they are
    ".gitattributes": "* -text\n",  # line ends stay as they are, so that checksums hold in every checkout
}


def seal(folder: Path) -> None:
    """Add the checksums of all files of `folder`, in the format of `sha256sum`, and what hosts need."""
    lines = []
    for name in files(folder):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        lines.append(f"{digest}  {name}\n")
    for name, content in (HIDDEN | {SUMS: "".join(lines)}).items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")


def files(folder: Path) -> list[str]:
    """Names of all files below `folder`, relative to it, sorted."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file()
    )


def foreign(present: Iterable[str], sums: str) -> list[str]:
    """Those of the files `present` that are neither in the checksums `sums` nor put there by `seal`."""
    ours = {line.split("  ", 1)[-1] for line in sums.splitlines()} | {SUMS, *HIDDEN}
    return sorted(set(present) - ours)
