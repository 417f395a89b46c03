"""Which estimators of a Gaussian there are, and for which streams; nothing heavy is imported until one is used."""

from pkgutil import resolve_name
from typing import NamedTuple

import datasets
from datasets.synthetic.factor_models import FactorModels
from datasets.synthetic.sgd_streams import SGDIterates
from datasets.synthetic.streams import StreamSource

ANY = (FactorModels, SGDIterates)


class Estimator(NamedTuple):
    """What is known about an estimator before it is used.

    Attributes:
        title: for people.
        sources: the kinds of data sets whose streams it is for.
        target: "module:class" of the `bench.streams.fitting.Fitting` that does the work.
    """

    title: str
    sources: tuple[type[StreamSource], ...]
    target: str

    def load(self) -> type:
        """That class."""
        return resolve_name(self.target)


ESTIMATORS = {
    "batch-svd": Estimator("Batch factor analysis by SVD", (FactorModels,), "bench.streams.batch:BatchSVD"),
    "online-em-fa": Estimator("Online EM for factor analysis", ANY, "bench.streams.online:OnlineEM"),
    "online-sga-fa": Estimator("Online SGA for factor analysis", (FactorModels,), "bench.streams.online:OnlineSGA"),
    "empirical": Estimator("Mean and covariance of the stream", (SGDIterates,), "bench.streams.batch:Empirical"),
    "empirical-window": Estimator(
        "Mean and covariance of window averages", (SGDIterates,), "bench.streams.batch:WindowAverages"
    ),
}


def names() -> tuple[str, ...]:
    """All estimators."""
    return tuple(ESTIMATORS)


def excludes(name: str, dataset: str) -> str | None:
    """Why an estimator cannot be used on a data set, or None."""
    source = datasets.entry(dataset)
    if isinstance(source, ESTIMATORS[name].sources):
        return None
    if not isinstance(source, StreamSource):
        return f"{dataset} is no stream of vectors"
    return "its streams are of another kind"
