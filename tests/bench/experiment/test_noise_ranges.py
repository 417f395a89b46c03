"""Ranges of the noise precision that do not suit the targets are noted, and those of built-in sets suit them."""

import dataclasses

import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.noise_ranges import notes_on_noise_ranges
from lockstep_bench.shared.protocol import Protocol

CELLS = [Cell("uci", "diabetes", "map", split, "paper", Protocol(), 0) for split in (0, 1)]


def test_noise_ranges_of_built_in_data_sets_are_plausible():
    assert notes_on_noise_ranges(CELLS, None) == []


@pytest.mark.parametrize(
    ("target_sd", "suits"), [(0.017, False), (1.0, False), (2.0, True), (80.0, True), (200.0, False)]
)
def test_default_noise_range_suits_targets_of_its_scale(monkeypatch, target_sd, suits):
    source, dataset = datasets.entry("diabetes"), datasets.load("diabetes")
    usual = datasets.Source.__dataclass_fields__["noise_precisions"].default
    scaled = dataclasses.replace(dataset, y=dataset.y / dataset.y.std() * target_sd)
    monkeypatch.setattr(datasets, "entry", lambda name: dataclasses.replace(source, noise_precisions=usual))
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: scaled)
    notes = notes_on_noise_ranges(CELLS, None)
    assert len(notes) == (0 if suits else 1)
    assert all("noise sd of 1 to 10" in note and f"targets' sd is {target_sd:.2g}" in note for note in notes)


def test_classifications_have_no_noise():
    assert notes_on_noise_ranges([dataclasses.replace(CELLS[0], dataset="wdbc")], None) == []
