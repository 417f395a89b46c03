"""Numbers published in papers, with which pages compare the measured ones.

`published.csv` has one row per number: source (a title to cite), table, suite, dataset, method, metric, statistic
("mean" or "median"), value, stderr, n, note, incomparable. Every row names a registered suite and data set. Where it
does not name a registered method and a measured metric, `incomparable` says why nothing in this project measures the
same quantity. The numbers of the modules `lair_net` and `nnuncert` are added to these.
"""

from math import hypot, isnan, nan
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data import lair_net, nnuncert

VIFA = "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning"
THESIS = (
    "Brownlie, Scalable Factor Analysis Algorithms for Neural Network Posterior Estimation, MSc thesis, Edinburgh 2022"
)

# Sources whose protocol the preset `paper` of a suite follows. Numbers of other sources have another protocol.
FOLLOWED = {
    "uci": (VIFA,),
    "posterior": (VIFA, THESIS),
    "factor-analysis": (THESIS,),
    "retinopathy": (VIFA,),
}


class Published(NamedTuple):
    """One published number; the fields are the columns `frames.PUBLISHED` of `read_published`."""

    source: str
    table: str
    suite: str
    dataset: str
    method: str
    metric: str
    statistic: str
    value: float
    stderr: float
    n: float
    note: str
    incomparable: str


def read_published() -> pd.DataFrame:
    """Return all published numbers, columns `frames.PUBLISHED`; missing texts are empty strings."""
    table = pd.read_csv(Path(__file__).with_name("published.csv"))
    table = table.fillna({"table": "", "note": "", "incomparable": ""})
    return pd.concat([table, nnuncert.read()[list(table)], lair_net.read()[list(table)]], ignore_index=True)


def difference(mean: float, stderr: float, their_mean: float, their_stderr: float) -> float:
    """Return measured minus published mean, in joint standard errors; NaN if a standard error is unknown or both are 0.

    The difference is (mean - their_mean) / sqrt(stderr^2 + their_stderr^2).
    """
    joint = hypot(stderr, their_stderr)
    return (mean - their_mean) / joint if joint else nan


def apart(source: str, suite: str, preset: str, n: int, their_n: float) -> str:
    """Return why a measured and a published number are of different protocols; "" if no difference is known.

    Args:
        source: title of the published source.
        suite: name of the suite.
        preset: name or label of the preset.
        n: number of splits measured.
        their_n: number of splits published; NaN if unknown.
    """
    name = preset.partition("@")[0]
    if name != "paper":
        return f"preset {name} follows no paper"
    if source not in FOLLOWED.get(suite, ()):
        return "another protocol"
    if n != their_n and not isnan(their_n):
        return f"{n} splits here, {their_n:.0f} there"
    return ""
