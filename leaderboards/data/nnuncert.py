"""Published scores on gap and tail splits: `nnuncert.csv`, summarised from github.com/pjoachims/nnuncert.

A gap split tests on the middle third of one feature's values, a tail split on both ends. The thesis behind the numbers
makes the splits as the suites `uci-gap` and `uci-tail` do, with three differences: it orders equal values differently,
it makes no split along five features of three data sets, which it treats as categories, and it includes the splits
without a real gap. Its scores are those of one Gaussian per test point with the predictive mean and variance. The
columns of the file are regime (its name there), suite and dataset (their names here), method, metric, mean, stderr,
median and n, the number of splits.
"""

from pathlib import Path

import pandas as pd

SOURCE = "Joachims, nnuncert: Uncertainty Quantification with BNNs, code of a thesis, github.com/pjoachims/nnuncert"
NOTE = "their own splits, one per continuous feature, some without a real gap; one Gaussian per test point"

METRICS = {
    "rmse": "rmse",
    "crps": "crps",
    "nmll": "nmll",
    "picp": "coverage_95",
    "mpiw": "interval_width_95",
}
METHODS = {
    "MC dropout 400": "mc-dropout",
    "PNN": "pnn",
    "PNN-E": "pnn-ensemble",
    "NLM": "nlm",
    "NLM-E": "nlm-ensemble",
    "PBP": "pbp",
    "DNNC-R": "dnnc-r",
}
# Why nothing here measures a quantity, by metric and by method.
NO_METRIC = {"interval_width_95": "interval widths are not measured here"}
NO_METHOD = {
    "pnn": "it predicts a noise variance at each point, as `map` does with `--likelihood heteroscedastic`",
    "pnn-ensemble": "its members predict a noise variance, as `deep-ensemble` has with `--likelihood heteroscedastic`",
    "nlm": "no method here is Bayesian linear regression on the features of a trained network",
    "nlm-ensemble": "no method here is an ensemble of Bayesian linear regressions on the features of trained networks",
    "pbp": "no method here is probabilistic backpropagation",
    "dnnc-r": "no method here is marginally calibrated deep distributional regression",
}
GAUSSIAN = "of one Gaussian per point; here of the mixture of samples (`nmll_moment` is of one Gaussian too)"
OF_GAUSSIAN = ("nmll", "crps", "coverage_95")


def read() -> pd.DataFrame:
    """Return the published numbers, columns `frames.PUBLISHED`: one row per mean and per median in the file."""
    table = pd.read_csv(Path(__file__).with_name("nnuncert.csv"))
    method, metric = table["method"].map(METHODS), table["metric"].map(METRICS)
    named = pd.DataFrame(
        {
            "source": SOURCE,
            "table": "results/uci/" + table["regime"],
            "suite": table["suite"],
            "dataset": table["dataset"],
            "method": method,
            "metric": metric,
            "n": table["n"].astype(float),
            "note": NOTE,
            "incomparable": [_incomparable(*pair) for pair in zip(method, metric, strict=True)],
        }
    )
    means = named.assign(statistic="mean", value=table["mean"], stderr=table["stderr"])
    medians = named.assign(statistic="median", value=table["median"], stderr=float("nan"))
    return pd.concat([means, medians], ignore_index=True)


def _incomparable(method: str, metric: str) -> str:
    """Return why a published number is a different quantity from ours; "" if the quantity is the same."""
    return NO_METRIC.get(metric) or NO_METHOD.get(method) or (GAUSSIAN if metric in OF_GAUSSIAN else "")
