"""Kept draws: what is written is read, and files that are damaged or of another posterior are not used."""

import json
from dataclasses import replace

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.reference import kept, networks
from lockstep_bench.bench.reference.kept import (
    AGREEMENTS,
    KEPT,
    PROBES,
    agreements,
    definition_of,
    inputs_of,
    is_valid,
    read,
    reference_of,
    remade,
    write,
)
from lockstep_bench.datasets import Standardisation
from lockstep_bench.datasets.references.networks import definitions

NAME = "ref-gap-50-predicted"


@pytest.fixture
def sampled(monkeypatch, tmp_path):
    """Replace both samplers by standard normal outputs; return the list of their calls."""
    monkeypatch.setenv("BENCH_REFERENCE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    calls = []

    def outputs(part, inputs, seed, **_):
        calls.append(seed)
        return np.random.default_rng(seed).standard_normal((8, 200, len(inputs), part.network.n_outputs))

    monkeypatch.setattr(networks, "drawn_by_hmc", outputs)
    monkeypatch.setattr(networks, "drawn_by_nuts", outputs)
    return calls


def posterior(name=NAME):
    return datasets.entry(name), datasets.load(name)


def test_draws_are_read_as_written_to_half_precision(tmp_path):
    source, dataset = posterior()
    values = np.random.default_rng(0).standard_normal((10, 100, PROBES, 2))
    write(tmp_path / "a.parquet", values, definition_of(source, dataset))
    found = read(tmp_path / "a.parquet")
    np.testing.assert_allclose(found.values, values.reshape(-1, PROBES, 2), rtol=1e-3, atol=1e-6)
    assert found.facts["prior_precision"] == source.model.prior_precision
    assert found.facts["r_hat"] == pytest.approx(1.0, abs=0.02)
    assert (found.facts["chains"], found.facts["draws_per_chain"]) == (10, 100)


def test_remade_posterior_is_kept_with_its_checksum(tmp_path, sampled):
    source, dataset = posterior()
    row = remade(source, dataset, tmp_path / "draws")
    assert sampled == [kept.SEED, kept.SEED + 1]
    assert row["verdict"] == "agree"
    assert agreements(tmp_path / "agreement.csv") == {NAME: row}
    assert is_valid(tmp_path / "draws" / f"{NAME}.parquet")
    found = reference_of(source, dataset, kept=tmp_path / "draws")
    assert found.values.shape == (kept.DRAWS, PROBES, 2)
    assert len(sampled) == 2


def test_damaged_draws_are_sampled_anew_and_cached(tmp_path, sampled):
    source, dataset = posterior()
    remade(source, dataset, tmp_path / "draws")
    path = tmp_path / "draws" / f"{NAME}.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    for _ in range(2):
        reference_of(source, dataset, kept=tmp_path / "draws")
    assert len(sampled) == 3


def test_draws_of_another_prior_are_not_used(tmp_path, sampled):
    source, dataset = posterior()
    remade(source, dataset, tmp_path / "draws")
    other = replace(source, model=source.model._replace(prior_precision=1.5))
    found = reference_of(other, dataset, kept=tmp_path / "draws")
    assert found.facts["prior_precision"] == 1.5
    assert len(sampled) == 3


def test_predictive_is_in_original_units():
    source, dataset = posterior()
    train = dataset.splits[0].train
    part, scaling = networks.part_of(source, dataset, train), Standardisation.of(dataset.y, train)
    outputs = np.stack([np.full((3, 4), 2.0), np.log(np.full((3, 4), 0.25))], axis=-1)
    predictive = kept.KeptDraws(outputs, {}).predictive(part, float(scaling.mean))
    np.testing.assert_allclose(predictive.mean, scaling.mean + 2 * scaling.scale, rtol=1e-5)
    np.testing.assert_allclose(predictive.variance, 0.25 * scaling.scale**2, rtol=1e-5)


def test_files_hold_neither_inputs_nor_targets():
    """Tables of the UCI repository may not be passed on; outputs of networks may."""
    for path in KEPT.glob("*.parquet"):
        names = kept.pq.read_schema(path).names
        assert {name.rpartition("_")[0] for name in names} <= set(kept.COLUMNS)


def test_kept_draws_of_the_checkout_have_their_checksums():
    rows = agreements(AGREEMENTS)
    assert rows.keys() <= definitions().keys()
    assert {path.stem for path in KEPT.glob("*.parquet")} == rows.keys()
    assert all(is_valid(KEPT / f"{name}.parquet") for name in rows)


@pytest.mark.parametrize("name", [name for name, each in definitions().items() if each.data in ("gap", "friedman")])
def test_kept_draws_are_of_the_posterior_that_the_table_defines(name):
    if name not in agreements():
        pytest.skip("its draws are not kept")
    source, dataset = posterior(name)
    facts = json.loads(kept.pq.read_schema(KEPT / f"{name}.parquet").metadata[b"facts"])
    assert {key: facts[key] for key in definition_of(source, dataset)} == definition_of(source, dataset)
    assert read(KEPT / f"{name}.parquet").values.shape[:2] == (kept.DRAWS, len(inputs_of(dataset)))
