"""Published errors on the splits of `uci-gp`."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.data.lair_net import METHODS, SOURCE, read, read_errors
from lockstep_bench.leaderboards.data.published import read_published


@pytest.mark.parametrize(
    ("dataset", "method", "value", "stderr"),
    [
        ("gp-concrete", "lair-net", 6.34, 0.27),  # printed: 40.199 ± 10.883
        ("gp-stock", "mlp", 0.00507, 0.00016),  # printed: 2.57e-5 ± 5.09e-6
        ("gp-gas", "linear-regression", 322, 160),  # printed: 1.04e5 ± 3.29e5
    ],
)
def test_rmse_and_its_stderr_follow_from_printed_errors(dataset, method, value, stderr):
    row = read().set_index(["dataset", "method"]).loc[(dataset, method)]
    assert (row["value"], row["stderr"], row["n"]) == (value, stderr, 10)


def test_stderr_equals_the_spread_of_simulated_roots():
    errors = np.random.default_rng(0).normal(40.199, 10.883, size=(20_000, 10)).mean(axis=1)
    row = read().set_index(["dataset", "method"]).loc[("gp-concrete", "lair-net")]
    assert np.sqrt(errors).std() == pytest.approx(row["stderr"], rel=0.03)


def test_each_set_has_four_methods_with_protocol_and_reason():
    table = read_published()
    rows = table[table["source"] == SOURCE]
    assert set(rows["suite"]) == {"uci-gp"}
    assert set(rows.groupby("dataset")["method"].agg(frozenset)) == {frozenset(METHODS.values())}
    assert rows["dataset"].nunique() == read_errors()["dataset"].nunique() == 23
    assert rows["note"].str.contains("ten splits").all()
    assert rows["incomparable"].str.contains("root of the mean squared error").all()
