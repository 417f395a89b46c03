"""Factor analysis models N(c, F F^T + diag(psi)) with known parameters, ten of each kind (Brownlie 2022, 4.4.1).

Algorithm 3 of the thesis, for dimension D, K factors and a spectrum [a, b]:

    c ~ N(0, I),    F = diag(s) V,    s_d^2 ~ U(a, b),    psi_d ~ U(0, max s^2),    d = 1 .. D,

where V (D, K) holds the first K eigenvectors of A A^T, A a standard normal D x D matrix. As U A has the law of A for
any rotation U, those eigenvectors are K orthonormal vectors of uniform direction; so are the columns of Q in the QR
decomposition of a normal D x K matrix, up to signs, which F F^T does not feel. That takes a thousandth of the time.

There is one s for each of the D rows, as lines 6 and 8 of the algorithm say. The columns of F are then neither
orthogonal nor of the lengths that the spectrum names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from datasets.records import Dataset, Split
from datasets.synthetic.streams import StreamSource

N_MODELS = 10
N_FACTORS = 10
DECIMALS = 6  # of every number, so that the sets' digests do not depend on a linear algebra library's last bits
SEED = 2022  # the year of the thesis; any fixed number would do


class FactorModel(NamedTuple):
    """N(mean, F F^T + diag(variance))."""

    mean: np.ndarray  # (D,)
    factors: np.ndarray  # (K, D), F transposed
    variance: np.ndarray  # (D,), psi

    def covariance(self) -> np.ndarray:
        """The dense covariance (D, D)."""
        return self.factors.T @ self.factors + np.diag(self.variance)


@dataclass(frozen=True, kw_only=True)
class FactorModels(StreamSource):
    """Models of one kind, one per split: row by row its mean, the K columns of F, its variances psi; y is zero."""

    def truth(self, dataset: Dataset, split: Split) -> FactorModel:
        """The model that is a split of the loaded set."""
        mean, *factors = dataset.x[split.train]
        (variance,) = dataset.x[split.test]
        return FactorModel(mean, np.array(factors), variance)


def draw(dim: int, n_factors: int, spectrum: tuple[float, float], seed: list[int]) -> FactorModel:
    """A model by Algorithm 3."""
    generator = np.random.default_rng(seed)
    mean = generator.standard_normal(dim)
    vectors = np.linalg.qr(generator.standard_normal((dim, n_factors))).Q
    square = generator.uniform(*spectrum, size=dim)
    variance = generator.uniform(0, square.max(), size=dim)
    # An orthonormal vector's sign is its library's choice.
    vectors *= np.sign(vectors[0])
    return FactorModel(*(part.round(DECIMALS) for part in (mean, vectors.T * np.sqrt(square), variance)))


def read(dim: int, high: int, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """x (N_MODELS (K + 2), D), y of zeros and a split for each model; `contents` is empty."""
    models = [draw(dim, N_FACTORS, (1, high), [SEED, dim, high, number]) for number in range(N_MODELS)]
    x = np.concatenate([np.vstack(model) for model in models])
    rows = np.arange(len(x)).reshape(N_MODELS, N_FACTORS + 2)
    return x, np.zeros(len(x)), tuple(Split(own[:-1], own[-1:]) for own in rows)


SOURCES = tuple(
    FactorModels(
        name=f"fa-D{dim}-K{N_FACTORS}-spectrum1-{high}",
        title=f"Factor models, D = {dim}, K = {N_FACTORS}, spectrum [1, {high}]",
        n_rows=N_MODELS * (N_FACTORS + 2),
        n_features=dim,
        n_splits=N_MODELS,
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
