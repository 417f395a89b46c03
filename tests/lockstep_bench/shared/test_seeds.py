"""Seeds never change, and different parts give different seeds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.shared.seeds import seed_of

part = st.one_of(st.integers(), st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
parts = st.lists(part, min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("parts", "digest"),
    [  # of `printf '0\x1fuci...' | b2sum -l 64`
        ((0,), "842b7d9d43cddf75"),
        (("a", "bc"), "a88a4c477c93af5a"),
        (("ab", "c"), "4449645a7ce72544"),
        ((0, "uci", "yacht", "vifa", 3), "b7e6531d85cbef7d"),
        ((), "e4a6a0577479b2b4"),
    ],
)
def test_seeds_equal_stored_hashes(parts, digest):
    assert seed_of(*parts) == int(digest, 16) // 2


@given(parts)
@settings(deadline=None)
def test_seeds_are_63_bit_numbers(parts):
    assert 0 <= seed_of(*parts) < 2**63


@given(parts, parts)
@settings(deadline=None)
def test_different_hashed_parts_give_different_seeds(one, other):
    assert (seed_of(*one) == seed_of(*other)) == ([str(part) for part in one] == [str(part) for part in other])


def test_boundaries_between_hashed_parts_change_the_seed():
    ways = [("a", "bc"), ("ab", "c"), ("abc",), ("a", "b", "c"), ("abc", "")]
    assert len({seed_of(*parts) for parts in ways}) == len(ways)


def test_order_of_hashed_parts_changes_the_seed():
    assert seed_of("trial", 1, 2) != seed_of("trial", 2, 1)
