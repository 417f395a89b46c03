"""Publication to a branch of the current git repository, without changing its working tree and index."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from lockstep_bench.leaderboards.publishing.manifest import MARKER, SUMS, files, foreign
from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused


class Commit(NamedTuple):
    """The commit that a branch points to after publishing, whether it is new, and the command that pushes it."""

    id: str
    made: bool  # False if the branch held the same files before
    push: str  # the command that publishes it


def publishable(branch: str) -> str | None:
    """Return the parent of the next commit on a branch: the local branch's last commit, else the remote's, else None.

    Raises:
        PublishingRefused: There is no repository, or `branch` is not a valid name, is checked out, or was not made by
            the command `publish`.
    """
    _git("rev-parse", "--git-dir")
    if not branch or branch.startswith("-") or _git("check-ref-format", "--branch", branch, fails=True) != branch:
        raise PublishingRefused(f"'{branch}' is not a valid name of a branch; use, for example, --to branch:gh-pages")
    if f"branch refs/heads/{branch}" in _git("worktree", "list", "--porcelain").splitlines():
        raise PublishingRefused(
            f"branch '{branch}' is checked out, and its working tree would no longer match; name another one"
        )
    parent = _parent(branch)
    if parent and MARKER not in _names(parent):
        raise PublishingRefused(f"branch '{branch}' holds files, and publish did not make it; name another one")
    return parent


def commit_folder(folder: Path, branch: str, message: str) -> Commit:
    """Commit the files of `folder` to `branch`, unless the branch holds the same files; nothing is pushed.

    Files on the branch that `publish` did not write (a CNAME, for example) stay.

    Raises:
        PublishingRefused: `publishable` refuses the branch.
    """
    parent = publishable(branch)
    ours = files(folder)
    paths = "".join(f"{folder / name}\n" for name in ours)
    ids = _git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths).split()
    entries = [f"100644 {id}\t{name}" for id, name in zip(ids, ours, strict=True)]
    if parent:
        entries = _others(parent, ours) + entries
    with tempfile.TemporaryDirectory() as private:
        index = {"GIT_INDEX_FILE": str(Path(private) / "index")}
        _git("update-index", "-z", "--index-info", stdin="".join(f"{entry}\0" for entry in entries), env=index)
        tree = _git("write-tree", env=index)
    if parent and _git("rev-parse", f"{parent}^{{tree}}") == tree:
        new = parent
    else:
        new = _git("commit-tree", tree, *(["-p", parent] if parent else []), "-m", message)
    # git refuses if the branch has moved since its commit was read.
    _git("update-ref", f"refs/heads/{branch}", new, _commit(f"refs/heads/{branch}") or "")
    return Commit(new, new != parent, f"git push {_remote()} {branch}")


def _parent(branch: str) -> str | None:
    remotes = _git("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{branch}").split()
    return _commit(f"refs/heads/{branch}") or (_commit(remotes[0]) if len(remotes) == 1 else None)


def _commit(ref: str) -> str | None:
    return _git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", fails=True) or None


def _names(commit: str) -> list[str]:
    return _git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0")


def _others(parent: str, ours: list[str]) -> list[str]:
    """Return the tree entries of the commit `parent` that publish did not make and that `ours` does not replace."""
    names = _names(parent)
    sums = _git("cat-file", "blob", f"{parent}:{SUMS}") if SUMS in names else ""
    kept = set(foreign(filter(None, names), sums)) - set(ours)
    entries = (line.partition("\t") for line in _git("ls-tree", "-r", "-z", "--full-tree", parent).split("\0") if line)
    # An entry of a tree is "mode type id", one of the index "mode id".
    return [f"{mode} {id}\t{name}" for head, _, name in entries if name in kept for mode, _, id in [head.split()]]


def _remote() -> str:
    remotes = _git("remote").split()
    return remotes[0] if len(remotes) == 1 else "origin"


def _git(*words: str, stdin: str = "", env: dict[str, str] | None = None, fails: bool = False) -> str:
    """Return the output of a git command without the last line end; "" if it fails and `fails` allows that."""
    try:
        done = subprocess.run(
            ["git", *words],
            input=stdin,
            capture_output=True,
            env=os.environ | (env or {}),
            encoding="utf-8",
            errors="surrogateescape",  # file names on a branch are bytes, which need not be UTF-8
        )
    except FileNotFoundError:
        raise PublishingRefused("git was not found; publish to a folder instead: --to DIR") from None
    if done.returncode and not fails:
        reason = done.stderr.strip() or f"exit status {done.returncode}"
        raise PublishingRefused(f"`git {words[0]}` failed: {reason.splitlines()[-1]}")
    return "" if done.returncode else done.stdout.rstrip("\n")
