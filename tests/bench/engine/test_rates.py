"""Factors of the learning rate along training."""

import pytest

from lockstep_bench.bench.engine.rates import Steps, cosine
from lockstep_bench.methods.base import Plan

PLAN = Plan(10, 2.5)  # 4 epochs


def test_steps_fall_after_whole_epochs():
    factors = [Steps((1, 3), 10)(update, PLAN) for update in range(1, 11)]
    assert factors == pytest.approx([1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_steps_without_milestones_are_constant():
    assert {Steps((), 10)(update, PLAN) for update in range(1, 11)} == {1.0}


def test_cosine_falls_to_zero():
    factors = [cosine(update, PLAN) for update in (1, 6, 11)]
    assert factors == pytest.approx([1, 0.5, 0])
