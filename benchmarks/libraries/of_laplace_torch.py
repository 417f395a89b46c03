"""The library `laplace-torch`: a Gaussian around trained weights, whose precision is a generalised Gauss-Newton matrix.

L-BFGS trains the weights. The library then gets the rows in minibatches of `BATCH`, with its default backend. Draws are
those of its `sample`, by the generator that it takes.
"""

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.libraries.wrapping import DRAWS, GaussianNLL, Wrapper, flat, layers, minimised, precisions
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.methods.api import Paper, Problem, Task

BATCH = 20


class OfLaplace(Wrapper):
    """Base of the wrappers of `laplace-torch`: all weights or the last layer's, and the form of their precision."""

    requirement = "laplace-torch==0.3"
    ranges_from = "ours: the library states none"
    paper = Paper("Daxberger et al. 2021", "Laplace Redux: Effortless Bayesian Deep Learning")
    weights = "all"
    structure: str

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return precisions(task)

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        torchvision()
        from laplace import Laplace

        alpha, precision = problem.hparams.prior_precision, problem.scale
        model = layers(problem, nn.Linear).to(x.dtype)
        parameters, nll = list(model.parameters()), GaussianNLL(precision)

        def objective() -> Tensor:
            squares = torch.stack([weight.square().sum() for weight in parameters]).sum()
            value: Tensor = len(x) * nll(model(x), y[:, None]) + 0.5 * alpha * squares
            return value

        minimised(objective, list(parameters), self.updates_of_library)
        approximation = Laplace(
            nn.Sequential(nn.Identity(), *model),  # the library refuses a last layer without another module
            "regression",
            subset_of_weights=self.weights,
            hessian_structure=self.structure,
            sigma_noise=float(precision.rsqrt()),
            prior_precision=float(alpha),
        )
        approximation.fit(DataLoader(TensorDataset(x, y[:, None]), batch_size=BATCH))
        samples = approximation.sample(DRAWS, generator=torch.Generator().manual_seed(seed))
        fixed = nn.utils.parameters_to_vector(parameters).detach()[: problem.dim - samples.shape[1]]
        vectors = torch.cat([fixed.expand(len(samples), -1), samples], 1)
        sizes = [parameter.shape for parameter in parameters]
        return torch.stack([flat(_cut(vector, sizes)) for vector in vectors])


def _cut(vector: Tensor, shapes: list[torch.Size]) -> list[Tensor]:
    parts = vector.split([shape.numel() for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


class Full(OfLaplace):
    """All weights, a dense precision."""

    name, title, structure = "laplace-torch-full", "laplace-torch: all, full", "full"


class Kron(OfLaplace):
    """All weights, a Kronecker-factored precision for each layer, which is exact in a linear model of one output."""

    name, title, structure = "laplace-torch-kron", "laplace-torch: all, kron", "kron"


class Diagonal(OfLaplace):
    """All weights, a diagonal precision."""

    name, title, structure = "laplace-torch-diag", "laplace-torch: all, diag", "diag"
    covariance = "diagonal"
    judged_against = "the best Gaussian with independent weights"


class LastLayer(OfLaplace):
    """The last layer's weights, a dense precision: exact in a linear model, which has no other layer."""

    name, title, structure = "laplace-torch-last-layer", "laplace-torch: last layer, full", "full"
    weights = "last_layer"


METHODS = (Full, Kron, Diagonal, LastLayer)
