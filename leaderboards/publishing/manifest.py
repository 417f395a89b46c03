"""The checksums file of a published folder, which also identifies the files that publishing wrote."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUMS = "SHA256SUMS"
MARKER = ".lockstep-bench"  # only a folder or branch that holds it is ever replaced
MARKER_TEXT = "Published by `python -m leaderboards publish`, which replaces what it put here.\n"

# Files for hosts and git, not for readers; checksums leave them out, because a host may not serve them.
HIDDEN = {
    MARKER: MARKER_TEXT,
    ".nojekyll": "",  # GitHub serves the files as they are
    ".gitattributes": "* -text\n",  # line ends stay as they are, so that checksums hold in every checkout
}


def seal(folder: Path) -> None:
    """Write into a folder the checksums of its files, in the format of `sha256sum`, and files that web hosts need."""
    lines = []
    for name in files(folder):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        lines.append(f"{digest}  {name}\n")
    for name, content in (HIDDEN | {SUMS: "".join(lines)}).items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")


def files(folder: Path) -> list[str]:
    """Return the names of all files below a folder, relative to it, sorted."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file()
    )


def foreign(present: Iterable[str], sums: str) -> list[str]:
    """Return the names in `present` that are neither in the text `sums` of a checksums file nor written by `seal`."""
    ours = {line.split("  ", 1)[-1] for line in sums.splitlines()} | {SUMS, *HIDDEN}
    return sorted(set(present) - ours)
