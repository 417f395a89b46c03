"""Inducing weights: uncertainty about a layer's weights W through a smaller matrix U, sampled by Matheron's rule.

The equations are those of "Sparse Uncertainty Representation in Deep Learning with Inducing Weights". The weights of a
layer with its bias as last column, (d_out, d_in), have the prior N(0, sigma^2 I) (`PRIORS`). They are jointly Gaussian
with U (M_out, M_in) ~ MN(0, Psi_r, Psi_c), Psi = Z Z^T + D^2 (6). The posterior is q(U) times the prior's N(W | U) with
standard deviations scaled by lambda. It minimises (8)

    E_q[-log p(D | W)] + sum over layers of R(lambda) + KL(q(U) || p(U)),
    R(lambda) = d_in d_out (lambda^2 / 2 - log lambda - 1 / 2).                                                     (7)

U is whitened: U = L_r V L_c^T with the Cholesky factors L L^T = Psi, so that p(V) = N(0, I). Let G = L^-1 [Z D], whose
rows are orthonormal because [Z D] [Z D]^T = Psi, and let A = L^-1 Z be its first d columns. Matheron's rule (9, 10) is
then

    W = sigma (lambda E_1 + A_r^T (V - lambda G_r E G_c^T) A_c),      E (d_out + M_out, d_in + M_in) ~ N(0, I),

where E_1 (d_out, d_in) is the first block of E. G^T is the orthogonal factor of [Z D]^T, so Psi itself, which is nearly
singular for M near d, is not needed. Equation 10 draws fewer numbers but takes Cholesky factors of Z Z^T, which is
singular for M > d.

Layers that are not matrices (scales and shifts of a normalisation) have point estimates without a prior. The parameters
of a layer are Z_r, Z_c, D_r, D_c, lambda, and the means and standard deviations of q(U). With U of 128 x 128 in every
layer and biases as columns of W, the CIFAR ResNet-18 has 5,352,853 parameters, the number in the paper (section 4.2),
against 11,173,962 weights. The paper's text and the authors' settings for CIFAR-10 have M_out = 10 in the last layer
(`last_size_out`), which makes 5,321,347.
"""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import log, prod
from typing import Any, NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap
from torch.nn.functional import logsigmoid, softplus

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    LogUniform,
    Matrix,
    Method,
    Network,
    Noise,
    Plan,
    Problem,
    Step,
    Task,
    grad_and_value_over_samples,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.matheron import matheron, orthonormal
from lockstep_bench.methods.maths.triangular import inverse_softplus, length, lower_triangle, raw_diagonal
from lockstep_bench.methods.training import annealing
from lockstep_bench.methods.training.annealing import Annealing

SMALL = 1e-3  # initial lambda, D and standard deviations of q(U)
PAPER_SIZE = 128  # M of the paper's ResNet-18; results with 64 are similar (section 4.2)
REFERENCE_SIZE = 16  # least M where the posterior is compared with a reference posterior
REFERENCE_SAMPLES = 4  # weight samples per update there

# Precision 1 / sigma^2 of the prior in units of alpha, given d_in. The paper's prior is "fan-in" with alpha = 1. A
# reference posterior has one prior for all weights, as all other methods have.
FAN_IN, ISOTROPIC = "fan-in", "isotropic"
PRIORS: Mapping[str, Callable[[int], int]] = {FAN_IN: lambda d_in: d_in, ISOTROPIC: lambda d_in: 1}

Shapes = list[tuple[int, ...]]


class InducingState(NamedTuple):
    """State of training with inducing weights.

    Attributes:
        params: (P,), the flattened `LayerParams` of every matrix layer, followed by the weights of the other layers.
        optim: optimiser of `params`.
    """

    params: Tensor
    optim: Adam


class LayerSizes(NamedTuple):
    """Sizes of one matrix layer.

    Attributes:
        d_out, d_in: shape of its weights W, whose last column is the bias.
        m_out, m_in: shape (M_out, M_in) of its inducing weights U.
    """

    d_out: int
    d_in: int
    m_out: int
    m_in: int


class LayerParams(NamedTuple):
    """Parameters of one matrix layer, with the symbols of the module's docstring.

    Attributes:
        z_r: (M_out, d_out), Z_r.
        z_c: (M_in, d_in), Z_c.
        raw_d_r: (M_out,), D_r before softplus: D_r = softplus(raw_d_r).
        raw_d_c: (M_in,), D_c before softplus: D_c = softplus(raw_d_c).
        raw_scale: (), lambda before the sigmoid: lambda = max_scale x sigmoid(raw_scale).
        q: parameters of q(U), as each method defines them.
    """

    z_r: Tensor
    z_c: Tensor
    raw_d_r: Tensor
    raw_d_c: Tensor
    raw_scale: Tensor
    q: tuple[Tensor, ...]

    def flat(self) -> Tensor:
        """Return all parameters as one vector."""
        return torch.cat([leaf.flatten() for leaf in (*self[:-1], *self.q)])


class Inducing(Method):
    """Base of the methods with inducing weights, which differ in q(U). Trained with Adam.

    Hyper-parameters: `lr`, `prior_precision` (alpha; 1 in the paper) and the likelihood's. The ranges are ours, because
    the paper does not tune on small data sets.

    Where the posterior is compared with a reference posterior (`Task.has_reference`), the prior is isotropic, M is at
    least `REFERENCE_SIZE`, and an update takes at least `REFERENCE_SAMPLES` weight samples. For one input and 50 units
    M would otherwise be 1, and all units would have their kink at the same input. Memory and time of so small a network
    do not matter.

    Args:
        size: M, the number of rows and columns of U in all layers (M_out and M_in). By default M_out = min(M, d_out)
            and M_in = min(M, d_in), with the largest M up to `PAPER_SIZE` that gives no more parameters than weights.
            For 6 inputs and 50 units, M is 3.
        max_scale: upper limit of lambda; by default the variant's. With 0, W is the conditional mean given U.
        size_out: M_out of all layers, instead of `size`.
        size_in: M_in of all layers, instead of `size`.
        last_size_out: M_out of the last layer, instead of `size_out`.
        prior: a key of `PRIORS`.
    """

    weight_posterior = False  # the prior N(0, I / (alpha d_in)) differs from that of the exact posterior
    least_size = 1  # least M by default
    max_scale = 0.03  # cap of lambda
    n_points = 1  # samples per update

    def __init__(
        self,
        size: int | None = None,
        max_scale: float | None = None,
        size_out: int | None = None,
        size_in: int | None = None,
        last_size_out: int | None = None,
        prior: str = FAN_IN,
    ):
        if prior not in PRIORS:
            raise ValueError(f"prior is {prior!r}; it must be one of {', '.join(PRIORS)}")
        self.size = size
        self.size_out = size_out
        self.size_in = size_in
        self.last_size_out = last_size_out
        self.prior = prior
        self.max_scale = type(self).max_scale if max_scale is None else max_scale

    def suited_to(self, task: Task) -> "Inducing":
        if task.has_reference:
            n_points = max(self.n_points, REFERENCE_SAMPLES)
            return self.changed(prior=ISOTROPIC, least_size=REFERENCE_SIZE, n_points=n_points)
        network = self.network(task)
        if network.image is None or self.size is not None:
            return self
        suited = self.changed(size=PAPER_SIZE)
        saves = suited.n_params(network, suited.sizes(network)) <= network.dim
        return suited if saves else self

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(3e-3, 3e-2),
            "prior_precision": LogUniform(0.03, 3),
            **task.likelihood.search_space(),
        }

    def excludes(self, task: Task) -> str | None:
        # Weights are functions of far fewer inducing weights, and no values of these give the trained weights.
        return "no start from trained weights" if task.pretrained else super().excludes(task)

    @abstractmethod
    def inducing_shapes(self, m_out: int, m_in: int) -> Shapes:
        """Return the shapes of the parameters of q(U), the posterior of a layer's inducing weights U (m_out, m_in)."""

    @abstractmethod
    def inducing_init(self, m_out: int, m_in: int, noise: Noise) -> tuple[Tensor, ...]:
        """Return initial parameters of q(U), the posterior of a layer's inducing weights U (m_out, m_in)."""

    @abstractmethod
    def inducing_sample(self, q: tuple[Tensor, ...], noise: Noise, n_samples: int | None) -> Tensor:
        """Return S whitened samples of the inducing weights' posterior q(U), (S, M_out, M_in).

        S is `n_samples`, or `n_points` if this is None.
        """

    @abstractmethod
    def inducing_kl(self, q: tuple[Tensor, ...]) -> Tensor | float:
        """Return the divergence of the inducing weights' posterior from their prior, KL(q(U) || p(U)), (), nats."""

    def phase(self, update: int, plan: Plan) -> Annealing:
        """Return the annealing schedule of the KL term's weight, as the phase of every update."""
        return Annealing.over(plan)

    def init(self, problem: Problem, noise: Noise) -> InducingState:
        matrices = [self._initial(sizes, noise).flat() for sizes in self.sizes(problem.network)]
        others = [layer.initial(noise) for layer in problem.network.layers if not isinstance(layer, Matrix)]
        params = torch.cat(matrices + others)
        return InducingState(params, Adam.init(params))

    def update(
        self, problem: Problem, state: InducingState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[InducingState, dict[str, Tensor]]:
        def negative_elbo(params: Tensor, points: slice) -> Tensor:
            weights = self._weights(problem.network, params, problem.hparams.prior_precision, noise, points=points)
            data = problem.n_train * problem.expected_nll(weights, batch)
            return data + annealing.weight(step) * self.kl(problem.network, params)

        gradient, value = grad_and_value_over_samples(negative_elbo, state.params, self.n_points, problem.dim)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr, step)
        unannealed = value + (1 - annealing.weight(step)) * self.kl(problem.network, state.params)
        return InducingState(params, optim), {"elbo": problem.elbo(unannealed)}

    def finish(self, problem: Problem, state: InducingState) -> Tensor:
        return state.params

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return self._weights(problem.network, posterior, problem.hparams.prior_precision, noise, n_samples)

    def kl(self, network: Network, params: Tensor) -> Tensor:
        """Return the divergence of the posterior from the prior, (), nats.

        It is the sum over layers of the divergences of the inducing weights U and of the weights W given U.
        """
        layers = self.layers_of(network, params)
        return torch.as_tensor(sum(self.conditional_kl(layer) + self.inducing_kl(layer.q) for layer in layers))

    def conditional_kl(self, layer: LayerParams) -> Tensor | float:
        """Return KL(q(W | U) || p(W | U)) of a layer's weights W, (), nats; 0 for layers whose lambda is fixed at 0."""
        if not self.max_scale:
            return 0.0
        d_out, d_in = layer.z_r.shape[1], layer.z_c.shape[1]
        log_scale = log(self.max_scale) + logsigmoid(layer.raw_scale)
        return d_out * d_in * (0.5 * torch.exp(2 * log_scale) - log_scale - 0.5)

    def shapes(self, d_out: int, d_in: int, m_out: int, m_in: int) -> Shapes:
        """Return the shapes of a layer's parameters, in the order of `LayerParams`."""
        return [(m_out, d_out), (m_in, d_in), (m_out,), (m_in,), (), *self.inducing_shapes(m_out, m_in)]

    def layers_of(self, network: Network, params: Tensor) -> list[LayerParams]:
        """Return the parameters of each matrix layer, given the flat vector (P,)."""
        layers = [self.shapes(*sizes) for sizes in self.sizes(network)]
        pieces = iter(torch.split(params[: numbers(layers)], [prod(shape) for shapes in layers for shape in shapes]))

        def layer(shapes: Shapes) -> LayerParams:
            z_r, z_c, raw_d_r, raw_d_c, raw_scale, *q = (next(pieces).reshape(shape) for shape in shapes)
            return LayerParams(z_r, z_c, raw_d_r, raw_d_c, raw_scale, tuple(q))

        return [layer(shapes) for shapes in layers]

    def sizes(self, network: Network) -> list[LayerSizes]:
        """Return the shapes of the weights and of the inducing weights, layer by layer."""
        if self.size is not None:
            return self._sizes_with(network, self.size, capped=False)
        # The number of parameters grows with M.
        affordable = bisect_right(
            range(1, PAPER_SIZE + 1),
            network.dim,
            key=lambda m: self.n_params(network, self._sizes_with(network, m, capped=True)),
        )
        return self._sizes_with(network, max(self.least_size, affordable), capped=True)

    def _sizes_with(self, network: Network, m: int, *, capped: bool) -> list[LayerSizes]:
        """Return the sizes with M_out = M_in = `m` where no option says otherwise; `capped` at d_out and d_in."""
        sides = [layer.shape for layer in network.layers if isinstance(layer, Matrix)]
        given_m_out = [*[self.size_out] * (len(sides) - 1), self.last_size_out or self.size_out]

        def size_along(given: int | None, d: int) -> int:
            return given or (min(m, d) if capped else m)

        return [
            LayerSizes(d_out, d_in, size_along(m_out, d_out), size_along(self.size_in, d_in))
            for (d_out, d_in), m_out in zip(sides, given_m_out, strict=True)
        ]

    def n_params(self, network: Network, sizes: Sequence[LayerSizes]) -> int:
        """Return P, the number of parameters of all layers, given the sizes of matrix layers."""
        return numbers([self.shapes(*each) for each in sizes]) + sum(self._sizes_of_others(network))

    def _sizes_of_others(self, network: Network) -> list[int]:
        """Return the number of weights of each layer that is not a matrix."""
        return [sum(layer.sizes) for layer in network.layers if not isinstance(layer, Matrix)]

    def _initial(self, sizes: LayerSizes, noise: Noise) -> LayerParams:
        d_out, d_in, m_out, m_in = sizes
        z_r, z_c = noise.normal(m_out, d_out) / m_out**0.5, noise.normal(m_in, d_in) / m_in**0.5
        raw_d = inverse_softplus(SMALL)
        return LayerParams(
            z_r,
            z_c,
            raw_d_r=z_r.new_full((m_out,), raw_d),
            raw_d_c=z_r.new_full((m_in,), raw_d),
            raw_scale=z_r.new_full((), raw_of(self.max_scale)),
            q=self.inducing_init(m_out, m_in, noise),
        )

    def _weights(
        self,
        network: Network,
        params: Tensor,
        alpha: Tensor,
        noise: Noise,
        n_samples: int | None = None,
        points: slice | Tensor = slice(None),
    ) -> Tensor:
        """Return weight samples (S, D), one for each sample of q(U) that `points` selects."""
        matrices, sizes_of_others = iter(self.layers_of(network, params)), self._sizes_of_others(network)
        others = iter(torch.split(params[len(params) - sum(sizes_of_others) :], sizes_of_others))
        pieces: list[Tensor] = []
        for layer in network.layers:
            if not isinstance(layer, Matrix):
                pieces.append(next(others))
                continue
            matrix = next(matrices)
            g_r = orthonormal(matrix.z_r, softplus(matrix.raw_d_r))
            g_c = orthonormal(matrix.z_c, softplus(matrix.raw_d_c))
            inducing = self.inducing_sample(matrix.q, noise, n_samples)[points]
            unit = noise.normal(len(inducing), g_r.shape[1], g_c.shape[1])
            sigma = (alpha * PRIORS[self.prior](layer.shape[1])) ** -0.5
            scale = self.max_scale * matrix.raw_scale.sigmoid()
            pieces += vmap(layer.pieces)(sigma * matheron(g_r, g_c, inducing, scale, unit))
        return torch.cat([piece.expand(len(inducing), -1) for piece in pieces], dim=1)


@catalogued("inducing-ffg")
class InducingFFG(Inducing):
    """Inducing weights U with a factorised Gaussian posterior q(U).

    `LayerParams.q` holds the mean of q(U) and the logits of its standard deviations as fractions of `max_sd`.

    Args:
        max_sd: upper limit of the standard deviations. With 0, q(U) is a point, with -log p(U) in place of the KL.
        others: further arguments, see `Inducing`.
    """

    def __init__(self, max_sd: float = 0.1, **others: Any):
        super().__init__(**others)
        self.max_sd = max_sd

    def suited_to(self, task: Task) -> "Inducing":
        # The cap is the paper's for ResNets, against underfitting (section 4.2). Where the spread is compared with that
        # of a reference posterior, a cap below the prior's standard deviation, which is 1, would decide the result.
        suited = super().suited_to(task)
        return suited.changed(max_sd=1.0) if task.has_reference else suited

    def inducing_shapes(self, m_out: int, m_in: int) -> Shapes:
        return [(m_out, m_in), (m_out, m_in)]

    def inducing_init(self, m_out: int, m_in: int, noise: Noise) -> tuple[Tensor, ...]:
        mean = noise.normal(m_out, m_in)
        return mean, torch.full_like(mean, raw_of(self.max_sd))

    def inducing_sample(self, q: tuple[Tensor, ...], noise: Noise, n_samples: int | None) -> Tensor:
        mean, raw = q
        return mean + self.max_sd * raw.sigmoid() * noise.normal(n_samples or self.n_points, *mean.shape)

    def inducing_kl(self, q: tuple[Tensor, ...]) -> Tensor:
        mean, raw = q
        if not self.max_sd:
            return 0.5 * (mean**2).sum()
        log_sd = log(self.max_sd) + logsigmoid(raw)
        return 0.5 * (mean**2 + torch.exp(2 * log_sd) - 1 - 2 * log_sd).sum()


@catalogued("inducing-fcg")
class InducingFCG(Inducing):
    """Inducing weights U with a Gaussian posterior q(U) of full covariance L L^T over all entries of a layer's U.

    `LayerParams.q` holds the mean of q(U) and the lower triangle of L, row by row, with softplus^-1 applied to the
    diagonal.
    """

    def inducing_shapes(self, m_out: int, m_in: int) -> Shapes:
        return [(m_out, m_in), (length(m_out * m_in),)]

    def inducing_init(self, m_out: int, m_in: int, noise: Noise) -> tuple[Tensor, ...]:
        mean = noise.normal(m_out, m_in)
        return mean, raw_diagonal(SMALL, mean.flatten())

    def inducing_sample(self, q: tuple[Tensor, ...], noise: Noise, n_samples: int | None) -> Tensor:
        mean, raw = q
        factor = lower_triangle(raw, mean.numel())
        return mean + (noise.normal(n_samples or self.n_points, mean.numel()) @ factor.T).reshape(-1, *mean.shape)

    def inducing_kl(self, q: tuple[Tensor, ...]) -> Tensor:
        mean, raw = q
        factor = lower_triangle(raw, mean.numel())
        return 0.5 * (mean.square().sum() + (factor**2).sum() - mean.numel()) - factor.diagonal().log().sum()


@catalogued("inducing-ensemble")
class InducingEnsemble(Inducing):
    """Inducing weights with five points for q(U), which share Z, D and lambda. There is no KL on U.

    `LayerParams.q` holds the five values of U, (5, M_out, M_in). Every update uses its minibatch for all five points. A
    predictive takes equally many samples from each point, or at most one from each if it has fewer than five samples.
    """

    max_scale = 0.1
    n_points = 5

    def inducing_shapes(self, m_out: int, m_in: int) -> Shapes:
        return [(self.n_points, m_out, m_in)]

    def inducing_init(self, m_out: int, m_in: int, noise: Noise) -> tuple[Tensor, ...]:
        return (noise.normal(m_out, m_in) + 0.1 * noise.normal(self.n_points, m_out, m_in),)

    def inducing_sample(self, q: tuple[Tensor, ...], noise: Noise, n_samples: int | None) -> Tensor:
        return q[0].repeat(-(-(n_samples or self.n_points) // self.n_points), 1, 1)

    def inducing_kl(self, q: tuple[Tensor, ...]) -> float:
        return 0.0

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        if n_samples >= self.n_points:
            return super().sample(problem, posterior, noise, n_samples)
        first = (self.n_points * noise.uniform()).long()
        points = (first + torch.arange(n_samples, device=first.device)) % self.n_points
        return self._weights(problem.network, posterior, problem.hparams.prior_precision, noise, self.n_points, points)


def numbers(shapes: list[Shapes]) -> int:
    """Return the total number of parameters of layers with these shapes."""
    return sum(prod(shape) for layer in shapes for shape in layer)


def raw_of(cap: float) -> float:
    """Return x such that cap * sigmoid(x) = min(`SMALL`, cap / 2)."""
    part = min(SMALL / cap, 0.5) if cap else 0.5
    return log(part / (1 - part))
