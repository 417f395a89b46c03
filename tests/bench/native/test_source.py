"""Memory of the leaves of the next state in a training loop."""

import torch
from torch import Tensor

from lockstep_bench.bench.native.source import chains


def test_states_that_move_exchange_memory_in_order():
    assert chains([1, 2, None, 3]) == [[2, 1, 0]]
    assert chains([0, None, None]) == [[1], [2]]


def test_compiled_window_of_iterates_equals_torch(run_updates):
    """The oldest of three iterates leaves a window, as in SWAG, in calls of other lengths than the window's."""

    def function(weights: Tensor, *window: Tensor) -> list[Tensor]:
        weights = 0.5 * weights + 1
        return [weights, *window[1:], weights - window[0]]

    generator = torch.Generator().manual_seed(0)
    state = expected = [torch.randn(19, 5, generator=generator) for _ in range(4)]
    for _ in range(7):
        expected = function(*expected)
    outcomes, _ = run_updates(function, state, [], [1, 2, 4])
    for outcome, wanted in zip(outcomes, expected, strict=True):
        torch.testing.assert_close(outcome, wanted)


def test_compiled_matrix_times_transpose_equals_torch(run_update):
    def function(matrix: Tensor) -> list[Tensor]:
        return [matrix @ matrix.mT, matrix.mT @ matrix]

    matrices = torch.randn(19, 11, 13, generator=torch.Generator().manual_seed(0))
    update = run_update(function, [matrices])
    for outcome, expected in zip(update.outcomes, update.expected, strict=True):
        torch.testing.assert_close(outcome, expected)
