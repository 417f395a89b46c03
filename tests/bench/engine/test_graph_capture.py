"""A replay gives the function's own numbers, without what need not be repeated."""

import pytest
import torch
from torch.func import grad, vmap
from torch.fx import GraphModule

from lockstep_bench.bench.engine.graph_capture import capture

aten = torch.ops.aten
ROWS, INPUTS, BATCH = 3, 4, 5


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def operations(module: GraphModule) -> list:
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def descend(log_rate, log_precision, weights, x, y):
    """One gradient step per row of a stack on a penalised regression with a tanh."""

    def one(log_rate, log_precision, weights, x, y):
        def loss(weights):
            residual = torch.tanh(x @ weights) - y
            return log_precision.exp() * residual.square().mean() + weights.square().sum().sqrt()

        return weights - log_rate.exp() * grad(loss)(weights)

    return [vmap(one)(log_rate, log_precision, weights, x, y)]


def by_hand(log_rate, log_precision, weights, x, y):
    """Return the step of `descend`, with the gradient worked out on paper, one row after the other."""
    rows = []
    for rate, precision, w, features, target in zip(log_rate.exp(), log_precision.exp(), weights, x, y, strict=True):
        activation = torch.tanh(features @ w)
        slope = 2 * (activation - target) * (1 - activation**2) / len(target)
        rows.append(w - rate * (precision * features.T @ slope + w / w.norm()))
    return torch.stack(rows)


def arguments(seed: int) -> list[torch.Tensor]:
    """Return the arguments that change from step to step: weights, x, y."""
    shapes = [(ROWS, INPUTS), (ROWS, BATCH, INPUTS), (ROWS, BATCH)]
    return [numbers(*shape, seed=seed + part) for part, shape in enumerate(shapes)]


def test_captured_graph_equals_the_function_on_new_arguments():
    fixed = [numbers(ROWS, seed=10) - 3, numbers(ROWS, seed=11)]
    step = capture(descend, [*fixed, *arguments(100)], n_fixed=2)
    for seed in (100, 200, 300, 400):
        (captured,) = step(*fixed, *arguments(seed))
        torch.testing.assert_close(captured, by_hand(*fixed, *arguments(seed)), rtol=1e-12, atol=1e-12)


def test_calling_the_graph_again_continues_the_steps():
    fixed = [numbers(ROWS, seed=10) - 3, numbers(ROWS, seed=11)]
    weights, x, y = arguments(100)
    step, expected = capture(descend, [*fixed, weights, x, y], n_fixed=2), weights
    for _ in range(50):
        (weights,) = step(*fixed, weights, x, y)
        expected = by_hand(*fixed, expected, x, y)
    torch.testing.assert_close(weights, expected, rtol=1e-10, atol=1e-10)


def test_expressions_of_fixed_arguments_are_computed_once():
    def function(fixed, x):
        return [fixed.exp().cumsum(0).sqrt() * x]

    fixed, x = numbers(3), numbers(3, seed=1)
    module = capture(function, [fixed, x], n_fixed=1)
    assert operations(module) == [torch.mul]
    changed = numbers(3, seed=2)
    torch.testing.assert_close(module(fixed, changed)[0], fixed.exp().cumsum(0).sqrt() * changed)


def test_outer_products_become_elementwise_multiplications():
    module = capture(lambda a, b: [a @ b], [numbers(7, 3, 1), numbers(7, 1, 4)], n_fixed=0)
    assert operations(module) == [torch.mul]
    a, b = numbers(7, 3, 1, seed=1), numbers(7, 1, 4, seed=2)
    assert torch.equal(module(a, b)[0], a @ b)
    product = capture(lambda a, b: [a @ b], [numbers(7, 3, 2), numbers(7, 2, 4)], n_fixed=0)
    assert operations(product) == [torch.bmm]


def test_expressions_of_changing_arguments_stay_in_the_graph():
    def function(first, second, x):
        return [first.exp() * x, second.exp() * x, second.log1p() + 1]

    first, second, x = numbers(3), numbers(3, seed=1).abs(), numbers(3, seed=2)
    module = capture(function, [first, second, x], n_fixed=1)
    changed = numbers(3, seed=3).abs()
    for captured, expected in zip(module(first, changed, x), function(first, changed, x), strict=True):
        torch.testing.assert_close(captured, expected)


def test_graph_returns_outputs_of_fixed_arguments():
    module = capture(lambda fixed, x: [fixed + 1, x * 2], [torch.ones(2), torch.ones(2)], n_fixed=1)
    first, second = module(torch.ones(2), torch.full((2,), 5.0))
    assert first.tolist() == [2, 2]
    assert second.tolist() == [10, 10]


def test_graph_may_return_its_arguments():
    module = capture(lambda x: [x, x.view(x.shape)], [numbers(3)], n_fixed=0)
    changed = numbers(3, seed=1)
    assert all(torch.equal(output, changed) for output in module(changed))


def test_graph_omits_unused_loss_values():
    def function(weights, x):
        return [grad(lambda weights: (weights * x).square().sum().log())(weights)]

    weights, x = numbers(4), numbers(4, seed=1)
    module = capture(function, [weights, x], n_fixed=0)
    assert torch.log not in operations(module)
    torch.testing.assert_close(module(weights, x)[0], 2 * weights * x**2 / (weights * x).square().sum())


def test_graph_keeps_used_loss_values():
    module = capture(lambda x: [x.square().sum().log(), 2 * x], [numbers(3)], n_fixed=0)
    assert torch.log in operations(module)


def test_graph_omits_identity_operations():
    def function(x):
        return [(x.view(2, 3).expand(2, 3).to(torch.float64) ** 1).sin()]

    assert operations(capture(function, [numbers(2, 3)], n_fixed=0)) == [aten.sin.default]


def test_graph_keeps_reshapes_and_casts_with_effect():
    def function(x):
        return [x.view(6).expand(4, 6).to(torch.float32) ** 2]

    x, changed = numbers(2, 3), numbers(2, 3, seed=1)
    (captured,) = capture(function, [x], n_fixed=0)(changed)
    assert captured.dtype == torch.float32
    assert torch.equal(captured, (changed.reshape(6).expand(4, 6)).float() ** 2)


def test_zeros_like_and_ones_like_become_constants():
    module = capture(lambda x: [torch.zeros_like(x) + torch.ones_like(x) + x], [numbers(3)], n_fixed=0)
    assert operations(module) == [torch.add]
    assert torch.equal(module(torch.tensor([1.0, 2, 3]))[0], torch.tensor([2.0, 3, 4]))


def test_functions_with_in_place_operations_are_captured():
    def function(fixed, x):
        moved = x.clone()
        moved[0] = 0
        moved.add_(fixed * 2)
        return [moved]

    fixed = torch.tensor([1.0, 10, 100])
    module = capture(function, [fixed, torch.ones(3)], n_fixed=1)
    for x in (torch.tensor([5.0, 6, 7]), torch.tensor([8.0, 9, 10])):
        assert torch.equal(module(fixed, x)[0], torch.stack([fixed[0] * 2, x[1] + 20, x[2] + 200]))


def test_in_place_buffers_are_reset_before_each_call():
    """The buffer depends only on the fixed argument, but must not be kept from one call to the next."""

    def function(fixed, x):
        return [fixed.exp().add_(x)]

    fixed = numbers(3)
    module = capture(function, [fixed, torch.ones(3)], n_fixed=1)
    for x in (numbers(3, seed=1), numbers(3, seed=2)):
        torch.testing.assert_close(module(fixed, x)[0], fixed.exp() + x)


def test_in_place_operations_are_simplified_too():
    def function(fixed, x):
        return [x * fixed.exp().add_(1).log_()]

    fixed = numbers(3)
    module = capture(function, [fixed, numbers(3, seed=1)], n_fixed=1)
    assert operations(module) == [torch.mul]
    torch.testing.assert_close(module(fixed, torch.ones(3))[0], (fixed.exp() + 1).log())


def test_in_place_writes_to_arguments_happen_every_call():
    module = capture(lambda fixed, x: [x.add_(fixed) * 2], [torch.ones(2), torch.ones(2)], n_fixed=1)
    x = torch.tensor([5.0, 6.0])
    assert module(torch.ones(2), x)[0].tolist() == [12, 14]
    assert module(torch.ones(2), x)[0].tolist() == [14, 16]


def test_capture_does_not_change_its_arguments():
    fixed, x = numbers(3), numbers(3, seed=1)
    before = fixed.clone(), x.clone()
    capture(lambda fixed, x: [fixed.exp() * x], [fixed, x], n_fixed=1)(fixed, x)
    assert torch.equal(fixed, before[0])
    assert torch.equal(x, before[1])


def test_draws_from_the_global_generator_are_refused():
    with pytest.raises(RuntimeError, match="draws from torch's global generator"):
        capture(lambda x: [x + torch.randn(3)], [torch.zeros(3)], 0)


def test_power_of_one_that_casts_stays():
    (found,) = capture(lambda x: [x**1.0], [torch.arange(3)], 0)(torch.arange(3))
    assert found.dtype == torch.float32


def test_arguments_sharing_a_tensor_stay_separate_inputs():
    zeros = torch.zeros(3)
    replay = capture(lambda factor, a, b: [a + factor, b * factor], [torch.tensor(2.0), zeros, zeros], 1)
    first, second = replay(torch.tensor(2.0), torch.ones(3), torch.full((3,), 5.0))
    assert first.tolist() == [3.0] * 3
    assert second.tolist() == [10.0] * 3
