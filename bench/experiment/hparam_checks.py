"""Check of hyper-parameters that the user gives instead of tuning, against the ranges of the methods."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lockstep_bench.bench.experiment.plan import excluded, protocol_of, suite_of
from lockstep_bench.bench.experiment.request import InvalidRequest, Request, known
from lockstep_bench.datasets.standardise import NOISE_PRECISIONS
from lockstep_bench.shared.given_hparams import GivenHParam
from lockstep_bench.shared.method_names import registered
from lockstep_bench.shared.protocol import Protocol

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


def fixed_hparams(request: Request, names: Sequence[str], method_names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the hyper-parameters that the user fixes, for each method that has any: method -> name -> value.

    Args:
        request: the user's request.
        names: names of the data sets.
        method_names: names of the methods.

    Raises:
        InvalidRequest: no method has the hyper-parameter, its value is impossible, or a data set's Bayesian model fixes
            it.
    """
    _, protocol = protocol_of(request)
    if protocol.hparams is None:
        return {}
    kind = suite_of(request).kind
    spaces = _spaces(request, names, method_names, protocol)
    for each in protocol.hparams.every:
        if each.method and not request.replication:
            chosen = tuple(dict.fromkeys([*method_names, *map(registered, method_names)]))
            known("--hparam: method", each.method, chosen, "is not in this run")
        concerned = {name: spaces[name] for name in spaces if each.method in (None, name, registered(name))}
        if request.replication and not concerned:
            continue  # a replication gives those of all its methods, also if only some of them run
        if problem := complaint(each, concerned):
            raise InvalidRequest(f"--hparam {each}: {problem}")
        if each.name in kind.settled:
            raise InvalidRequest(
                f"--hparam {each}: the suite {request.suite} compares with a reference posterior, and the models of "
                f"its data sets fix {each.name}; leave the option out"
            )
    given = {name: protocol.fixed_for(name) for name in method_names}
    every = {name: {hparam: given[name][hparam] for hparam in spaces[name] if hparam in given[name]} for name in given}
    return {name: values for name, values in every.items() if values}


def complaint(given: GivenHParam, spaces: "Mapping[str, Mapping[str, BaseDistribution]]") -> str | None:
    """Return the reason why the user cannot give a hyper-parameter this value or range, or None if it is possible.

    Args:
        given: the hyper-parameter with its value or range.
        spaces: search space of each method to which this applies; at least one of them must have the hyper-parameter.
    """
    having = {name: space for name, space in spaces.items() if given.name in space}
    if not having:
        allowed = "; ".join(f"{name} has {_ranges_in_words(space)}" for name, space in spaces.items())
        return f"there is no hyper-parameter {given.name!r}; {allowed}"
    for name, space in having.items():
        if problem := _impossible(given, space[given.name]):
            return f"{problem}; {name} has {_ranges_in_words(space)}"
    return None


def _spaces(
    request: Request, names: Sequence[str], method_names: Sequence[str], protocol: Protocol
) -> "dict[str, dict[str, BaseDistribution]]":
    """Return the ranges of each method's hyper-parameters, over all data sets that it can be used on."""
    from lockstep_bench.bench.experiment.tasks import method_for, ranges_of, task_of

    without = excluded(request, names, method_names)
    tasks = {name: task_of(request.suite, name, protocol) for name in names}
    spaces: dict[str, dict[str, BaseDistribution]] = {name: {} for name in method_names}
    for method in method_names:
        for name, task in tasks.items():
            if (method, name) not in without:
                spaces[method] |= ranges_of(method_for(method, task), task, protocol)
    return spaces


def _impossible(given: GivenHParam, distribution: "BaseDistribution") -> str | None:
    """Return why the given value or range is impossible, or None. Values outside of the method's range are allowed."""
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

    def words(name: str, distribution: "BaseDistribution") -> str:
        if isinstance(distribution, FloatDistribution | IntDistribution):
            low, high = distribution.low, distribution.high
            of_standardised = name == "noise_precision" and (low, high) == NOISE_PRECISIONS
            return f"{low:g} to {high:g}" + ", over the variance of the training targets" * of_standardised
        assert isinstance(distribution, CategoricalDistribution)
        return ", ".join(map(str, distribution.choices))

    return ", ".join(f"{name} ({words(name, distribution)})" for name, distribution in space.items()) or "none"
