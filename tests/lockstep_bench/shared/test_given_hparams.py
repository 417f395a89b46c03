"""Given hyper-parameters are read, ordered, and given to the methods that they are for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.shared.given_hparams import GivenHParam, GivenHParams, parse
from lockstep_bench.shared.protocol import Protocol

finite = st.floats(allow_nan=False, allow_infinity=False)
method = st.none() | st.sampled_from(["map", "ensemble:map", "directuq-l2"])
name = st.sampled_from(["lr", "prior_precision"])
value = st.builds(GivenHParam, method, name, finite, st.none())
ends = st.tuples(finite, finite).filter(lambda ends: ends[0] < ends[1])
span = st.builds(lambda method, name, ends: GivenHParam(method, name, *ends), method, name, ends)
each = value | span


@settings(deadline=None)
@given(each)
def test_formatted_hparams_are_parsed_back(one):
    assert parse(str(one)) == one


@settings(deadline=None)
@given(st.lists(each, min_size=1, unique_by=lambda one: one[:2]))
def test_order_of_given_hparams_does_not_matter(every):
    given = GivenHParams.of(every)
    assert GivenHParams.of(reversed(every)) == given
    assert GivenHParams.read(str(given)) == given


def test_value_for_a_method_overrides_value_for_all():
    given = GivenHParams.read("map:lr=0.1 lr=1e-2 ensemble:map:lr=3 alpha=1")
    assert str(given) == "alpha=1 lr=0.01 ensemble:map:lr=3 map:lr=0.1"
    protocol = Protocol(hparams=given)
    assert protocol.fixed_for("map") == {"alpha": 1, "lr": 0.1}
    assert protocol.fixed_for("ensemble:map") == {"alpha": 1, "lr": 3}
    assert protocol.fixed_for("vifa") == {"alpha": 1, "lr": 0.01}
    assert Protocol().fixed_for("map") == {}


@pytest.mark.parametrize("text", ["lr", "lr=", "=1", "lr=1=2", "lr:1", "1r=2", ""])
def test_unreadable_hparam_text_raises_with_example(text):
    with pytest.raises(ValueError, match=r"write NAME=VALUE or METHOD:NAME=VALUE, as in lr=0.01"):
        parse(text)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "many", "1e999"])
def test_fixed_hparam_value_must_be_finite(value):
    with pytest.raises(ValueError, match="must be a finite number"):
        parse(f"lr={value}")


def test_hparam_may_be_a_range_or_a_value():
    protocol = Protocol(hparams=GivenHParams.read("lr=0.1 slang:lr=1e-3..1"))
    assert str(protocol.hparams) == "lr=0.1 slang:lr=0.001..1"
    assert protocol.fixed_for("slang") == {}
    assert protocol.ends_for("slang") == {"lr": (0.001, 1)}
    assert protocol.ends_for("map") == {"lr": (0.1, 0.1)}


@pytest.mark.parametrize("value", ["1..1", "2..1"])
def test_empty_search_range_raises(value):
    with pytest.raises(ValueError, match="empty range"):
        parse(f"lr={value}")


@pytest.mark.parametrize("value", ["1..", "..2", "1..2..3", "1..inf"])
def test_range_not_of_two_numbers_raises(value):
    with pytest.raises(ValueError, match=r"must be a finite number, as in lr=0\.01, or two"):
        parse(f"lr={value}")


def test_two_values_for_one_hparam_raise():
    with pytest.raises(ValueError, match=r"lr=0.1 and lr=0.2 fix the same"):
        GivenHParams.read("lr=0.1 map:lr=1 lr=0.2")


def test_value_for_method_variant_overrides_the_base_methods():
    protocol = Protocol(hparams=GivenHParams.read("lr=1 mfvi:lr=2 mfvi(tempering=0.1,max_sd=1):lr=3"))
    names = "map", "mfvi", "mfvi(tempering=0.2)", "mfvi(tempering=0.1,max_sd=1)"
    assert [protocol.fixed_for(name)["lr"] for name in names] == [1, 2, 2, 3]
