"""A protocol is known by its hash, and refuses what makes no sense."""

import json
from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.datasets.images.weights import WEIGHTS
from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.protocol import SETTINGS, VECTORS, Protocol, in_words

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
    "activation": "softplus",
    "hidden": "50,50",
    "schedule": "cosine",
    "max_train": 2000,
    "max_test": 1000,
    "max_shifted": 10,
    "shifts": "all",
    "start": "imagenet",
    "precision": "bfloat16",
    "hparams": GivenHParams.read("lr=0.25"),
    "milestones": "77,88",
    "stream_batch": 66,
    "window": 44,
    "factor": 9,
    "validation": "holdout",
    "fold_kind": "block",
    "budget_seconds": 10,
}

# Computed before fields carried their metadata and presets a common base; the names of results folders hold them.
HASHES = {
    ("uci", "paper"): "e9f65655",
    ("uci", "tuned"): "daa64e7e",
    ("uci", "quick"): "a9fa0974",
    **{
        (suite, preset): digest
        for suite in ("uci-gap", "uci-tail")
        for preset, digest in {"tuned": "daa64e7e", "tuned-blocks": "b3558558", "quick": "a9fa0974"}.items()
    },
    **{
        (suite, preset): digest
        for suite in ("uci-gp", "keel", "rdatasets", "openml-ctr23", "openml-tabarena", "learning-curves")
        for preset, digest in {"tuned": "daa64e7e", "quick": "a9fa0974"}.items()
    },
    ("own", "paper"): "e9f65655",
    ("own", "tuned"): "daa64e7e",
    ("own", "quick"): "a9fa0974",
    ("posterior", "paper"): "13e72293",
    ("posterior", "quick"): "4e75e515",
    ("function-posterior", "tuned"): "f4b85dce",
    ("function-posterior", "quick"): "7f0c8d79",
    ("images", "large"): "84a826e6",
    ("images", "tuned"): "4746780f",
    ("images", "quick"): "f6a804c5",
    ("retinopathy", "paper"): "73dcd2da",
    ("retinopathy", "quick"): "37f7f5fb",
    ("factor-analysis", "paper"): "e9f65655",
    ("factor-analysis", "quick"): "9d25a9d3",
    ("decisions", "untuned"): "51a3fea9",
    ("decisions", "quick"): "e95e0b3b",
    ("toy", "paper"): "c4727aee",
    ("toy", "quick"): "3b51113c",
}

counts = st.integers(1, 10_000)
protocols = st.builds(
    Protocol,
    epochs=counts,
    batch_size=counts,
    trials=counts,
    folds=st.integers(2, 20),
    sampler=st.sampled_from(["random", "tpe", "gp", "centre", "grid"]),
    validation=st.sampled_from(["folds", "holdout"]),
    fold_kind=st.sampled_from(["random", "block"]),
    samples=counts,
    validation_samples=counts,
    max_minibatches=st.none() | counts,
    space=st.sampled_from(["paper", "wide"]),
    likelihood=st.sampled_from(["gaussian", "heteroscedastic", "student-t"]),
    stream_length=counts,
    max_updates=st.none() | counts,
    network=st.sampled_from(["mlp", "lenet5"]),
    activation=st.sampled_from(["relu", "softplus", "tanh"]),
    hidden=st.sampled_from([None, "50", "50,20"]),
    schedule=st.sampled_from(["constant", "cosine", "step"]),
    stream_batch=counts,
    window=counts,
    milestones=st.sampled_from([None, "1", "1,20"]),
    factor=st.none() | st.integers(2, 100),
    max_train=st.none() | counts,
    max_test=st.none() | counts,
    max_shifted=st.just(0) | counts,
    shifts=st.sampled_from(["benchmark", "all"]),
    start=st.sampled_from(["random", "imagenet"]),
    precision=st.sampled_from(["float32", "bfloat16"]),
    hparams=st.sampled_from([None, *map(GivenHParams.read, ("lr=0.1", "lr=0.1 map:lr=0.2"))]),
)


def test_tests_cover_every_protocol_field():
    assert set(DIFFERENT) == {field.name for field in fields(Protocol)}


@pytest.mark.parametrize("name", DIFFERENT)
def test_protocol_hash_changes_with_every_field(name):
    assert replace(Protocol(), **{name: DIFFERENT[name]}).hash != Protocol().hash


@given(protocols, protocols)
@settings(deadline=None)
def test_protocols_of_equal_hash_are_equal(one, other):
    assert (one.hash == other.hash) == (one == other)


def test_paper_protocol_keeps_its_stored_json_and_hash():
    """The hash names folders of results; it was computed by `sha256sum` of the JSON below."""
    text = (
        '{"batch_size": 10, "epochs": 120, "folds": 5, "max_minibatches": null, "sampler": "random", '
        '"samples": 100, "trials": 30, "validation_samples": 100}'
    )
    assert Protocol().to_json() == text
    assert Protocol().hash == "e9f65655"


@given(protocols)
@settings(deadline=None)
def test_protocol_survives_a_json_round_trip(protocol):
    assert Protocol.from_json(protocol.to_json()) == protocol


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
        ("sampler", "guess"),
        ("sampler", ""),
        *[("milestones", text) for text in ("", "0,1", "2,1", "1,1", "1;2", "1,", "x")],
        ("factor", 1),
        ("hparams", 0.1),
        ("hparams", "lr=0.1"),
    ],
)
def test_invalid_protocol_value_raises_with_field_name(name, value):
    with pytest.raises(ValueError, match=rf"{name} is {value!r}"):
        Protocol(**{name: value})
    with pytest.raises(ValueError, match=rf"{name} is {value!r}"):
        Protocol().changed(**{name: value})


def test_pretrained_weights_are_named_by_network_and_data():
    assert Protocol(network="resnet18", start="imagenet").weights in WEIGHTS
    assert Protocol(network="resnet18").weights is None


def test_unknown_sampler_error_lists_allowed_ones():
    with pytest.raises(ValueError, match="random, tpe"):
        Protocol(sampler="guess")


@pytest.mark.parametrize("name", DIFFERENT)
def test_changing_one_protocol_field_keeps_the_others(name):
    changed = Protocol().changed(**{name: DIFFERENT[name]})
    assert {key for key, value in asdict(changed).items() if value != getattr(Protocol(), key)} == {name}
    assert getattr(changed, name) == DIFFERENT[name]


def test_presets_keep_their_stored_hashes():
    assert {(name, preset): p.hash for name, suite in SUITES.items() for preset, p in suite.presets.items()} == HASHES


def test_newer_fields_at_default_leave_json_unchanged():
    first = {name for name, setting in SETTINGS.items() if setting.since == 1}
    assert json.loads(Protocol().to_json()).keys() == first
    later = {name: DIFFERENT[name] for name in DIFFERENT.keys() - first}
    assert json.loads(Protocol(**later).to_json()).keys() == set(DIFFERENT)


def test_protocol_description_contains_every_relevant_setting():
    different = DIFFERENT | {"budget_seconds": None}
    changed = Protocol(**different)
    words = in_words(json.loads(changed.to_json()))
    assert all(str(value).replace(",", "") in words.replace(",", "") for value in different.values() if value)
    assert "cosine" not in in_words(json.loads(changed.to_json()), VECTORS)
    assert "31" not in in_words(json.loads(changed.changed(sampler="centre").to_json()))


def test_description_of_time_budget_omits_trials_and_minibatches():
    protocol = Protocol(budget_seconds=10, trials=77, max_minibatches=8765)
    words = in_words(json.loads(protocol.to_json()))
    assert "about 10 s of tuning and training for each split" in words
    assert "77" not in words
    assert "8,765" not in words
