"""Random graphs of operators against torch: fusion into loops, parts computed in place, and memory that is shared."""

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

aten = torch.ops.aten
R = 19
SHAPES = [(3, 4), (4, 3), (4,), (3,), (3, 1), (1, 4), (), (2, 3, 4), (4, 4), (12,), (6, 4)]
N_FIXED = 3  # of the inputs; they stay the same during training
MOST_NUMBERS = 60
N_GRAPHS, N_OPERATIONS, N_LOOPS = 25, 12, 6

# Every operation keeps numbers near 1 and is continuous, so that rounding stays small.
UNARY = [torch.tanh, torch.sin, torch.sigmoid, torch.neg, torch.abs, lambda a: 0.5 * a + 0.1]
BINARY = [
    lambda a, b: 0.5 * (a + b),
    lambda a, b: a * torch.tanh(b),
    torch.maximum,
    lambda a, b: torch.where(a > b, b, a),
    lambda a, b: a / (1 + b * b),
]


def broadcast(a: Tensor, b: Tensor) -> tuple[int, ...] | None:
    """Return the shape of both together, or None if they do not fit."""
    try:
        return tuple(torch.broadcast_shapes(a.shape, b.shape))
    except RuntimeError:
        return None


class Graph:
    """A random program: operations on numbered tensors.

    Attributes:
        steps: functions, and the numbers of their operands.
        results: numbers of the tensors that it returns.
    """

    def __init__(self, chance: random.Random, inputs: list[Tensor], n_operations: int = N_OPERATIONS):
        self._chance, self._known = chance, list(inputs)
        self.steps: list[tuple[Callable[..., Tensor], tuple[int, ...]]] = []
        kinds = (self._unary, self._binary, self._reduction, self._view, self._joined, self._scattered, self._product)
        while len(self.steps) < n_operations:
            chance.choices(kinds, weights=(4, 5, 3, 4, 3, 3, 1))[0]()
        self.results = [len(self._known) - 1, *chance.choices(range(len(self._known)), k=3)]

    def of_shape(self, shape: tuple[int, ...]) -> list[int]:
        """Return the numbers of the tensors of a shape."""
        return [number for number, tensor in enumerate(self._known) if tensor.shape == shape]

    def run(self, inputs: list[Tensor], results: list[int] | None = None) -> list[Tensor]:
        known = list(inputs)
        for function, operands in self.steps:
            known.append(function(*(known[number] for number in operands)))
        return [known[number] for number in results or self.results]

    def _pick(self, fits: Callable[[Tensor], bool] = lambda tensor: tensor.numel() > 0) -> int | None:
        numbers = [number for number, tensor in enumerate(self._known) if fits(tensor)]
        # Recent tensors are taken more often, so that chains form.
        return self._chance.choice(numbers + 3 * numbers[-4:]) if numbers else None

    def _add(self, function: Callable[..., Tensor], *operands: int | None) -> None:
        if None in operands:
            return
        result = function(*(self._known[number] for number in operands))
        if result.numel() <= MOST_NUMBERS:
            self._known.append(result)
            self.steps.append((function, operands))

    def _unary(self) -> None:
        self._add(self._chance.choice(UNARY), self._pick())

    def _binary(self) -> None:
        first = self._pick()
        second = self._pick(lambda other: broadcast(other, self._known[first]) is not None)
        self._add(self._chance.choice(BINARY), *self._chance.sample((first, second), 2))

    def _reduction(self) -> None:
        number = self._pick(lambda tensor: tensor.ndim > 0 and tensor.numel() > 0)
        rank = self._known[number].ndim
        axes, keep = self._chance.sample(range(rank), self._chance.randint(1, rank)), self._chance.random() < 0.5
        one = axes[0]
        self._add(
            self._chance.choice(
                [
                    lambda a: a.mean(axes, keepdim=keep),
                    lambda a: 0.3 * a.sum(axes, keepdim=keep),
                    lambda a: a.sum(axes, keepdim=keep).tanh(),
                    lambda a: a.amax(axes, keepdim=keep),
                    lambda a: a.logsumexp(one, keepdim=keep),
                    lambda a: a.softmax(one),
                    lambda a: a.cumsum(one).tanh(),
                ]
            ),
            number,
        )

    def _view(self) -> None:
        number = self._pick()
        shape = tuple(self._known[number].shape)
        views: list[Callable[[Tensor], Tensor]] = [
            lambda a: a.unsqueeze(0),
            lambda a: a.expand(2, *shape),
            lambda a: a.flatten(),
            lambda a: a.squeeze(),
        ]
        if len(shape) >= 2:
            views += [lambda a: a.transpose(0, 1), lambda a: a.mT, lambda a: a.mT.flatten(), lambda a: a.diagonal()]
        if shape and shape[0] > 1:
            views += [lambda a: a[1:], lambda a: a[-1], lambda a: a[::2], lambda a: a[:, None]]
        if shape and shape[-1] > 1:
            views += [lambda a: a[..., :-1], lambda a: a[..., 0], lambda a: a[..., 1::2], lambda a: a.unbind(-1)[1]]
        self._add(self._chance.choice(views), number)

    def _joined(self) -> None:
        first = self._pick(lambda tensor: tensor.ndim > 0 and tensor.numel() > 0)
        shape = self._known[first].shape
        axis = self._chance.randrange(len(shape))
        second, third = (
            self._pick(
                lambda other: (
                    other.ndim == len(shape)
                    and all(
                        a == b for place, (a, b) in enumerate(zip(shape, other.shape, strict=True)) if place != axis
                    )
                )
            )
            for _ in range(2)
        )
        self._add(lambda *parts: torch.cat(parts, axis), first, second, third)
        self._add(lambda a, b: torch.stack([a, b], axis), first, self._pick(lambda other: other.shape == shape))

    def _scattered(self) -> None:
        number = self._pick(lambda tensor: tensor.ndim > 0 and tensor.numel() > 0)
        shape = list(self._known[number].shape)
        axis, before, after = self._chance.randrange(len(shape)), self._chance.randrange(3), self._chance.randrange(3)
        longer = [*shape[:axis], shape[axis] + before + after, *shape[axis + 1 :]]
        self._add(
            self._chance.choice(
                [
                    lambda a: aten.slice_backward(a, longer, axis, before, before + shape[axis], 1),
                    lambda a: aten.select_backward(a, [3, *shape], 0, 1),
                    lambda a: torch.diag_embed(a),
                ]
            ),
            number,
        )
        part = self._pick(lambda tensor: list(tensor.shape) == [*shape[:axis], 1, *shape[axis + 1 :]])
        self._add(lambda a, b: torch.slice_scatter(a, b, axis, 0, 1), number, part)
        part = self._pick(lambda tensor: list(tensor.shape) == [*shape[:axis], *shape[axis + 1 :]])
        self._add(lambda a, b: torch.select_scatter(a, b, axis, -1), number, part)

    def _product(self) -> None:
        left = self._pick(lambda tensor: tensor.ndim == 2)
        right = self._pick(lambda tensor: tensor.ndim == 2 and len(tensor) == self._known[left].shape[1])
        self._add(lambda a, b: 0.2 * (a @ b), left, right)


@pytest.mark.parametrize("seed", range(N_LOOPS))
def test_compiled_random_graphs_equal_torch(run_update, seed):
    generator = torch.Generator().manual_seed(seed)
    inputs = [torch.randn(R, *shape, generator=generator) for shape in SHAPES]
    constants = [torch.randn(shape, generator=generator) for shape in ((3, 4), ())]
    examples = [*(leaf[0] for leaf in inputs), *constants]
    graphs = [Graph(random.Random(N_GRAPHS * seed + number), examples) for number in range(N_GRAPHS)]

    def function(*leaves: Tensor) -> list[Tensor]:
        return [result for graph in graphs for result in graph.run([*leaves, *constants])]

    update = run_update(function, inputs[N_FIXED:], inputs[:N_FIXED])
    for number, (outcome, expected) in enumerate(zip(update.outcomes, update.expected, strict=True)):
        message = f"graph {N_GRAPHS * seed + number // len(graphs[0].results)}"
        torch.testing.assert_close(outcome, expected, rtol=1e-4, atol=1e-5, msg=lambda text, m=message: f"{m}: {text}")


@pytest.mark.parametrize("seed", range(N_LOOPS))
def test_compiled_random_state_updates_equal_torch(run_updates, seed):
    """Leaves change places, appear twice, stay, or are parts, views and constants, in calls of several updates."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [shape for shape in SHAPES for _ in range(2)]
    inputs = [torch.randn(R, *shape, generator=generator) for shape in [*SHAPES[:N_FIXED], *shapes, (0, 3)]]
    constants = [torch.randn(shape, generator=generator) for shape in ((3, 4), ())]
    fixed, state = inputs[:N_FIXED], inputs[N_FIXED:]
    chance = random.Random(seed)
    graph = Graph(chance, [*(leaf[0] for leaf in inputs), *constants], 5 * N_OPERATIONS)
    sources = [chance.choice(graph.of_shape(leaf[0].shape)[-4:]) for leaf in state]

    def function(*leaves: Tensor) -> list[Tensor]:
        return graph.run([*leaves, *constants], sources)

    expected = []
    for number in range(R):
        leaves = [leaf[number] for leaf in state]
        for _ in range(7):
            leaves = function(*(leaf[number] for leaf in fixed), *leaves)
        expected.append(leaves)
    outcomes, _ = run_updates(function, state, fixed, [1, 2, 3, 1])
    for outcome, *wanted in zip(outcomes, *expected, strict=True):
        torch.testing.assert_close(outcome, torch.stack(wanted), rtol=1e-3, atol=1e-4)


def test_zero_initialisation_keeps_already_computed_parts(run_update):
    """The first part is computed before the zeros that will hold both parts, the second part after them."""

    def function(part: Tensor, other: Tensor) -> list[Tensor]:
        first, like_zeros = part.exp(), other * 2
        second = (part @ part.mT) @ part
        return [aten.slice_backward(torch.cat([first, second]), [8, 4], 0, 1, 7, 1), like_zeros]

    generator = torch.Generator().manual_seed(0)
    update = run_update(function, [torch.randn(R, rows, 4, generator=generator) for rows in (3, 8)])
    for outcome, expected in zip(update.outcomes, update.expected, strict=True):
        torch.testing.assert_close(outcome, expected)


def test_sums_over_all_numbers_of_a_tensor_equal_torch_in_both_layouts(run_update):
    """In the layout of one replica, such sums add the lanes one after the other."""

    def function(vector: Tensor, matrix: Tensor) -> list[Tensor]:
        scaled = vector / vector.exp().add(1).sqrt()
        clipped = scaled * (1 / scaled.square().sum().sqrt()).clamp(max=1)
        largest = (matrix * 2).amax() + matrix.mT.square().mean()
        return [clipped, (matrix.mT.contiguous() * largest).cumsum(0)]

    generator = torch.Generator().manual_seed(0)
    update = run_update(function, [torch.randn(R, *shape, generator=generator) for shape in ((37,), (5, 19))])
    for outcome, expected in zip(update.outcomes, update.expected, strict=True):
        torch.testing.assert_close(outcome, expected)


@pytest.mark.parametrize("shape", [(3, 9), (2, 5, 7), (4, 1), (1, 6)], ids=str)
def test_sums_formed_side_by_side_equal_torch(run_update, shape):
    """Several numbers of a result are summed in one loop, and those left over in another."""

    def function(tensor: Tensor, weights: Tensor) -> list[Tensor]:
        scaled = tensor * weights
        by_column, by_row = scaled.sum(0), scaled.sum(-1)
        largest, squares = tensor.sin().amax(0), tensor.sin().square().sum(0)
        return [by_column.tanh() * largest + squares, by_row + weights[..., 0]]

    generator = torch.Generator().manual_seed(0)
    update = run_update(function, [torch.randn(R, *shape, generator=generator) for _ in range(2)])
    for outcome, expected in zip(update.outcomes, update.expected, strict=True):
        torch.testing.assert_close(outcome, expected)
