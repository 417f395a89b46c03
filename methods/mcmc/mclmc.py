"""Microcanonical Langevin Monte Carlo (MCLMC): a chain of positions and unit velocities (Robnik et al. 2023).

In continuous time a chain moves at unit speed along its velocity u, and the gradient g of log p(theta | D) turns it,

    d theta = u dt,    d u = (I - u u^T) (g dt / (D - 1) + eta dW),

so that theta has the distribution p(theta | D). A step of length epsilon uses the minimal-norm integrator of McLachlan
(1995), which takes two gradients. Before and after it, the velocity is turned at random, so much that it forgets its
direction over the length L. Nothing is accepted or rejected. The step length is tuned to a given variance of the energy
error (Robnik et al. 2023).

The functions advance one chain. Vectors of weights have the shape (D,).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.maths.noise import Noise

OUTER = 0.1931833275037836  # the first and the last turn of the velocity, as a part of the step (McLachlan 1995)
PRIOR_STEPS = 100.0  # about the number of steps over which the step length is averaged while it is tuned
TRUST = 1.5 * 6  # width of the weights by which steps of an unusual energy error count less

LogDensity = Callable[[Tensor], tuple[Tensor, Tensor]]  # weights -> gradient and value


class Chain(NamedTuple):
    """State of an MCLMC chain.

    Attributes:
        weights: (D,), its position theta.
        velocity: (D,), velocity u, a unit vector.
        gradient: (D,), gradient of the log density at theta.
        log_density: (), log density at theta.
    """

    weights: Tensor
    velocity: Tensor
    gradient: Tensor
    log_density: Tensor


class Tuning(NamedTuple):
    """Running averages by which the step length is tuned.

    Attributes:
        step: (), the step length epsilon.
        limit: (), upper limit of the step length, lowered after each step that ended in non-finite numbers.
        weight: (), sum of the averaging weights of all steps.
        ratio: (), weighted sum over steps of the squared energy error, divided by its target and by epsilon^6.
    """

    step: Tensor
    limit: Tensor
    weight: Tensor
    ratio: Tensor

    @classmethod
    def init(cls, step: Tensor) -> "Tuning":
        """Return the tuning state before the first step, whose length is `step`."""
        zero = torch.zeros_like(step)
        return cls(step, torch.full_like(step, math.inf), zero, zero)

    def after(self, energy_error: Tensor, finite: Tensor, dim: int, wanted: Tensor) -> "Tuning":
        """Return the averages after a step, and the next step length.

        The variance of the energy error grows with epsilon^6. From an average of errors follows the step length at
        which their variance per weight reaches its target.

        Args:
            energy_error: (), energy error of the step; 0 if the step was not finite.
            finite: (), whether the step was finite.
            dim: D, number of weights.
            wanted: (), target of the energy error's variance per weight.
        """
        decay = (PRIOR_STEPS - 1) / (PRIOR_STEPS + 1)
        limit = torch.where(finite, self.limit, self.step)
        relative = energy_error.square() / (dim * wanted) + 1e-8
        weight = torch.exp(-0.5 * (relative.log() / TRUST).square())
        ratio = decay * self.ratio + weight * relative / self.step**6
        total = decay * self.weight + weight
        return Tuning(torch.minimum((ratio / total) ** (-1 / 6), limit), limit, total, ratio)


def started(log_density: LogDensity, weights: Tensor, noise: Noise) -> Chain:
    """Return a chain that starts at `weights` (D,) with a random velocity."""
    gradient, value = log_density(weights)
    return Chain(weights, _unit(noise.normal(len(weights))), gradient, value)


def stepped(
    log_density: LogDensity, chain: Chain, step: Tensor, length: Tensor, noise: Noise
) -> tuple[Chain, Tensor, Tensor]:
    """Return the chain after a step, the step's energy error (), and whether it was finite ().

    If a step ends in non-finite numbers, the chain stays where it was, and the energy error is 0.

    Args:
        log_density: log density of the chain's target.
        chain: chain before the step.
        step: (), epsilon.
        length: (), L, the distance over which the velocity forgets its direction.
        noise: random numbers, of which 2 D are drawn.
    """
    velocity = _refreshed(chain.velocity, step, length, noise)
    velocity, gained = _turned(velocity, chain.gradient, OUTER * step)
    weights = chain.weights + 0.5 * step * velocity
    gradient, _ = log_density(weights)
    velocity, gained_between = _turned(velocity, gradient, (1 - 2 * OUTER) * step)
    weights = weights + 0.5 * step * velocity
    gradient, value = log_density(weights)
    velocity, gained_last = _turned(velocity, gradient, OUTER * step)
    error = gained + gained_between + gained_last + chain.log_density - value
    after = Chain(weights, _refreshed(velocity, step, length, noise), gradient, value)
    finite = torch.isfinite(error) & torch.isfinite(weights.sum())
    kept = Chain(*(torch.where(finite, new, old) for new, old in zip(after, chain, strict=True)))
    return kept, torch.where(finite, error, torch.zeros_like(error)), finite


def _turned(velocity: Tensor, gradient: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    """Return the velocity that a constant gradient has turned for some time, and the kinetic energy gained, ().

    With e = g / |g| and delta = time |g| / (D - 1), the velocity becomes (Ver Steeg and Galstyan 2021)

        u + e (sinh(delta) + e.u (cosh(delta) - 1)), divided by its length cosh(delta) + e.u sinh(delta);

    the energy D - 1 times the logarithm of that length is gained.
    """
    n_free = len(velocity) - 1
    norm = torch.linalg.vector_norm(gradient)
    direction = gradient / norm.clamp(min=1e-30)
    delta = time * norm / n_free
    along = torch.dot(direction, velocity)
    shrunk = torch.exp(-delta)  # all terms are multiplied by 2 exp(-delta), so that none overflows
    turned = 2 * shrunk * velocity + direction * (1 - shrunk) * (1 + shrunk + along * (1 - shrunk))
    gained = n_free * (delta - math.log(2) + torch.log1p(along + (1 - along) * shrunk.square()))
    return _unit(turned), gained


def _refreshed(velocity: Tensor, step: Tensor, length: Tensor, noise: Noise) -> Tensor:
    """Return the velocity after half a step's random turn."""
    spread = torch.sqrt(torch.expm1(step / length) / len(velocity))
    return _unit(velocity + spread * noise.normal(len(velocity)))


def _unit(direction: Tensor) -> Tensor:
    """Return a vector (D,) divided by its length."""
    length: Tensor = torch.linalg.vector_norm(direction)
    return direction / length
