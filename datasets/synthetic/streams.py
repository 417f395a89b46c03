"""Sets that stand for a true distribution, of which an estimator sees nothing but a stream of vectors."""

from dataclasses import dataclass

from datasets.records import Source


@dataclass(frozen=True, kw_only=True)
class StreamSource(Source):
    """A `Source` whose splits are independent repetitions, each with a truth and a stream of its own.

    n_factors: K, columns of the F that is fitted.
    max_length: vectors in a stream where it ends by itself, else None.
    """

    n_factors: int
    max_length: int | None = None
