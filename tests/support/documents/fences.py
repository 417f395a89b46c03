"""Fenced code of documents, and how a page's steps are run as a reader would run them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r'^(?:<!-- not run: (.+?) -->\n+)?^```(\w*)(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL
)
OFFLINE = "--quiet --no-deps --no-build-isolation --no-index --disable-pip-version-check"


@dataclass(frozen=True)
class Fence:
    """A fenced block of code.

    Attributes:
        language: "python", "bash", "toml" or another; "" if none is named.
        title: path of the file that it shows, relative to the reader's folder; "" for code that is run.
        code: its text.
        not_run: reason why it is not run, from a comment `<!-- not run: REASON -->` before it; "" if it is run.
    """

    language: str
    title: str
    code: str
    not_run: str = ""


def fences(path: Path) -> list[Fence]:
    """Return the fenced blocks of a Markdown file."""
    found = FENCE.findall(path.read_text(encoding="utf-8"))
    return [Fence(language, title, code, reason) for reason, language, title, code in found]


def run(fence: Fence, folder: Path, root: Path, environment: Mapping[str, str]) -> str:
    """Write the file that a block shows, or run its code; return what it prints.

    `pip install -e FOLDER` installs without a network, into the folder `site`.

    Args:
        fence: the block.
        folder: the reader's folder.
        root: the checkout, whose commands are run.
        environment: further variables of the environment.

    Raises:
        AssertionError: if the code fails, or its language cannot be run.
    """
    if fence.title:
        path = folder / fence.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fence.code)
        return ""
    assert fence.language in ("python", "bash"), f"{fence.language!r} is not run; give the block a title or a reason"
    python, site = Path(sys.executable), folder / "site"
    code = re.sub(
        r"^pip install -e (\S+)$", rf"python -m pip install {OFFLINE} --target {site} ./\1", fence.code, flags=re.M
    )
    command = [str(python), "-c", code] if fence.language == "python" else ["bash", "-e", "-c", code]
    paths = {"PATH": f"{python.parent}:{os.environ['PATH']}", "PYTHONPATH": f"{site}:{root}"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | paths | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{fence.code}\n{done.stdout}\n{done.stderr}"
    return done.stdout
