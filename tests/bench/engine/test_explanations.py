"""Exceptions in a method are explained by the rule that it breaks and its own line."""

import re

import pytest
import torch

from lockstep_bench.bench.conformance import check
from lockstep_bench.methods.map import MAP


class Changed(MAP):
    """Replaces the weights after an update by a function of them."""

    def update(self, problem, state, batch, noise, step):
        state, _ = super().update(problem, state, batch, noise, step)
        return state._replace(weights=self.change(problem, state.weights, step))


class BranchesOnAValue(Changed):
    def change(self, problem, weights, step):
        return weights if weights.sum() > 0 else -weights


class BranchesOnTheCount(Changed):
    def change(self, problem, weights, step):
        return weights if step.count > 3 else -weights


class ReadsAHyperParameter(Changed):
    def change(self, problem, weights, step):
        return weights * float(problem.hparams.lr)


class UsesNumPy(Changed):
    def change(self, problem, weights, step):
        return torch.tensor(weights.numpy(), dtype=weights.dtype)


class DrawsFromTorch(Changed):
    def change(self, problem, weights, step):
        return weights + torch.randn_like(weights)


class ChangesInPlace(Changed):
    def change(self, problem, weights, step):
        total = torch.zeros(problem.dim, dtype=weights.dtype)
        total += weights
        return total


class SelectsByAMask(Changed):
    def change(self, problem, weights, step):
        return weights * weights[weights > 0].sum()


class CallsAutograd(Changed):
    def change(self, problem, weights, step):
        return torch.autograd.grad(weights.square().sum(), weights)[0]


class StartsWithANumber(MAP):
    def init(self, problem, noise):
        return {"weights": problem.initial_weights(noise), "decay": 0.5}


class MisspellsAHyperParameter(Changed):
    def change(self, problem, weights, step):
        return weights * problem.hparams.lrr


@pytest.mark.parametrize(
    ("method", "meaning", "line"),
    [
        (BranchesOnAValue(), "reads the value of a tensor", "return weights if weights.sum"),
        (BranchesOnTheCount(), "branch on `step.phase` alone", "return weights if step.count"),
        (ReadsAHyperParameter(), "reads the value of a tensor", "return weights * float"),
        (UsesNumPy(), "reads the value of a tensor", "return torch.tensor"),
        (DrawsFromTorch(), "take random numbers from `noise`", "return weights . torch.randn_like"),
        (ChangesInPlace(), "instead of `z .= x`", "total .= weights"),
        (SelectsByAMask(), "shape depends on values", "return weights * weights"),
        (CallsAutograd(), "use `grad` or `grad_and_value` of `lockstep_bench.methods.api`", "return torch.autograd"),
        (StartsWithANumber(), "make a number a tensor", None),
        (MisspellsAHyperParameter(), "AttributeError: there is no hyper-parameter 'lrr'", "return weights . problem"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, MAP) else "",
)
def test_error_names_the_broken_rule_and_source_line(method, meaning, line):
    (finding,) = check(method, ["state keeps its shape"])
    assert not finding.passed
    assert re.search(re.escape(meaning).replace(r"\.", "."), finding.detail), finding.detail
    if line:
        assert re.search(rf"test_explanations.py, line \d+, `{line.replace('*', '.')}", finding.detail), finding.detail
    assert "file an issue" not in finding.detail


def test_repeated_error_refers_to_the_first_check():
    first, second = check(BranchesOnAValue(), ["state keeps its shape", "stack equals alone"])
    assert "reads the value" in first.detail
    assert second.detail == "for the same reason as 'state keeps its shape'"
    assert not second.passed
