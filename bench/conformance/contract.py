"""Is the adapter what the engine expects: declared, of constant shape, on one device, its posterior storable?"""

import io
from dataclasses import replace

import torch
from optuna.distributions import BaseDistribution

import methods
from bench.conformance.examined import N_SAMPLES, SEEDS, UPDATES, Examined, data_of, middle, on_every_task, require
from bench.conformance.placement import stray
from methods.base import Paper
from methods.catalogue.registry import BUILT_IN
from methods.problem import Task


def declares_itself(examined: Examined) -> str:
    """Name, title, paper and search spaces are there and of the right kind, and a method of ours has a card."""
    method = examined.method
    for attribute in ("name", "title"):
        value = getattr(method, attribute, None)
        require(isinstance(value, str) and value, f"`{attribute}` is {value!r}; it must be a non-empty string")
    require(isinstance(getattr(method, "paper", None), Paper), "`paper` is missing; it must be a methods.base.Paper")
    for attribute in ("batches_per_update", "members"):
        value = getattr(method, attribute)
        require(isinstance(value, int) and value >= 1, f"`{attribute}` is {value!r}; it must be an integer from 1 up")
    reasons = {task.name: method.excludes(task) for task in examined.candidates}
    require(bool(examined.tasks), f"it excludes every task: {reasons}")
    for task in examined.tasks:
        for space in (method.search_space, method.wide_space):
            wrong = [name for name, one in space(task).items() if not isinstance(one, BaseDistribution)]
            require(not wrong, f"{space.__name__} gives no Optuna distribution for {', '.join(wrong)}")
    _has_a_card(method.name)
    return f"tunes {', '.join(method.search_space(examined.tasks[0]))}; for {', '.join(t.name for t in examined.tasks)}"


def _has_a_card(name: str) -> None:
    """A method of this project can be shown to people: its family is in `methods/catalogue/cards.toml`; a
    stranger's need not.
    """
    if name in BUILT_IN:
        card = methods.card(name)
        lacking = [part for part in ("family", "idea", "objective", "paper") if not getattr(card, part)]
        require(not lacking, f"its card has no {', '.join(lacking)}; cards.toml has a table per module")


@on_every_task
def state_keeps_its_shape(examined: Examined, task: Task) -> str:
    """`update` returns a state like the one it got; `Stack` refuses anything else."""
    stack = examined.together(task)  # raises when a state changes its structure
    return f"{stack.n_parameters} numbers for {stack.n_weights} weights"


@on_every_task
def keeps_to_its_device(examined: Examined, task: Task) -> str:
    """No step makes a tensor elsewhere than where the data are; tried without a GPU."""
    method = examined.method
    if not method.stackable:
        return "not looked at: a foreign library's own business"
    hparams = {name: middle(one) for name, one in method.search_space(task).items()}
    found = stray(method, task, data_of(task), hparams, examined.schedule(UPDATES), N_SAMPLES)
    require(found is None, f"{found} makes a tensor on another device; take it from a tensor that is given")
    return "on the device of the data"


@on_every_task
def posterior_can_be_saved(examined: Examined, task: Task) -> str:
    """A posterior that went through `torch.save` and `torch.load` predicts the same bits."""
    stack = examined.together(task)
    before = examined.predictives(stack)
    file = io.BytesIO()
    torch.save(stack.posterior, file)
    file.seek(0)
    after = examined.predictives(replace(stack, posterior=torch.load(file, weights_only=False)))
    same = all(
        torch.equal(*pair) for one, other in zip(before, after, strict=True) for pair in zip(one, other, strict=True)
    )
    require(same, "a saved and loaded posterior predicts something else")
    return f"{len(file.getvalue()) / 1024 / len(SEEDS):.0f} KiB per fit"
