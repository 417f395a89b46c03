"""Gradient steps as pure functions; every row of a stack may have its own learning rate."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from methods.problem import Step

MOMENTUM = 0.9
MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8


class SGD(NamedTuple):
    """Plain gradient descent: params - lr * gradient."""

    @classmethod
    def init(cls, params: Tensor) -> "SGD":
        return cls()

    def step(self, params: Tensor, gradient: Tensor, lr: Tensor, step: Step) -> tuple[Tensor, "SGD"]:
        """The moved parameters and the optimiser's next state; `lr` broadcasts against `params`."""
        return params - lr * gradient, self


class Momentum(NamedTuple):
    """Heavy-ball gradient descent: velocity <- 0.9 velocity + gradient; params - lr * velocity.

    Attributes:
        velocity: of the parameters' shape.
    """

    velocity: Tensor

    @classmethod
    def init(cls, params: Tensor) -> "Momentum":
        return cls(torch.zeros_like(params))

    def step(self, params: Tensor, gradient: Tensor, lr: Tensor, step: Step) -> tuple[Tensor, "Momentum"]:
        """The moved parameters and the optimiser's next state; `lr` broadcasts against `params`."""
        velocity = MOMENTUM * self.velocity + gradient
        return params - lr * velocity, Momentum(velocity)


class Adam(NamedTuple):
    """Kingma and Ba 2015, Algorithm 1, with its default decays, in the order of the end of their section 2.

    Attributes:
        mean: running mean of the gradient, of the parameters' shape.
        square: running mean of its square.
    """

    mean: Tensor
    square: Tensor

    @classmethod
    def init(cls, params: Tensor) -> "Adam":
        return cls(torch.zeros_like(params), torch.zeros_like(params))

    def step(self, params: Tensor, gradient: Tensor, lr: Tensor, step: Step) -> tuple[Tensor, "Adam"]:
        """The moved parameters and the optimiser's next state; `lr` broadcasts against `params`."""
        mean = torch.lerp(self.mean, gradient, 1 - MEAN_DECAY)
        square = torch.lerp(self.square, gradient**2, 1 - SQUARE_DECAY)
        mean_correction = -torch.expm1(step.count * math.log(MEAN_DECAY))
        square_correction = -torch.expm1(step.count * math.log(SQUARE_DECAY))
        # Corrections are numbers, or one for each row: they go where they cost no pass over all parameters.
        root = square_correction.sqrt()
        direction = mean / (square.sqrt() + EPSILON * root)
        return torch.addcmul(params, -lr * root / mean_correction, direction), Adam(mean, square)


OPTIMISERS = (SGD, Momentum, Adam)


def clip_norm(gradient: Tensor, max_norm: float) -> Tensor:
    """`gradient` rescaled to Frobenius norm `max_norm` where its norm is larger."""
    norm = torch.linalg.vector_norm(gradient)
    return gradient * (max_norm / norm).clamp(max=1)
