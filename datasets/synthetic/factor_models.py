"""Factor analysis models N(c, F F^T + diag(psi)) with known parameters, ten of each kind (Brownlie 2022, 4.4.1).

Algorithm 3 of the thesis, for dimension D, K factors and a spectrum [a, b]:

    c ~ N(0, I),    F = diag(s) V,    s_d^2 ~ U(a, b),    psi_d ~ U(0, max s^2),    d = 1 .. D,

where V (D, K) holds the first K eigenvectors of A A^T, for a standard normal D x D matrix A. U A has the distribution
of A for any rotation U, so these eigenvectors are K orthonormal vectors of uniform direction. The columns of Q in the
QR decomposition of a normal D x K matrix have the same distribution up to signs, which cancel in F F^T. The code draws
V by this QR decomposition, which takes a thousandth of the time.

Each of the D rows of V has its own scale s_d, as lines 6 and 8 of the algorithm say. The columns of F are therefore not
orthogonal, and the spectrum does not determine their lengths.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lockstep_bench.datasets.records import Dataset, Split
from lockstep_bench.datasets.synthetic.streams import StreamSource

N_MODELS = 10
N_FACTORS = 10
DECIMALS = 6  # of every number, so that the sets' digests do not depend on a linear algebra library's last bits
SEED = 2022  # the year of the thesis; any fixed number would do


class FactorModel(NamedTuple):
    """The Gaussian N(mean, F F^T + diag(variance)).

    Attributes:
        mean: (D,), c.
        factors: (K, D), F transposed.
        variance: (D,), psi.
    """

    mean: np.ndarray
    factors: np.ndarray
    variance: np.ndarray

    def covariance(self) -> np.ndarray:
        """Return the dense covariance (D, D)."""
        covariance: np.ndarray = self.factors.T @ self.factors + np.diag(self.variance)
        return covariance


@dataclass(frozen=True, kw_only=True)
class FactorModels(StreamSource):
    """Data set of factor models of the same D, K and spectrum, one per split.

    The K + 2 rows of a model are its mean, the K columns of F, and psi; y is zero.
    """

    def truth(self, dataset: Dataset, split: Split) -> FactorModel:
        """Return the factor model that a split of the loaded data set stores in its rows."""
        mean, *factors = dataset.x[split.train]
        (variance,) = dataset.x[split.test]
        return FactorModel(mean, np.array(factors), variance)


def draw(dim: int, n_factors: int, spectrum: tuple[float, float], seed: list[int]) -> FactorModel:
    """Draw a factor model by Algorithm 3 of Brownlie 2022.

    Args:
        dim: D, dimension of the vectors.
        n_factors: K, number of factors.
        spectrum: bounds (a, b) of the squared scales s_d^2.
        seed: seed of the random numbers, as for `numpy.random.SeedSequence`.
    """
    generator = np.random.default_rng(seed)
    mean = generator.standard_normal(dim)
    vectors = np.linalg.qr(generator.standard_normal((dim, n_factors))).Q
    square = generator.uniform(*spectrum, size=dim)
    variance = generator.uniform(0, square.max(), size=dim)
    # The sign of an orthonormal vector depends on the linear algebra library.
    vectors *= np.sign(vectors[0])
    return FactorModel(*(part.round(DECIMALS) for part in (mean, vectors.T * np.sqrt(square), variance)))


def read(dim: int, high: int, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the rows of all models, x (N_MODELS (K + 2), D), y of zeros, and a split for each model.

    `contents` is empty, because the models are drawn, not read from files.
    """
    models = [draw(dim, N_FACTORS, (1, high), [SEED, dim, high, number]) for number in range(N_MODELS)]
    x = np.concatenate([np.vstack(model) for model in models])
    rows = np.arange(len(x)).reshape(N_MODELS, N_FACTORS + 2)
    return x, np.zeros(len(x)), tuple(Split(model[:-1], model[-1:]) for model in rows)


SOURCES = tuple(
    FactorModels(
        name=f"fa-D{dim}-K{N_FACTORS}-spectrum1-{high}",
        title=f"Factor models, D = {dim}, K = {N_FACTORS}, spectrum [1, {high}]",
        n_rows=N_MODELS * (N_FACTORS + 2),
        n_features=dim,
        n_splits=N_MODELS,
        split_scheme="drawn",
        origin="Algorithm 3 of Brownlie 2022, Scalable Factor Analysis Algorithms for Neural Network Posterior "
        "Estimation (MSc thesis, Edinburgh), with this project's own seeds",
        licence="made by this project",
        read=partial(read, dim, high),
        notes=(
            "A split is a model, and its rows are the parameters: the mean and the columns of F to train on, the noise "
            "variances to test on. No estimator sees them, only vectors drawn from the model.",
        ),
        suites=("factor-analysis",),
        n_factors=N_FACTORS,
    )
    for dim in (100, 1000)
    for high in (10, 100, 1000)
)
