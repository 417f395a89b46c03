"""The kept table of other libraries is complete, each failure can be reproduced, and the checks find what is wrong."""

import ast
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from benchmarks import conformance_of_others as command
from benchmarks.conformance_of_others import ELSEWHERE, LIBRARIES, RANGES, RECOVERS, SAME_BITS, Outcome
from benchmarks.libraries.wrapping import BLUNDELL, DRAWS, GaussianNLL, Wrapper, flat, layers, precisions
from lockstep_bench.bench.conformance import RULES, check
from lockstep_bench.bench.conformance.examined import REGRESSION
from lockstep_bench.bench.engine.replica import Data, Fit, ReplicaModel, replicas_of
from lockstep_bench.methods.api import Batch, LogUniform, Problem, Task
from lockstep_bench.methods.networks.mlp import MLP

FOLDER = command.KEPT.parent
PAGE = (command.ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
FAILURES = tomllib.loads((FOLDER / "failures.toml").read_text(encoding="utf-8"))["failure"]
ROWS = command.read()


def anchor(section: str) -> str:
    return "#" + re.sub(r"[^\w\- ]", "", section.lower()).replace(" ", "-")


def test_table_has_at_least_six_libraries_with_versions():
    versions = {(row.library, row.version) for row in ROWS}
    assert len(versions) == len({library for library, _ in versions}) >= 6
    assert all(version for _, version in versions)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_wrapper_has_an_outcome_of_every_check(library):
    for kind in command.wrappers(library):
        rows = [row for row in ROWS if row.method == kind.name]
        assert {row.check for row in rows} == {*RULES, ELSEWHERE}
        assert {f"{row.library}=={row.version}" for row in rows} == {re.sub(r"\[.*\]", "", kind.requirement)}
        assert {row.judged_against for row in rows} == {kind.judged_against}
        assert all(row.detail for row in rows)


def test_every_failure_is_explained_and_every_explanation_is_of_a_failure():
    failed = {(row.method, row.check) for row in ROWS if row.outcome == "failed"}
    assert failed == {(failure["method"], failure["check"]) for failure in FAILURES}
    assert {failure["lies_in"] for failure in FAILURES} <= {"library", "defaults", "wrapper"}


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: f"{failure['method']}, {failure['check']}")
def test_failure_has_a_section_that_shows_its_reproducer(failure):
    code = (FOLDER / "reproducers" / failure["reproducer"]).read_text(encoding="utf-8")
    section = PAGE.split(f"\n### {failure['section']}\n")[1].split("\n### ")[0]
    assert failure["reproducer"] in section
    imported = {node.names[0].name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import)}
    imported |= {node.module for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)}
    assert not any(name.startswith(("lockstep_bench", "benchmarks")) for name in imported)


def test_page_shows_the_kept_table():
    links = {(failure["method"], failure["check"]): anchor(failure["section"]) for failure in FAILURES}
    assert command.table(ROWS, links) in PAGE


def test_page_shows_the_ranges_of_the_wrappers():
    assert command.ranges(list(LIBRARIES)) in PAGE


def replica_of(hidden: tuple[int, ...], bias: bool) -> Problem:
    task = Task("regression", REGRESSION.likelihood, MLP(3, hidden, bias=bias))
    x, y = torch.randn(12, 3, dtype=torch.float64), torch.randn(12, dtype=torch.float64)
    fit = Fit(torch.arange(12).numpy(), {"prior_precision": 2.0, "noise_precision": 0.5}, 0)
    stacked = replicas_of([fit], Data(x, y), torch.float64, standardise_x=False, standardise_y=False)
    replica = type(stacked)(*(part[0] for part in stacked[:5]), {key: part[0] for key, part in stacked.hparams.items()})
    return ReplicaModel(Exact(), task, torch.float64)._problem(replica)


@pytest.mark.parametrize(("hidden", "bias"), [((), False), ((), True), ((5,), True), ((5, 4), True)])
def test_flat_weights_of_a_module_give_the_networks_outputs(hidden, bias):
    torch.manual_seed(0)
    problem, x = replica_of(hidden, bias), torch.randn(7, 3, dtype=torch.float64)
    module = layers(problem, torch.nn.Linear).double()
    torch.testing.assert_close(problem.network(flat(module.parameters()), x), module(x))


def test_gaussian_nll_is_that_of_the_likelihood_up_to_a_constant():
    torch.manual_seed(0)
    problem, x = replica_of((), False), torch.randn(7, 3, dtype=torch.float64)
    y, weights = torch.randn(7, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    ours = [problem.nll(weight, Batch(x[None], y[None])) for weight in weights]
    theirs = [GaussianNLL(problem.scale)(problem.network(weight, x), y[:, None]) for weight in weights]
    torch.testing.assert_close(theirs[1] - theirs[0], ours[1] - ours[0])


class Exact(Wrapper):
    """A library that draws from the posterior of the linearised network, which is exact if the network is linear."""

    name, title, paper = "exact", "Exact", BLUNDELL
    requirement = "exact==1"
    ranges_from = "this test"
    spread: ClassVar[float] = 1.0

    def search_space(self, task):
        return {"lr": LogUniform(0.1, 10.0), **precisions(task)}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        alpha, beta = problem.hparams.prior_precision, problem.scale
        start = 0.1 * torch.randn(problem.dim, dtype=x.dtype)
        jacobian = torch.func.jacrev(problem.network)(start, x)[:, 0]
        residual = y - problem.network(start, x)[:, 0] + jacobian @ start
        precision = alpha * torch.eye(problem.dim, dtype=x.dtype) + beta * jacobian.T @ jacobian
        mean = torch.linalg.solve(precision, beta * jacobian.T @ residual)
        noise = torch.randn(problem.dim, DRAWS, dtype=x.dtype)
        upper = torch.linalg.cholesky(precision).mT
        return mean + self.spread * torch.linalg.solve_triangular(upper, noise, upper=True).T


class HalfTheSpread(Exact):
    """A library whose standard deviations are half of the exact ones."""

    spread = 0.5


class Unseeded(Exact):
    """A library with a random generator of its own, which no seed sets."""

    generator: ClassVar[torch.Generator] = torch.Generator()

    def draws(self, problem, x, y, seed):
        draws = super().draws(problem, x, y, seed)
        return draws + 1e-6 * torch.randn(draws.shape, generator=self.generator)


class Explodes(Exact):
    """A library that diverges at high rates."""

    def draws(self, problem, x, y, seed):
        draws = super().draws(problem, x, y, seed)
        return draws if problem.hparams.lr < 5 else draws + torch.inf


def failed(kind: type[Wrapper]) -> set[str]:
    return {finding.check for finding in check(kind(), [RECOVERS, SAME_BITS, RANGES]) if not finding.passed}


@pytest.mark.parametrize(
    ("kind", "check"), [(Exact, None), (HalfTheSpread, RECOVERS), (Unseeded, SAME_BITS), (Explodes, RANGES)]
)
def test_stub_library_fails_the_check_that_it_should(kind, check):
    assert failed(kind) == ({check} if check else set())


def row(check: str, outcome: str) -> Outcome:
    return Outcome("lib", "1.0", "lib-a", "the exact posterior", check, outcome, "detail", "Python, torch")


def test_table_says_no_where_any_check_of_a_column_failed():
    rows = [row(RECOVERS, "failed"), row(SAME_BITS, "passed"), row(ELSEWHERE, "failed"), row(RANGES, "passed")]
    (line,) = command.table(rows, {("lib-a", ELSEWHERE): "#why"}).splitlines()[2:]
    assert line == "| lib 1.0 | `lib-a` | the exact posterior | no | [no](#why) | yes | 0 passed |"


def test_kept_outcomes_survive_reading_and_writing(tmp_path):
    rows = [row(RANGES, "passed")._replace(library=library) for library in ("vbll", "posteriors")]
    command.write(rows, tmp_path / "kept.csv")
    assert command.read(tmp_path / "kept.csv") == rows[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_installed_libraries_still_give_the_kept_outcomes(library):
    try:
        found = command.version(library)
    except PackageNotFoundError:
        pytest.skip(f"{library} is not installed")
    kept = {(row.method, row.check): row.outcome for row in ROWS if row.library == library}
    if found != next(row.version for row in ROWS if row.library == library):
        pytest.skip(f"{library} {found} is not the version of the table")
    for kind in command.wrappers(library):
        for title, outcome, detail in command.outcomes(kind):
            assert kept[kind.name, title] == outcome, f"{kind.name}, {title}: {detail}"
