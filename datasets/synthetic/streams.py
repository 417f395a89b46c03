"""Base class of data sets for estimators that fit a Gaussian to a stream of vectors with a known distribution."""

from dataclasses import dataclass

from lockstep_bench.datasets.records import Source


@dataclass(frozen=True, kw_only=True)
class StreamSource(Source):
    """Description of a data set whose splits are independent repetitions, each with its own distribution and stream.

    Attributes:
        n_factors: K, number of factors in the Gaussian N(c, F F^T + diag(psi)) that estimators fit to the stream.
        max_length: number of vectors in the stream, if it is finite, or None.
    """

    n_factors: int
    max_length: int | None = None
