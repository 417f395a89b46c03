"""Gradients that keep no graph, and their expectation over samples.

`torch.func.grad` records its backward pass, so that it can be differentiated again. It therefore keeps every activation
to the end of that pass, which doubles the memory of a large network. MAP on PreResNet-20 takes the memory of 137 weight
vectors, where 70 suffice. Inside `torch.no_grad`, where the engine runs updates, the functions here record nothing and
free each activation once it has been used. The resulting gradients are the same. The functions compose with `vmap` and,
where gradients are recorded, with one another.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.func import vjp, vmap

from lockstep_bench.methods.maths.gaussian import LowRankNormal
from lockstep_bench.methods.maths.noise import Noise

# Weights of the largest network whose samples are computed side by side, which is no slower up to this size. In larger
# networks one sample follows the other, so that only one holds its activations.
AT_ONCE = 100_000


def grad(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that computes the gradient of `function` in its first argument.

    Args:
        function: maps a tensor, and perhaps other arguments, to a number ().
    """
    both = grad_and_value(function)
    return lambda *arguments: both(*arguments)[0]


def grad_and_value(function: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return a function that computes the gradient of `function` in its first argument, and its value ().

    Args:
        function: maps a tensor, and perhaps other arguments, to a number ().
    """

    def both(argument: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
        value, gradient_of = value_and_pull_back(lambda variable: function(variable, *others), argument)
        return gradient_of(torch.ones_like(value)), value

    return both


def value_and_pull_back(
    function: Callable[[Tensor], Tensor], argument: Tensor
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return the value of a function, and its pull-back: the map from a cotangent of the value to a gradient.

    The map can be called once, because it frees the activations.
    """
    value, pull_back = vjp(function, argument)[:2]

    def gradient_of(cotangent: Tensor) -> Tensor:
        gradients: tuple[Tensor] = pull_back(cotangent, retain_graph=False)
        return gradients[0]

    return value, gradient_of


def grad_over_samples(function: Callable[[Tensor, slice], Tensor], params: Tensor, n_samples: int, dim: int) -> Tensor:
    """Return the gradient (P,) of a mean over S samples: `grad_and_value_over_samples` without the value."""
    return grad_and_value_over_samples(function, params, n_samples, dim)[0]


def grad_and_value_over_samples(
    function: Callable[[Tensor, slice], Tensor], params: Tensor, n_samples: int, dim: int
) -> tuple[Tensor, Tensor]:
    """Return the gradient of a mean over S samples, in the parameters (P,), and its value ().

    Args:
        function: takes the parameters and a slice of the samples, and returns the mean over that slice, ().
        params: (P,).
        n_samples: S.
        dim: D, number of weights of the network. In a large network, the samples are computed one after the other.
    """
    if n_samples == 1 or dim <= AT_ONCE:
        return grad_and_value(function)(params, slice(None))
    total, total_value = grad_and_value(function)(params, slice(1))
    for sample in range(1, n_samples):
        gradient, value = grad_and_value(function)(params, slice(sample, sample + 1))
        total, total_value = total + gradient, total_value + value
    return total / n_samples, total_value / n_samples


class ExpectedGradient(NamedTuple):
    """Gradient of an expectation E[f(theta)] under theta = c + F h + sqrt(psi) z, in three directions.

    Attributes:
        mean: (D,), the gradient in c: E[g], for the gradient g of f at theta.
        factors: (K, D), the gradient in F, transposed: E[h g^T].
        deviation: (D,), the gradient in sqrt(psi): E[z * g].
        value: (), the expectation itself, from the same samples.
    """

    mean: Tensor
    factors: Tensor
    deviation: Tensor
    value: Tensor


def expected_gradient(
    function: Callable[..., Tensor], q: LowRankNormal, noise: Noise, batches: tuple[Tensor, ...], scale: Tensor
) -> ExpectedGradient:
    """Return the gradient of scale * E_q[f(theta)], estimated from L reparameterised samples.

    Args:
        function: f, which takes weights (D,) and one entry of each of `batches`, and returns a number ().
        q: N(c, F F^T + diag(psi)).
        noise: random numbers, of which L K and then L D are drawn.
        batches: tensors with a leading axis of L, one entry per sample.
        scale: (), multiplies the expectation.
    """
    n_samples, (k, dim) = len(batches[0]), q.factors.shape
    latent = noise.normal(n_samples, k)
    if dim <= AT_ONCE:
        unit = noise.normal(n_samples, dim)
        gradients, value = _side_by_side(function, q.transform(latent, unit), batches, scale)
        return ExpectedGradient(gradients.mean(0), latent.T @ gradients / n_samples, (gradients * unit).mean(0), value)
    zeros = torch.zeros_like(q.mean)
    sums = ExpectedGradient(zeros, torch.zeros_like(q.factors), zeros, zeros.new_zeros(()))
    for h, z, g, value in _one_by_one(function, q, latent, noise, batches):
        factors, deviation = torch.addr(sums.factors, h, g), torch.addcmul(sums.deviation, z, g)
        sums = ExpectedGradient(sums.mean + g, factors, deviation, sums.value + value)
    return ExpectedGradient(*(scale / n_samples * part for part in sums))


def expected_gradient_of_mean(
    function: Callable[..., Tensor], q: LowRankNormal, noise: Noise, batches: tuple[Tensor, ...], scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient in the mean c of q, (D,), and the value, (), of `expected_gradient`, by the same numbers."""
    n_samples, (k, dim) = len(batches[0]), q.factors.shape
    latent = noise.normal(n_samples, k)
    if dim <= AT_ONCE:
        gradients, value = _side_by_side(function, q.transform(latent, noise.normal(n_samples, dim)), batches, scale)
        return gradients.mean(0), value
    total, total_value = torch.zeros_like(q.mean), torch.zeros_like(scale)
    for _, _, g, value in _one_by_one(function, q, latent, noise, batches):
        total, total_value = total + g, total_value + value
    return scale / n_samples * total, scale / n_samples * total_value


def _side_by_side(
    function: Callable[..., Tensor], weights: Tensor, batches: tuple[Tensor, ...], scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients (L, D) of scale * f at weights (L, D), and its mean ()."""

    def total(weights: Tensor) -> Tensor:
        return vmap(function)(weights, *batches).sum()

    gradients, value = grad_and_value(total)(weights)
    return scale * gradients, scale / len(weights) * value


def _one_by_one(
    function: Callable[..., Tensor], q: LowRankNormal, latent: Tensor, noise: Noise, batches: tuple[Tensor, ...]
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Yield h (K,), z (D,), and the gradient (D,) and value () of f of each sample, given latent factors (L, K)."""
    sd = q.variance.sqrt()
    for h, *batch in zip(latent, *batches, strict=True):
        z = noise.normal(q.factors.shape[1])
        weights = torch.addcmul(torch.addmv(q.mean, q.factors.T, h), sd, z)
        yield h, z, *grad_and_value(function)(weights, *batch)
