"""Native training: the same numbers as torch's to rounding, and the same bits however fits are grouped."""

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from each_once import KINDS
from torch import Tensor

from lockstep_bench import methods
from lockstep_bench.bench.conformance.examined import TASKS, data_of, middle_of
from lockstep_bench.bench.engine import native_training
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.native_training import MIN_UPDATES
from lockstep_bench.bench.engine.private_torch import tree_flatten
from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import segments, train_stacked
from lockstep_bench.bench.native import compiler
from lockstep_bench.bench.native.library_cache import CACHE_VARIABLE
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.problem import Task
from lockstep_bench.methods.vifa import VIFA

REGRESSION = TASKS[0]
N_FITS, N_ROWS = 5, 30
STACKABLE = [name for name in methods.names() if methods.get(name).stackable]
# One method of each kind of update meets the first likelihood it can have; `pytest -m slow` compares all pairs.
ON_EVERY_TASK = ("vifa", "map")


def usable(name: str) -> Iterator[Task]:
    return (task for task in TASKS if not methods.get(name).excludes(task))


DEFAULT = [(name, next(usable(name))) for name in KINDS]
DEFAULT += [(name, task) for name in ON_EVERY_TASK for task in list(usable(name))[1:]]
OTHERS = [(name, task) for name in STACKABLE for task in usable(name) if (name, task) not in DEFAULT]
PAIRS = [pytest.param(*pair, id=" ".join((pair[0], pair[1].name))) for pair in DEFAULT]
PAIRS += [pytest.param(*pair, id=" ".join((pair[0], pair[1].name)), marks=pytest.mark.slow) for pair in OTHERS]


def fits(task: Task, method: Method, count: int = N_FITS) -> list[Fit]:
    """Fits that differ in rows, hyper-parameters and seed."""
    middle = middle_of(method.search_space(task))
    return [
        Fit(
            np.arange(N_ROWS) + number % 5,
            {name: value * (1 + 0.02 * number) if name == "lr" else value for name, value in middle.items()},
            number,
        )
        for number in range(count)
    ]


def train(method: Method, which: list[Fit], task: Task = REGRESSION, updates: int = MIN_UPDATES, **options):
    schedule = Schedule.exactly(method, N_ROWS, 5, updates)
    return train_stacked(method, task, data_of(task), which, schedule, **options)


def leaves(stack: StackedFits) -> list[Tensor]:
    return [leaf for leaf in tree_flatten(stack.posterior)[0] if isinstance(leaf, Tensor)]


def equal(first: StackedFits, second: StackedFits) -> bool:
    return all(map(torch.equal, leaves(first), leaves(second)))


@pytest.fixture
def no_minimum(monkeypatch):
    """Plans of a few updates are trained natively, too."""
    monkeypatch.setattr(native_training, "MIN_UPDATES", 1)


@pytest.fixture
def fast_compiler(monkeypatch):
    """Loops compile in less time, and run slower."""
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O1"))
    monkeypatch.setattr(native_training, "_LOOPS", OrderedDict())
    compiler.target.cache_clear()
    yield
    compiler.target.cache_clear()


def errors(stack: StackedFits, exact: StackedFits) -> list[float]:
    """Return the error of each part of the posterior, relative to the longest exact one of the stack."""
    pairs = [
        (ours.double().reshape(len(ours), -1), wanted.double().reshape(len(ours), -1))
        for ours, wanted in zip(leaves(stack), leaves(exact), strict=True)
    ]
    return [
        float((ours - wanted).norm(dim=1).max() / wanted.norm(dim=1).max().clamp(min=1e-6))
        for ours, wanted in pairs
        if ours.numel()
    ]


@pytest.mark.usefixtures("no_minimum", "fast_compiler")
@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_native_training_has_rounding_errors_like_torch(name, task):
    """Ten updates, because training amplifies rounding. Errors of few numbers differ by chance, hence the factor."""
    method = methods.get(name)
    which = fits(task, method)
    with native_training.noted_obstacles() as obstacles:
        native, captured, exact = (
            train(method, which, task, updates=10, **options)
            for options in ({}, {"execution": "captured"}, {"execution": "eager", "dtype": torch.float64})
        )
    assert native.execution == "native", obstacles
    pairs = list(zip(errors(native, exact), errors(captured, exact), strict=True))
    for ours, theirs in pairs:
        assert ours <= 10 * theirs + 1e-5


# Kinds of updates: sums over all weights, factorisations, random masks, a window of iterates; all by `pytest -m slow`.
IN_BOTH_LAYOUTS = ("vifa", "slang", "inducing-ffg", "mc-dropout", "swag", "mfvi")


@pytest.mark.usefixtures("no_minimum")  # compiled as in a run: how the compiler treats products is a part of the claim
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in IN_BOTH_LAYOUTS else [pytest.mark.slow]) for name in STACKABLE]
)
def test_native_bits_do_not_depend_on_memory_layout(name, monkeypatch):
    method, task = methods.get(name), next(usable(name))
    stacks = []
    for share in (0.0, 0.4, 1.0):  # of the replicas that share their lanes with others
        monkeypatch.setattr(native_training, "replicas_across", lambda count, *_, share=share: int(count * share))
        stacks.append(train(method, fits(task, method), task, updates=10))
    assert {stack.execution for stack in stacks} == {"native"}
    assert equal(stacks[0], stacks[2])
    assert equal(stacks[1], stacks[2])


class Pairs(VIFA):
    """An ensemble, whose members are replicas."""

    name, title, members = "pairs", "Pairs", 2


@pytest.fixture(scope="module", params=[MAP(), VIFA(), Pairs()], ids=lambda method: method.name)
def method(request) -> Method:
    return request.param


@pytest.fixture(scope="module")
def whole(method) -> StackedFits:
    """Forty fits, trained together by one thread, with an odd number of updates."""
    return train(method, fits(REGRESSION, method, 40), updates=101)


def alone(whole: StackedFits, method: Method, numbers: list[int], **options) -> None:
    """Train some of the forty fits; assert that each has the bits that it has among the forty."""
    which = fits(REGRESSION, method, 40)
    some = train(method, [which[number] for number in numbers], updates=101, **options)
    assert some.execution == whole.execution == "native"
    replicas = [number * method.members + member for number in numbers for member in range(method.members)]
    for ours, theirs in zip(leaves(some), leaves(whole), strict=True):
        assert torch.equal(ours, theirs[replicas])


@pytest.mark.parametrize("numbers", [[0], [39], [20, 3, 38], list(range(17))[::-1]], ids=len)
def test_native_bits_do_not_depend_on_the_stack(whole, method, numbers):
    alone(whole, method, numbers)


def test_native_bits_do_not_depend_on_threads(whole, method):
    torch.set_num_threads(2)
    try:
        alone(whole, method, list(range(40)))
    finally:
        torch.set_num_threads(1)


def test_native_bits_do_not_depend_on_recorded_diagnostics(whole, method):
    alone(whole, method, [1, 2], n_recorded=7)


def test_native_bits_do_not_depend_on_updates_per_call(whole, method, monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.engine.stack.ROWS_AT_ONCE", 40)  # calls of two updates and more
    alone(whole, method, [1, 2])


def test_native_bits_do_not_depend_on_the_library_cache(whole, method, monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    for n_libraries in (1, 1):  # compiled, then loaded
        monkeypatch.setattr(native_training, "_LOOPS", OrderedDict())
        alone(whole, method, [1, 2])
        assert len(list(tmp_path.iterdir())) == n_libraries


def test_native_diagnostics_equal_those_of_captured_graphs():
    method = MAP()
    native, captured = (
        train(method, fits(REGRESSION, method), n_recorded=5, execution=execution).training_diagnostics()
        for execution in ("native", "captured")
    )
    assert native[0]
    for ours, theirs in zip(native, captured, strict=True):
        assert list(ours) == list(theirs)
        for name, trace in ours.items():
            assert trace.updates.tolist() == theirs[name].updates.tolist()
            np.testing.assert_allclose(trace.values, theirs[name].values, rtol=1e-4)


class Alternating(MAP):
    """Every third update changes one part of the state only, and the others the other part."""

    name, title = "alternating", "Alternating"

    def phase(self, update, plan):
        return update % 3 == 0

    def finish(self, problem, state):
        return state

    def init(self, problem, noise):
        return {"sum": noise.normal(3), "kept": torch.zeros(3), "count": problem.n_train * 0}

    def update(self, problem, state, batch, noise, step):
        if step.phase:
            return state | {"kept": state["sum"], "count": state["count"] + step.count}
        return state | {"sum": 0.9 * state["sum"] + batch.y[0].mean() + noise.normal(3)}


@pytest.mark.parametrize("updates", [100, 101, 102, 103])
def test_native_alternating_phases_equal_captured_graphs(updates):
    method = Alternating()
    which = [Fit(np.arange(N_ROWS), {"noise_precision": 1.0, "prior_precision": 1.0}, number) for number in range(3)]
    native, captured = (
        train(method, which, updates=updates, execution=execution) for execution in ("native", "captured")
    )
    assert (native.execution, captured.execution) == ("native", "captured")
    for ours, theirs in zip(leaves(native), leaves(captured), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_short_and_float64_trainings_use_captured_graphs():
    which = fits(REGRESSION, MAP(), 2)
    assert train(MAP(), which, updates=MIN_UPDATES - 1).execution == "captured"
    assert train(MAP(), which, dtype=torch.float64).execution == "captured"


def test_training_without_a_compiler_uses_captured_graphs(monkeypatch):
    def missing(source: str) -> None:
        raise compiler.NoCompiler("no C++ compiler was found")

    monkeypatch.setattr("lockstep_bench.bench.native.loop.compiled", missing)
    monkeypatch.setattr(native_training, "_LOOPS", OrderedDict())
    which = fits(REGRESSION, MAP(), 2)
    with native_training.noted_obstacles() as obstacles:
        without, captured = (train(MAP(), which, execution=execution) for execution in ("native", "captured"))
    assert without.execution == "captured"
    assert equal(without, captured)
    assert obstacles == {"map": "no C++ compiler was found"}


def test_redefined_method_is_compiled_again():
    """A notebook may define a class of the same name twice."""

    def method(factor: float) -> Method:
        class Redefined(Alternating):
            def update(self, problem, state, batch, noise, step):
                return state | {"sum": factor * state["sum"]}

        Redefined.__qualname__ = "Redefined"
        globals()["Redefined"] = Redefined
        return Redefined()

    which = [Fit(np.arange(N_ROWS), {"noise_precision": 1.0, "prior_precision": 1.0}, 0)]
    halved, kept = (train(method(factor), which) for factor in (0.5, 1.0))
    assert not equal(halved, kept)


def test_native_calls_end_at_phase_changes_and_recorded_updates():
    phases = ["a", "a", "a", "b", "b", "a", "a"]
    parts = list(segments(phases, 2, 6, lambda update: update == 7, 2))
    assert parts == [slice(0, 2), slice(2, 4), slice(4, 5), slice(5, 6)]
