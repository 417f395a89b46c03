"""Tables of splits x methods, from what matters of them."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.leaderboards.stats import Paired

FAILED = None  # tried, without a value
UNTRIED = ...


@pytest.fixture
def table():
    """Make a `Paired` of data set -> method -> values per split: None if a split failed, ... if it was not tried."""

    def make(datasets: dict[str, dict[str, list]], metric: str = "nmll") -> Paired:
        columns = {
            (dataset, split): {method: values[split] for method, values in methods.items() if split < len(values)}
            for dataset, methods in datasets.items()
            for split in range(max(map(len, methods.values())))
        }
        raw = pd.DataFrame.from_dict(columns, orient="index", dtype=object)
        raw = raw.set_axis(pd.MultiIndex.from_tuples(columns, names=["dataset", "split"])).sort_index(axis=1)
        entries = [[columns[at].get(method, UNTRIED) for method in raw] for at in columns]
        tried = pd.DataFrame([[e is not UNTRIED for e in line] for line in entries], raw.index, raw.columns)
        values = [[np.nan if e in (FAILED, UNTRIED) else float(e) for e in line] for line in entries]
        return Paired("uci", "paper", metric, pd.DataFrame(values, raw.index, raw.columns), tried)

    return make
