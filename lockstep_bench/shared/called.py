"""Commands in messages, written the way the reader called the program."""

import sys
from pathlib import Path

# How commands are written where the package's own command was called; `python` is another one there.
COMMANDS = {"python run_all.py": "lockstep-bench run"} | {
    f"python -m {package}": f"lockstep-bench {package}" for package in ("datasets", "methods", "leaderboards")
}


def as_called(text: str) -> str:
    """Return a text in which commands of this project are written the way this program was called.

    A checkout has `python run_all.py` and `python -m methods`; an installed wheel has `lockstep-bench run` and
    `lockstep-bench methods` alone.
    """
    if Path(sys.argv[0]).stem == "lockstep-bench":
        for before, after in COMMANDS.items():
            text = text.replace(before, after)
    return text
