"""Checks of a user's request, and its protocol, data sets, methods, splits and cells."""

import math
import re
from collections.abc import Container, Mapping, Sequence
from functools import cache, partial

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import Cell, cells_of
from lockstep_bench.bench.experiment.request import InvalidRequest, Request, known
from lockstep_bench.bench.experiment.suites import SUITES, Suite
from lockstep_bench.methods.catalogue.options import with_options
from lockstep_bench.shared.protocol import FROM_BUDGET, SETTINGS, Protocol

# Words for several methods.
ALL, HEADLINE = "all", "headline"


def suite_of(request: Request) -> Suite:
    """Return the suite of a request."""
    return SUITES[known("suite", request.suite, tuple(SUITES))]


def chosen_datasets(request: Request) -> tuple[str, ...]:
    """Return the names of the requested data sets.

    By default, data sets whose splits are all flagged are not among them.

    Raises InvalidRequest for a name that is unknown or belongs to another suite.
    """
    suite = suite_of(request)
    if request.datasets is None:
        without, most_rows = suite.left_out.get(request.preset, ()), suite.most_rows.get(request.preset, math.inf)
        return tuple(
            name
            for name in suite.datasets()
            if name not in without and not _is_flagged(name) and datasets.entry(name).n_rows <= most_rows
        )
    broken = {problem.name: problem for problem in datasets.problems()}
    for name in request.datasets:
        if name in broken:
            raise InvalidRequest(str(broken[name]))
        known("dataset", name, suite.datasets(), f"is not in suite {suite.name}")
    return tuple(dict.fromkeys(request.datasets))


def _is_flagged(name: str) -> bool:
    """Return whether all splits of a data set are flagged."""
    source = datasets.entry(name)
    return 0 < source.n_splits == len(source.flagged)


def chosen_methods(request: Request) -> tuple[tuple[str, ...], dict[str, str]]:
    """Import the requested methods; return their names, and the reasons why other methods cannot be loaded.

    The name "headline" stands for one method of each family, and "all" for all methods that the suite includes.
    Third-party methods that cannot be loaded are left out if the user has not named them.

    Raises:
        InvalidRequest: a method is unknown, or the user has named it and it cannot be loaded.
    """
    suite = suite_of(request)
    kind = suite.kind
    groups = {ALL: kind.names(), HEADLINE: kind.headline()}
    asked = request.methods or (ALL,)
    named = {name for name in asked if name not in groups}
    every = tuple(dict.fromkeys(name for each in asked for name in groups.get(each, (each,))))
    with_their_options = _with_options(every, request.options)
    named |= {changed for name, changed in zip(every, with_their_options, strict=True) if name in named}
    names = {name: kind.canonical(name) for name in with_their_options}
    broken = {name: problem for name in names if (problem := kind.problem_with(name))}
    if refused := [problem for name, problem in broken.items() if name in named]:
        raise InvalidRequest(refused[0])
    usable = [
        canonical
        for name, canonical in names.items()
        if name not in broken and (name in named or kind.belongs(canonical, suite.methods_of or suite.name))
    ]
    return tuple(dict.fromkeys(usable)), broken


def _with_options(names: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """Return the names of methods with the options "METHOD:NAME=VALUE" in them."""
    given: dict[str, dict[str, str]] = {}
    for text in options:
        match = re.fullmatch(r"(?P<method>\S+):(?P<name>\w+)=(?P<value>[\w.+-]+)", text.strip())
        if not match:
            raise InvalidRequest(
                f"--method-option {text!r} cannot be read; write METHOD:NAME=VALUE, as in mfvi:tempering=0.1"
            )
        known("--method-option: method", match["method"], names, "is not in this run")
        if match["name"] in given.setdefault(match["method"], {}):
            raise InvalidRequest(f"--method-option {match['method']}:{match['name']} is given twice; leave one out")
        given[match["method"]][match["name"]] = match["value"]
    return tuple(with_options(name, given.get(name, {})) if name in given else name for name in names)


def protocol_of(request: Request) -> tuple[str, Protocol]:
    """Return the request's protocol, that is, its preset with the user's changes, and its name.

    The name is the preset's, with "-modified" if anything was changed, or the name of the replication. A budget of
    seconds is appended, as in "tuned-10s".
    """
    presets = suite_of(request).presets
    original = presets[known("preset", request.preset, tuple(presets))]
    kind = suite_of(request).kind
    for name, value in request.changes.items():
        if value == getattr(original, name):  # a page's command gives all fields where it does not know the preset
            continue
        if not kind.takes(name):
            concerned = " and ".join(SETTINGS[name].data)
            raise InvalidRequest(f"{name} is a setting for {concerned}, and the suite {request.suite} has {kind.data}")
        if name in ("hidden", "activation") and kind.settled:
            raise InvalidRequest(
                f"{name} cannot be changed in the suite {request.suite}, whose reference posteriors are of one network"
            )
    try:
        protocol = original.changed(**request.changes)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    budget = protocol.budget_seconds
    decided = {name: getattr(original, name) for name in ("budget_seconds", "epochs", *FROM_BUDGET) if budget}
    modified = "" if protocol.changed(**decided) == original else "-modified"
    return request.replication or request.preset + modified + (f"-{budget}s" if budget else ""), protocol


def check_schedule(request: Request) -> None:
    """Raise InvalidRequest if the options of a step schedule are incomplete, or given for another schedule."""
    _, protocol = protocol_of(request)
    given = {"milestones": protocol.milestones, "factor": protocol.factor}
    lacking = [name for name, value in given.items() if value is None]
    if protocol.schedule == "step" and lacking:
        raise InvalidRequest(
            f"schedule is 'step' without {' and '.join(lacking)}; give both, as in "
            "--set schedule=step --set milestones=100,150 --set factor=10"
        )
    if protocol.schedule != "step" and len(lacking) < len(given):
        part = next(name for name in given if name not in lacking)
        raise InvalidRequest(
            f"{part} belongs to a step schedule, and schedule is {protocol.schedule!r}; set it to step"
        )


def check_folds(request: Request, names: Sequence[str]) -> None:
    """Raise InvalidRequest if block folds are requested for a data set whose splits are not along a feature."""
    _, protocol = protocol_of(request)
    for name in names:
        source = datasets.entry(name)
        if protocol.fold_kind == "block" and not source.along_features:
            raise InvalidRequest(
                f"fold_kind is 'block', and {name} has no splits along a feature (its splits are "
                f"{source.split_scheme!r}); set fold_kind=random, or choose the suite uci-gap or uci-tail"
            )


def chosen_splits(request: Request, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the splits to run of each data set: the requested ones, or by default the preset's unflagged ones."""
    available = {name: datasets.entry(name).n_splits for name in names}
    if request.splits is None:
        for name in filter(_is_flagged, names):
            last = available[name] - 1
            raise InvalidRequest(
                f"all splits of {name} are flagged ({datasets.entry(name).flagged[last]}) and not ranked; "
                f"--splits 0-{last} runs them"
            )
        flagged = {name: datasets.entry(name).flagged for name in names}
        unflagged = {name: [k for k in range(count) if k not in flagged[name]] for name, count in available.items()}
        return {name: tuple(splits[: suite_of(request).splits[request.preset]]) for name, splits in unflagged.items()}
    most = max(available.values(), default=0)
    beyond = [split for split in request.splits if split >= most]
    if beyond and names:
        raise InvalidRequest(f"there is no split {beyond[0]}: the chosen data sets have splits 0 to {most - 1} at most")
    return {name: tuple(split for split in request.splits if split < count) for name, count in available.items()}


def excluded(request: Request, names: Sequence[str], method_names: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the pairs (method, data set) that cannot be run, with the reason."""
    from lockstep_bench.bench.experiment.tasks import task_of

    _, protocol = protocol_of(request)
    kind = suite_of(request).kind
    tasks = {name: cache(partial(task_of, request.suite, name, protocol)) for name in names}  # made once, if at all

    def excludes(method: str, name: str) -> str | None:
        try:
            return kind.excludes(method, name, tasks[name])
        except Exception as problem:  # the check of a third party's method may raise anything
            return f"its check of the task raised {type(problem).__name__}: {problem}"

    reasons = {(method, name): excludes(method, name) for method in method_names for name in names}
    return {pair: reason for pair, reason in reasons.items() if reason}


def cells(
    request: Request,
    splits: Mapping[str, Sequence[int]],
    method_names: Sequence[str],
    without: Container[tuple[str, str]] = (),
) -> list[Cell]:
    """Return the cells of a request, those with most work first.

    Args:
        request: the user's request.
        splits: split numbers of each available data set.
        method_names: names of the methods.
        without: pairs (method, data set) to leave out.
    """
    preset, protocol = protocol_of(request)
    every = cells_of(request.suite, tuple(splits), method_names, splits, preset, protocol, request.seed)
    return [cell for cell in every if (cell.method, cell.dataset) not in without]
