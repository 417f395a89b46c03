"""Optimisers as pure functions of parameters and gradients. The learning rate is a tensor."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.problem import Step

MOMENTUM = 0.9
MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8


class SGD(NamedTuple):
    """Plain gradient descent: params - lr * gradient."""

    @classmethod
    def init(cls, params: Tensor) -> "SGD":
        """Return the initial state, which is empty."""
        return cls()

    def step(self, params: Tensor, gradient: Tensor, lr: Tensor, step: Step) -> tuple[Tensor, "SGD"]:
        """Return the updated parameters and the optimiser's next state; `lr` broadcasts against `params`."""
        return params - lr * gradient, self


class Momentum(NamedTuple):
    """Heavy-ball gradient descent: velocity <- 0.9 velocity + gradient; params - lr * velocity.

    Attributes:
        velocity: exponentially weighted sum of gradients, of the parameters' shape.
    """

    velocity: Tensor

    @classmethod
    def init(cls, params: Tensor) -> "Momentum":
        """Return the initial state, with velocity zero."""
        return cls(torch.zeros_like(params))

    def step(self, params: Tensor, gradient: Tensor, lr: Tensor, step: Step) -> tuple[Tensor, "Momentum"]:
        """Return the updated parameters and the optimiser's next state; `lr` broadcasts against `params`."""
        velocity = MOMENTUM * self.velocity + gradient
        return params - lr * velocity, Momentum(velocity)


class Adam(NamedTuple):
    """Adam (Kingma and Ba 2015, Algorithm 1) with default decays, in the efficient order of the end of their section 2.

    Attributes:
        mean: running mean of the gradient, of the parameters' shape.
        square: running mean of the squared gradient, of the parameters' shape.
    """

    mean: Tensor
    square: Tensor

    @classmethod
    def init(cls, params: Tensor) -> "Adam":
        """Return the initial state, with both running means zero."""
        return cls(torch.zeros_like(params), torch.zeros_like(params))

    def step(self, params: Tensor, gradient: Tensor, lr: Tensor, step: Step) -> tuple[Tensor, "Adam"]:
        """Return the updated parameters and the optimiser's next state; `lr` broadcasts against `params`."""
        mean = torch.lerp(self.mean, gradient, 1 - MEAN_DECAY)
        square = torch.lerp(self.square, gradient**2, 1 - SQUARE_DECAY)
        mean_correction = -torch.expm1(step.count * math.log(MEAN_DECAY))
        square_correction = -torch.expm1(step.count * math.log(SQUARE_DECAY))
        # The corrections are scalars or have one entry per row of the parameters: applied to `lr`, they cost no further
        # pass over the parameters.
        root = square_correction.sqrt()
        direction = mean / (square.sqrt() + EPSILON * root)
        return torch.addcmul(params, -lr * root / mean_correction, direction), Adam(mean, square)


OPTIMISERS = (SGD, Momentum, Adam)


def clip_norm(gradient: Tensor, max_norm: float) -> Tensor:
    """Return the gradient, rescaled to Frobenius norm `max_norm` if its norm is larger."""
    norm: Tensor = torch.linalg.vector_norm(gradient)
    return gradient * (max_norm / norm).clamp(max=1)
