"""Registry of the estimators that fit Gaussians to streams of vectors; they are imported when first used."""

from pkgutil import resolve_name
from typing import NamedTuple

from lockstep_bench import datasets
from lockstep_bench.datasets.synthetic.factor_models import FactorModels
from lockstep_bench.datasets.synthetic.sgd_streams import SGDIterates
from lockstep_bench.datasets.synthetic.streams import StreamSource

ANY = (FactorModels, SGDIterates)


class Estimator(NamedTuple):
    """Entry of the registry about one estimator.

    Attributes:
        title: display name.
        sources: kinds of data sets whose streams the estimator can fit.
        target: "module:class" of the estimator, a subclass of `bench.streams.fitting.Fitting`.
    """

    title: str
    sources: tuple[type[StreamSource], ...]
    target: str

    def load(self) -> type:
        """Import the estimator and return its class."""
        fitting: type = resolve_name(self.target)
        return fitting


ESTIMATORS = {
    "batch-svd": Estimator(
        "Batch factor analysis by SVD", (FactorModels,), "lockstep_bench.bench.streams.batch:BatchSVD"
    ),
    "online-em-fa": Estimator(
        "Online EM for factor analysis, Algorithm 2 of the thesis",
        ANY,
        "lockstep_bench.bench.streams.online:OnlineEMFitting",
    ),
    "online-sga-fa": Estimator(
        "Online SGA for factor analysis, Algorithm 1 of the thesis",
        (FactorModels,),
        "lockstep_bench.bench.streams.online:OnlineSGAFitting",
    ),
    "empirical": Estimator(
        "Mean and covariance of the stream", (SGDIterates,), "lockstep_bench.bench.streams.batch:Empirical"
    ),
    "empirical-window": Estimator(
        "Mean and covariance of window averages", (SGDIterates,), "lockstep_bench.bench.streams.batch:WindowAverages"
    ),
}


def names() -> tuple[str, ...]:
    """Return the names of all estimators."""
    return tuple(ESTIMATORS)


def excludes(name: str, dataset: str) -> str | None:
    """Return the reason why an estimator cannot be used on a data set, or None if it can."""
    source = datasets.entry(dataset)
    if isinstance(source, ESTIMATORS[name].sources):
        return None
    if not isinstance(source, StreamSource):
        return f"{dataset} is no stream of vectors"
    allowed = " or ".join(source.__name__ for source in ESTIMATORS[name].sources)
    return f"its streams come from {type(source).__name__}; the estimator is for streams from {allowed}"
