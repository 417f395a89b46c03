"""Interacting particles: K networks that descend to the posterior together and repel one another.

Particles theta_1, .., theta_K move along directions phi_i. These depend on the scores s_i = grad log p(theta_i | D),
estimated from a minibatch that all particles share, and on the kernel k(a, b) = exp(-|a - b|^2 / h) of the flat
weights:

- `svgd`, Stein variational gradient descent (Liu and Wang 2016, eq. 8):

      phi_i = 1/K sum_j [k(theta_j, theta_i) s_j + grad_{theta_j} k(theta_j, theta_i)].

- `repulsive-ensemble`, the gradient flow of the Wasserstein distance with a kernel density estimate in weight space
  (kde-WGD; D'Angelo and Fortuin 2021):

      phi_i = s_i - sum_j grad_{theta_i} k(theta_i, theta_j) / sum_j k(theta_i, theta_j).

The bandwidth is h = med^2 / log K with the median distance of two particles (Liu and Wang 2016). The optimiser is Adam,
where Liu and Wang take AdaGrad. Either has the same fixed points, where all phi_i are 0.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap

from lockstep_bench.methods.api import Adam, Batch, LogUniform, Method, Noise, Problem, Step, Task, grad_and_value
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.gradients import AT_ONCE
from lockstep_bench.methods.mcmc.draws import thinned

PARTICLES = 20  # as Liu and Wang 2016 have of neural networks
LEAST_BANDWIDTH = 1e-20


class ParticleState(NamedTuple):
    """State of training with interacting particles.

    Attributes:
        particles: (K, D), weights of all particles.
        optim: optimiser of the particles.
    """

    particles: Tensor
    optim: Adam


class Kernel(NamedTuple):
    """The kernel between all pairs of particles.

    Attributes:
        values: (K, K), k(theta_i, theta_j).
        bandwidth: (), h.
    """

    values: Tensor
    bandwidth: Tensor

    def repulsion(self, particles: Tensor) -> Tensor:
        """Return the repulsion of each particle i, sum_j grad_{theta_j} k(theta_j, theta_i), (K, D).

        It is 2/h sum_j k(theta_i, theta_j) (theta_i - theta_j).
        """
        return 2 / self.bandwidth * (self.values.sum(1, keepdim=True) * particles - self.values @ particles)


class ParticleMethod(Method):
    """Base of SVGD and the repulsive ensemble. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        particles: K, the number of particles, at least 2.

    Raises:
        ValueError: if there are fewer than two particles.
    """

    def __init__(self, particles: int = PARTICLES):
        if particles < 2:
            raise ValueError(f"particles repel one another: give at least 2, not {particles}")
        self.particles = particles

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, noise: Noise) -> ParticleState:
        particles = torch.stack([problem.initial_weights(noise) for _ in range(self.particles)])
        return ParticleState(particles, Adam.init(particles))

    def update(
        self, problem: Problem, state: ParticleState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[ParticleState, dict[str, Tensor]]:
        scores, log_posterior = _scores(problem, state.particles, batch)
        centred = state.particles - state.particles.mean(0)  # directions depend only on differences
        direction = self.direction(scores, centred, kernel_of(centred))
        particles, optim = state.optim.step(state.particles, -direction, problem.hparams.lr, step)
        return ParticleState(particles, optim), {"objective": -log_posterior}

    @abstractmethod
    def direction(self, scores: Tensor, particles: Tensor, kernel: Kernel) -> Tensor:
        """Return the directions phi (K, D), given the scores (K, D) of the particles.

        Args:
            scores: (K, D).
            particles: (K, D), perhaps all shifted by the same vector, which changes nothing.
            kernel: kernel between all pairs of particles.
        """

    def finish(self, problem: Problem, state: ParticleState) -> Tensor:
        return state.particles

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return thinned(posterior, n_samples)


@catalogued("svgd")
class SVGD(ParticleMethod):
    """Stein variational gradient descent: particles follow the kernel-weighted mean of all scores, plus a repulsion."""

    def direction(self, scores: Tensor, particles: Tensor, kernel: Kernel) -> Tensor:
        return (kernel.values @ scores + kernel.repulsion(particles)) / len(particles)


@catalogued("repulsive-ensemble")
class RepulsiveEnsemble(ParticleMethod):
    """Deep ensemble with repulsion: each particle follows its own score minus the score of the particles' density."""

    def direction(self, scores: Tensor, particles: Tensor, kernel: Kernel) -> Tensor:
        return scores + kernel.repulsion(particles) / kernel.values.sum(1, keepdim=True)


def kernel_of(particles: Tensor) -> Kernel:
    """Return the kernel of particles (K, D), whose bandwidth is the squared median distance over log K.

    Rounding errors of the distances grow with |theta|^2, so the particles should be centred before.
    """
    products = particles @ particles.T
    squares = products.diagonal()
    distances = (squares[:, None] + squares[None, :] - 2 * products).clamp(min=0)
    pairs = torch.cat([distances.diagonal(offset) for offset in range(1, len(particles))])
    median = median_of(pairs.sqrt())
    bandwidth = (median.square() / math.log(len(particles))).clamp(min=LEAST_BANDWIDTH)
    return Kernel(torch.exp(-distances / bandwidth), bandwidth)


def median_of(numbers: Tensor) -> Tensor:
    """Return the median of P numbers, (); for even P, the mean of the middle two.

    All pairs of numbers are compared: the order statistic number r (from 0) is the largest number that exceeds at most
    r others.
    """
    below = (numbers[None, :] < numbers[:, None]).to(numbers).sum(1)
    least = torch.zeros_like(numbers) - math.inf
    middle = [
        torch.where(below <= rank, numbers, least).amax() for rank in {(len(numbers) - 1) // 2, len(numbers) // 2}
    ]
    return torch.stack(middle).mean()


def _scores(problem: Problem, particles: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the gradients (K, D) of the log posterior at particles (K, D), and its mean ()."""
    if problem.dim <= AT_ONCE:
        total = lambda particles: vmap(problem.log_posterior, in_dims=(0, None))(particles, batch).sum()  # noqa: E731
        gradients, value = grad_and_value(total)(particles)
        return gradients, value / len(particles)
    each = [grad_and_value(problem.log_posterior)(weights, batch) for weights in particles]
    return torch.stack([gradient for gradient, _ in each]), torch.stack([value for _, value in each]).mean()
