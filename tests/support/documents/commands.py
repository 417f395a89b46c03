"""Checks of shell commands in documents: they are parsed as the shell and the programs would, but never run."""

import importlib
import re
import shlex
from typing import Any

import typer

from lockstep_bench.bench.experiment.paper_requests import requests_of
from lockstep_bench.bench.experiment.parsing import parse_hparams, parse_settings, parse_splits
from lockstep_bench.bench.experiment.plan import chosen_datasets, chosen_methods, protocol_of
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.shared.papers.entries import SUITE as PAPERS

# Where the command of `python -m NAME` is.
MODULES = {
    "benchmarks.beside_bde": "benchmarks.beside_bde",
    "benchmarks.forecasts": "benchmarks.forecasts",
    "benchmarks.conformance_of_others": "benchmarks.conformance_of_others",
    "benchmarks.image_updates": "benchmarks.image_updates",
    "benchmarks.injected_noise": "benchmarks.injected_noise",
    "benchmarks.speed": "benchmarks.speed",
    "benchmarks.overhead": "benchmarks.overhead",
    "benchmarks.stream_memory": "benchmarks.stream_memory",
    "paper": "paper.__main__",
    "leaderboards": "lockstep_bench.leaderboards.__main__",
    "methods": "lockstep_bench.commands.methods",
    "datasets": "lockstep_bench.datasets.__main__",
}
RUN_ALL = "run_all.py"
PLACEHOLDERS = ("mine", "sklearn-gp", "houses", "a", "b", "x", "y")  # names that stand for the reader's own


def found(code: str) -> str:
    """Return the command that a code span of a document contains, or ""; bare options are those of `run_all.py`."""
    code = re.split(r"\s+#", code)[0].strip()
    if re.match(r"python (-m (benchmarks|leaderboards|methods|datasets|paper)\b|run_all\.py)", code):
        return code
    if code.startswith("run_all.py "):
        return f"python {code}"
    return f"python {RUN_ALL} {code}" if re.match(r"--(suite|preset|epochs|methods|datasets) \S", code) else ""


def problem_with(command: str) -> str:
    """Return why the project's programs would refuse a command, or "" if they would accept it."""
    words = shlex.split(command)[1:]
    module = words[1] if words[0] == "-m" else RUN_ALL
    arguments = words[2:] if words[0] == "-m" else words[1:]
    if module != RUN_ALL and module not in MODULES:
        return f"there is no command {module}"
    try:
        given = given_to(importlib.import_module(MODULES.get(module, "lockstep_bench.run")).app, arguments)
        if module == RUN_ALL and given:  # nothing is given to --help
            _check_request(given)
    except InvalidRequest as problem:
        return str(problem)
    except Exception as problem:
        if not hasattr(problem, "format_message"):  # of a usage error, whose class depends on the version of typer
            raise
        message: str = problem.format_message()
        return "" if message.startswith("Missing argument") else message  # a command that is only mentioned
    return ""


def given_to(app: typer.Typer, arguments: list[str]) -> dict[str, Any]:
    """Return what a command would be called with."""
    given: dict[str, Any] = {}
    command = typer.main.get_command(app)
    for each in (command, *getattr(command, "commands", {}).values()):
        each.callback = given.update
    command.main(arguments, standalone_mode=False)
    return given


def _check_request(given: dict[str, Any]) -> None:
    """Raise InvalidRequest for names and values that a run would refuse."""
    named = [given[key] and _names(given[key]) for key in ("methods", "datasets")]
    changes = {key: given[key] for key in ("trials", "folds", "epochs", "sampler", "space", "likelihood", "network")}
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= parse_settings(given["settings"] or ()) | parse_hparams(given["hparam"] or ())
    splits = parse_splits(given["splits"]) if given["splits"] else None
    options = tuple(given["method_option"] or ())
    request = Request(given["suite"], given["preset"], *named, splits, changes, 0, options)
    if given["suite"] == PAPERS:
        if given["preset"] != "quick":  # the default, of a command that is only mentioned
            requests_of(given["preset"], request)
        return
    chosen_datasets(request)
    chosen_methods(request)
    protocol_of(request)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text)]
    return [name for name in names if name not in PLACEHOLDERS]
