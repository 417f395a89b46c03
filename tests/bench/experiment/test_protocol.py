"""A protocol is known by its hash, and refuses what makes no sense."""

import json
from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.experiment.protocol import Protocol
from datasets.images.weights import WEIGHTS

DIFFERENT = {
    "epochs": 121,
    "batch_size": 11,
    "trials": 31,
    "folds": 6,
    "sampler": "tpe",
    "samples": 101,
    "validation_samples": 99,
    "max_minibatches": 7,
    "space": "wide",
    "likelihood": "heteroscedastic",
    "stream_length": 1000,
    "max_updates": 50,
    "network": "lenet5",
    "schedule": "cosine",
    "max_train": 2000,
    "max_test": 1000,
    "max_shifted": 10,
    "start": "imagenet",
    "precision": "bfloat16",
}

counts = st.integers(1, 10_000)
protocols = st.builds(
    Protocol,
    epochs=counts,
    batch_size=counts,
    trials=counts,
    folds=st.integers(2, 20),
    sampler=st.sampled_from(["random", "tpe", "centre"]),
    samples=counts,
    validation_samples=counts,
    max_minibatches=st.none() | counts,
    space=st.sampled_from(["paper", "wide"]),
    likelihood=st.sampled_from(["gaussian", "heteroscedastic"]),
    stream_length=counts,
    max_updates=st.none() | counts,
    network=st.sampled_from(["mlp", "lenet5"]),
    schedule=st.sampled_from(["constant", "cosine"]),
    max_train=st.none() | counts,
    max_test=st.none() | counts,
    max_shifted=st.just(0) | counts,
    start=st.sampled_from(["random", "imagenet"]),
    precision=st.sampled_from(["float32", "bfloat16"]),
)


def test_every_field_has_a_different_value_to_try():
    assert set(DIFFERENT) == {field.name for field in fields(Protocol)}


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_hash_changes_with_every_field(name):
    assert replace(Protocol(), **{name: DIFFERENT[name]}).hash != Protocol().hash


@given(protocols, protocols)
@settings(deadline=None)
def test_equal_hashes_mean_equal_protocols(one, other):
    assert (one.hash == other.hash) == (one == other)
    assert Protocol(**asdict(one)).hash == one.hash


def test_the_hash_of_the_papers_protocol_never_changes():
    """It names folders of results; computed by `sha256sum` of the JSON below."""
    text = (
        '{"batch_size": 10, "epochs": 120, "folds": 5, "max_minibatches": null, "sampler": "random", '
        '"samples": 100, "trials": 30, "validation_samples": 100}'
    )
    assert Protocol().to_json() == text
    assert Protocol().hash == "e9f65655"


@given(protocols)
@settings(deadline=None)
def test_json_builds_the_same_protocol(protocol):
    assert Protocol(**json.loads(protocol.to_json())) == protocol


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, 0) for name in ("epochs", "batch_size", "trials", "samples", "validation_samples")],
        ("trials", -3),
        ("max_minibatches", 0),
        ("epochs", 1.5),
        ("epochs", True),
        ("max_shifted", -1),
        ("folds", 1),
        ("folds", 0),
        ("sampler", "grid"),
        ("sampler", ""),
    ],
)
def test_a_senseless_value_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"{name} is {value!r}"):
        Protocol(**{name: value})
    with pytest.raises(ValueError, match=rf"{name} is {value!r}"):
        Protocol().changed(**{name: value})


def test_trained_weights_are_named_by_what_was_trained_and_on_what():
    assert Protocol(network="resnet18", start="imagenet").weights in WEIGHTS
    assert Protocol(network="resnet18").weights is None


def test_an_unknown_sampler_is_told_the_known_ones():
    with pytest.raises(ValueError, match="random, tpe"):
        Protocol(sampler="grid")


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_change_changes_that_field_alone(name):
    changed = Protocol().changed(**{name: DIFFERENT[name]})
    assert {key for key, value in asdict(changed).items() if value != getattr(Protocol(), key)} == {name}
    assert getattr(changed, name) == DIFFERENT[name]
