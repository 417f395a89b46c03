"""The choice between lanes that hold replicas and lanes that hold neighbouring numbers."""

import pytest

from lockstep_bench.bench.native.costs import replicas_across


@pytest.mark.parametrize(
    ("n_replicas", "block", "single", "across"),
    [
        (16, 10.0, 2.0, 16),  # two full blocks take 20, one by one 32
        (16, 10.0, 1.0, 0),  # 16 one by one
        (5, 10.0, 1.5, 0),  # a block of which three lanes would idle takes 10, one by one 7.5
        (7, 10.0, 1.5, 7),  # one by one 10.5
        (9, 10.0, 2.0, 8),  # a block and a replica of its own take 12, two blocks 20
        (15, 10.0, 2.0, 15),  # a block and seven others would take 24
        (0, 10.0, 2.0, 0),
    ],
)
def test_replicas_run_in_blocks_where_that_takes_fewer_cycles(n_replicas, block, single, across):
    assert replicas_across(n_replicas, 8, block, single) == across
