"""Requests: checked before any work, and resolved to cells."""

import difflib
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import datasets
from bench.experiment import fixed
from bench.experiment.cells import Cell, cells_of
from bench.experiment.protocol import IMAGES, SETTINGS, STREAMS, Protocol
from bench.experiment.suites import SUITES, Suite
from methods.catalogue.options import registered, with_options

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


class InvalidRequest(ValueError):
    """A request that cannot be met. The message says what was got, what is allowed, and what to do."""


@dataclass(frozen=True)
class Request:
    """Request of the command line.

    Attributes:
        suite, preset: names.
        methods, datasets: names; None for all of the suite.
        splits: split numbers; None for those of the preset.
        changes: values for fields of the preset's `Protocol`.
        seed: seed of the whole run.
        options: options of methods, each "METHOD:NAME=VALUE".
        replication: entry of `bench.replications` that the request belongs to, which its rows name as their preset;
            "" for none.
    """

    suite: str
    preset: str
    methods: Sequence[str] | None
    datasets: Sequence[str] | None
    splits: Sequence[int] | None
    changes: Mapping[str, int | str | None]
    seed: int
    options: Sequence[str] = ()
    replication: str = ""


@dataclass(frozen=True)
class Missing:
    """An unavailable data set, the reason, and what to do about it."""

    dataset: str
    reason: str
    remedy: str


def suite_of(request: Request) -> Suite:
    """Return the suite of a request."""
    return SUITES[known("suite", request.suite, tuple(SUITES))]


def chosen_datasets(request: Request) -> tuple[str, ...]:
    """Return the names of the requested data sets, all known and of the suite."""
    suite = suite_of(request)
    if request.datasets is None:
        without = suite.left_out.get(request.preset, ())
        return tuple(name for name in suite.datasets() if name not in without)
    broken = {problem.name: problem for problem in datasets.problems()}
    for name in request.datasets:
        known("dataset", name, datasets.names())
        if name in broken:
            raise InvalidRequest(str(broken[name]))
        known(f"dataset of the suite {suite.name}", name, suite.datasets())
    return tuple(dict.fromkeys(request.datasets))


def broken_datasets() -> list[Missing]:
    """Return the data sets of installed packages whose code fails."""
    return [Missing(problem.name, problem.reason, problem.remedy) for problem in datasets.problems()]


def chosen_methods(request: Request) -> tuple[tuple[str, ...], dict[str, str]]:
    """Import the requested methods and return their names, and why others of installed packages cannot be loaded.

    "headline" stands for one method of each idea.

    Raises:
        InvalidRequest: a method is unknown, or it was named and cannot be loaded.
    """
    suite = suite_of(request)
    kind = suite.kind
    requested = kind.names() if request.methods is None else request.methods
    groups = (kind.headline() if name == "headline" else (name,) for name in requested)
    every = tuple(dict.fromkeys(name for group in groups for name in group))
    names = tuple(dict.fromkeys(kind.canonical(name) for name in _with_options(every, request.options)))
    broken = {name: problem for name in names if (problem := kind.problem_with(name))}
    if broken and request.methods is not None:
        raise InvalidRequest(next(iter(broken.values())))
    usable = tuple(name for name in names if name not in broken)
    return usable if request.methods else tuple(name for name in usable if kind.belongs(name, suite.name)), broken


def _with_options(names: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """Return the names of methods with the options "METHOD:NAME=VALUE" in them."""
    given: dict[str, dict[str, str]] = {}
    for text in options:
        match = re.fullmatch(r"(?P<method>\S+):(?P<name>\w+)=(?P<value>[\w.+-]+)", text.strip())
        if not match:
            raise InvalidRequest(
                f"--method-option {text!r} cannot be read; write METHOD:NAME=VALUE, as in mfvi:tempering=0.1"
            )
        known("--method-option: method", match["method"], names)
        if match["name"] in given.setdefault(match["method"], {}):
            raise InvalidRequest(f"--method-option {match['method']}:{match['name']} is given twice; leave one out")
        given[match["method"]][match["name"]] = match["value"]
    return tuple(with_options(name, given.get(name, {})) if name in given else name for name in names)


def protocol_of(request: Request) -> tuple[str, Protocol]:
    """Return the name of the resolved protocol and the protocol.

    The name is that of the replication, or the preset's with "-modified" if anything differs.
    """
    presets = suite_of(request).presets
    original = presets[known("preset", request.preset, tuple(presets))]
    for name in request.changes:
        if SETTINGS[name].data == (IMAGES,) and suite_of(request).kind.data != IMAGES:
            raise InvalidRequest(f"{name} is a setting of networks for images, and the suite {request.suite} has none")
    try:
        protocol = original.changed(**request.changes)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    return request.replication or request.preset + ("" if protocol == original else "-modified"), protocol


def check_schedule(request: Request) -> None:
    """Raise InvalidRequest for a step schedule that is not complete, or for parts of one that is not asked for."""
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


def chosen_splits(request: Request, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the splits to run of each data set: the requested ones that it has, else those of the preset."""
    default = suite_of(request).splits[request.preset]
    available = {name: datasets.entry(name).n_splits for name in names}
    if request.splits is None:
        first = {name: count if default is None else min(default, count) for name, count in available.items()}
        return {name: tuple(range(count)) for name, count in first.items()}
    most = max(available.values(), default=0)
    beyond = [split for split in request.splits if split >= most]
    if beyond and names:
        raise InvalidRequest(f"there is no split {beyond[0]}: the chosen data sets have splits 0 to {most - 1} at most")
    return {name: tuple(split for split in request.splits if split < count) for name, count in available.items()}


def excluded(request: Request, names: Sequence[str], method_names: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return why a method cannot be used on a data set, for each such (method, data set)."""
    from bench.experiment.tasks import task_of

    _, protocol = protocol_of(request)

    def excludes(method: str, name: str) -> str | None:
        try:
            return suite_of(request).kind.excludes(method, name, partial(task_of, request.suite, name, protocol))
        except Exception as problem:  # the check of a third party's method may raise anything
            return f"its check of the task raised {type(problem).__name__}: {problem}"

    reasons = {(method, name): excludes(method, name) for method in method_names for name in names}
    return {pair: reason for pair, reason in reasons.items() if reason}


def given_hparams(request: Request, names: Sequence[str], method_names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the hyper-parameters that the protocol fixes of each method; only methods that have any.

    Args:
        request: the request.
        names: data sets.
        method_names: methods.

    Raises:
        InvalidRequest: no method has the hyper-parameter, its value is not possible, or a data set's model settles it.
    """
    _, protocol = protocol_of(request)
    if protocol.hparams is None:
        return {}
    kind = suite_of(request).kind
    if kind.data == STREAMS:
        raise InvalidRequest(f"--hparam {protocol.hparams}: the suite {request.suite} has no hyper-parameters")
    spaces = _spaces(request, names, method_names, protocol)
    for each in map(fixed.parse, protocol.hparams.split()):
        if each.method:
            known(
                "--hparam: method", each.method, tuple(dict.fromkeys([*method_names, *map(registered, method_names)]))
            )
        concerned = {name: spaces[name] for name in spaces if each.method in (None, name, registered(name))}
        having = {name: space for name, space in concerned.items() if each.name in space}
        if not having:
            allowed = "; ".join(f"{name} has {_ranges_in_words(space)}" for name, space in concerned.items())
            raise InvalidRequest(f"--hparam {each}: there is no hyper-parameter {each.name!r}; {allowed}")
        for name, space in having.items():
            if problem := _impossible(each, space[each.name]):
                raise InvalidRequest(f"--hparam {each}: {problem}; {name} has {_ranges_in_words(space)}")
        if each.name in kind.settled:
            raise InvalidRequest(
                f"--hparam {each}: the suite {request.suite} compares with a reference posterior, and the models of "
                f"its data sets settle {each.name}; leave the option out"
            )
    given = {name: protocol.fixed_for(name) for name in method_names}
    every = {name: {hparam: given[name][hparam] for hparam in spaces[name] if hparam in given[name]} for name in given}
    return {name: values for name, values in every.items() if values}


def _spaces(
    request: Request, names: Sequence[str], method_names: Sequence[str], protocol: Protocol
) -> "dict[str, dict[str, BaseDistribution]]":
    """Return the ranges of each method's hyper-parameters, over all data sets that it can be used on."""
    from bench.experiment.tasks import method_for, ranges_of, task_of

    without = excluded(request, names, method_names)
    tasks = {name: task_of(request.suite, name, protocol) for name in names}
    spaces: dict[str, dict[str, BaseDistribution]] = {name: {} for name in method_names}
    for method in method_names:
        for name, task in tasks.items():
            if (method, name) not in without:
                spaces[method] |= ranges_of(method_for(method, task), task, protocol)
    return spaces


def _impossible(given: fixed.Fixed, distribution: "BaseDistribution") -> str | None:
    """Return why a hyper-parameter of this distribution cannot be so given, or None; its own range may be left."""
    from optuna.distributions import FloatDistribution, IntDistribution

    if given.high is not None and not isinstance(distribution, FloatDistribution):
        return "only a real number can have another range"
    if isinstance(distribution, IntDistribution) and not given.value.is_integer():
        return f"{given.value:g} is no integer"
    if isinstance(distribution, FloatDistribution | IntDistribution) and distribution.log and given.value <= 0:
        return f"{given.value:g} is not above 0, and its range is logarithmic"
    return None


def _ranges_in_words(space: "Mapping[str, BaseDistribution]") -> str:
    """Return hyper-parameters with their ranges, as in "lr (0.01 to 0.02)"."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def words(distribution: "BaseDistribution") -> str:
        if isinstance(distribution, FloatDistribution | IntDistribution):
            return f"{distribution.low:g} to {distribution.high:g}"
        assert isinstance(distribution, CategoricalDistribution)
        return ", ".join(map(str, distribution.choices))

    return ", ".join(f"{name} ({words(distribution)})" for name, distribution in space.items()) or "none"


def cells(
    request: Request,
    splits: Mapping[str, Sequence[int]],
    method_names: Sequence[str],
    without: Container[tuple[str, str]] = (),
) -> list[Cell]:
    """Return the cells of a request, most work first.

    Args:
        request: the request.
        splits: splits of each available data set.
        method_names: methods.
        without: pairs (method, data set) to leave out.
    """
    preset, protocol = protocol_of(request)
    every = cells_of(request.suite, tuple(splits), method_names, splits, preset, protocol, request.seed)
    return [cell for cell in every if (cell.method, cell.dataset) not in without]


def have(names: Sequence[str], data_dir: Path | None, fetch: bool) -> tuple[list[str], list[Missing]]:
    """Return which data sets, or trained weights, are available, and which are not; download first if `fetch`."""
    available, missing, out_of_reach = [], [], set()
    for name in names:
        state, reason, remedy = datasets.availability(name, data_dir, deep=True)
        if state in ("missing", "damaged") and fetch:
            server = datasets.published(name).base_url
            try:
                if server in out_of_reach:
                    raise datasets.Unreachable(name, "its server was out of reach a moment ago", remedy)
                datasets.fetch(name, data_dir, progress=True)
                state = "ready"
            except datasets.Unavailable as problem:
                if isinstance(problem, datasets.Unreachable):
                    out_of_reach.add(server)
                reason = f"{reason}; {problem.reason}"
        if state == "ready":
            available.append(name)
        else:
            missing.append(Missing(name, reason, remedy))
    return available, missing


def outsiders(names: Sequence[str]) -> tuple[str, ...]:
    """Return further data sets that models of these are tested on: out of distribution, or of equal classes."""
    groups = [group for name in names for group in datasets.entry(name).ood_groups.values()]
    groups += [(other,) for name in names if (other := datasets.partner(name))]
    return tuple(dict.fromkeys(name for group in groups for name in group if name not in names))


def runnable(
    request: Request, names: Sequence[str], data_dir: Path | None = None, fetch: bool = False
) -> tuple[list[str], list[Missing]]:
    """Return which of the available data sets can be run, and what the others lack.

    Args:
        request: the request.
        names: available data sets.
        data_dir: data folder; None for the default.
        fetch: True to download trained weights that networks start from.
    """
    _, protocol = protocol_of(request)
    if protocol.weights and names:
        _, unavailable = have([protocol.weights], data_dir, fetch)
        for weights in unavailable:
            reason = f"its network starts from the weights {weights.dataset}: {weights.reason}"
            return [], [Missing(name, reason, weights.remedy) for name in names]
    lacks = suite_of(request).kind.lacks
    missing = [Missing(name, *lack) for name in names if (lack := lacks(name))]
    return [name for name in names if name not in {unavailable.dataset for unavailable in missing}], missing


def parse_splits(text: str) -> list[int]:
    """Return the split numbers of a text such as "0-4,7"."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part.strip())
        if not match:
            raise InvalidRequest(f"splits {text!r} cannot be read at {part.strip()!r}; write numbers and ranges: 0-4,7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InvalidRequest(f"splits {text!r}: the range {part.strip()!r} runs backwards")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def parse_settings(texts: Sequence[str]) -> dict[str, int | str | None]:
    """Return fields of `Protocol` from texts such as "samples=30" or "max_train=none"."""
    settings: dict[str, int | str | None] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InvalidRequest(f"setting {text!r} cannot be read; write NAME=VALUE, as in samples=30")
        known("setting", name, tuple(SETTINGS))
        if name in settings:
            raise InvalidRequest(f"setting {name!r} is given twice")
        nothing = SETTINGS[name].optional and value.lower() == "none"
        integer = not SETTINGS[name].check and re.fullmatch("-?[0-9]+", value)
        settings[name] = None if nothing else int(value) if integer else value
    return settings


def parse_hparams(texts: Sequence[str]) -> dict[str, str]:
    """Return the field `hparams` of `Protocol` from texts such as "lr=0.01" or "slang:lr=0.08"; none from no texts."""
    try:
        return {"hparams": fixed.joined(texts)} if texts else {}
    except ValueError as error:
        raise InvalidRequest(f"--hparam {error}") from None


def parse_devices(text: str) -> list[str]:
    """Return torch's device names of "cpu", "cuda" (all GPUs) or "cuda:0,1"."""
    if text == "cpu":
        return ["cpu"]
    if not re.fullmatch(r"cuda(:[0-9]{1,3}(, *(cuda:)?[0-9]{1,3})*)?", text):
        raise InvalidRequest(f"devices {text!r} cannot be read; write cpu, cuda, or cuda:0,1 for chosen GPUs")
    import torch

    count = torch.cuda.device_count()
    if count == 0:
        raise InvalidRequest(
            f"devices {text!r}: torch {torch.__version__} finds no CUDA device here; use --devices cpu"
        )
    wanted = [int(number) for number in re.findall("[0-9]+", text)] or range(count)
    beyond = [number for number in wanted if number >= count]
    if beyond:
        raise InvalidRequest(
            f"devices {text!r}: there is no GPU {beyond[0]}; this machine has {count}, numbered from 0"
        )
    return [f"cuda:{number}" for number in dict.fromkeys(wanted)]


def known(kind: str, name: str, allowed: Sequence[str]) -> str:
    """Return `name` if it is allowed; raise `InvalidRequest` with the nearest allowed name otherwise."""
    if name in allowed:
        return name
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InvalidRequest(f"{kind} {name!r} is unknown; {hint}Allowed: {', '.join(allowed)}")
