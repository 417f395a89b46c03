"""Sets that define a known distribution, from which an estimator sees a stream of vectors."""

from dataclasses import dataclass

from lockstep_bench.datasets.records import Source


@dataclass(frozen=True, kw_only=True)
class StreamSource(Source):
    """A `Source` whose splits are independent repetitions, each with its own distribution and stream.

    Attributes:
        n_factors: K, number of columns of the fitted F.
        max_length: number of vectors in a finite stream, or None.
    """

    n_factors: int
    max_length: int | None = None
