"""Mappings whose values are computed when they are first read."""

import pytest

from lockstep_bench.leaderboards.tables.on_demand import OnDemand


def test_value_is_computed_once_when_it_is_read():
    computed = []
    lengths = OnDemand(["map", "vifa"], lambda name: computed.append(name) or len(name))
    assert (list(lengths), len(lengths), "vifa" in lengths, computed) == (["map", "vifa"], 2, True, [])
    assert (lengths["map"], lengths["map"], computed) == (3, 3, ["map"])


def test_other_names_are_missing():
    lengths = OnDemand(["map"], len)
    assert lengths.get("swag") is None
    with pytest.raises(KeyError):
        lengths["swag"]
