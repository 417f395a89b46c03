"""Factors of the learning rate along training."""

import pytest

from lockstep_bench.bench.engine.rates import Steps, cosine
from lockstep_bench.methods.base import Plan

PLAN = Plan(10, 2.5)  # 4 epochs


def test_step_schedule_lowers_the_rate_after_whole_epochs():
    factors = [Steps((1, 3), 10)(update, PLAN) for update in range(1, 11)]
    assert factors == pytest.approx([1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_step_schedule_without_milestones_is_constant():
    assert {Steps((), 10)(update, PLAN) for update in range(1, 11)} == {1.0}


def test_cosine_schedule_falls_to_zero():
    factors = [cosine(update, PLAN) for update in (1, 6, 11)]
    assert factors == pytest.approx([1, 0.5, 0])
