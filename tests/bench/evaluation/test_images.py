"""Cells of image classifiers, from data to row."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from call_depth import MOST_FRAMES, depths_of_updates
from cell_runs import numbers

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import images
from lockstep_bench.bench.evaluation.images import ImageScorer
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.datasets import File, Source, Split
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.search_spaces import OneOf
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import CONFIDENCE, ELSEWHERE, OOD_SETS, RELIABILITY, SELECTIVE, SHIFTS

TINY = Protocol(
    epochs=4, batch_size=8, trials=2, samples=4, validation_samples=2, network="cnn", schedule="cosine", max_shifted=5
)
SPLITS = (
    Split(np.arange(30), np.arange(40, 60), np.arange(30, 40)),
    Split(np.arange(10, 40), np.arange(40, 60), np.arange(10)),
)


def pixels(seed: int, brightest: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, brightest, size=(60, 100), dtype=np.uint8)


def squares() -> tuple[np.ndarray, np.ndarray]:
    """Dim noise with a bright square in one of three places, which is the class."""
    x, y = pixels(0, 60).reshape(60, 10, 10), np.arange(60) % 3
    for image, number in zip(x, y, strict=True):
        image[2:8, 3 * number : 3 * number + 3] = 255
    return x.reshape(60, 100), y.astype(float)


def source(name: str, read, **more) -> Source:
    return Source(
        name=name,
        title=name,
        n_rows=60,
        n_features=100,
        n_splits=2,
        origin="here",
        licence="none",
        read=read,
        task="multiclass",
        n_classes=3,
        image=(1, 10, 10),
        **more,
    )


def unreachable(contents):
    raise AssertionError("a set that is not here cannot be read")


@pytest.fixture
def known(monkeypatch):
    """Three sets of images: one to learn, one that it is not like, one that is not here."""
    x, y = squares()
    groups = {"near": ("noise", "absent"), "far": ("absent-too",)}
    absent = {"files": (File("gone.bin", 1, "0" * 64),), "folder": "nowhere", "base_url": "https://localhost"}
    found = {
        "squares": source("squares", lambda contents: (x, y, SPLITS), suites=("images",), ood_groups=groups),
        "noise": source("noise", lambda contents: (pixels(1, 256), y, SPLITS)),
        "absent": source("absent", unreachable, **absent),
        "absent-too": source("absent-too", unreachable, **absent),
    }
    monkeypatch.setattr("lockstep_bench.datasets.registry._built_in", lambda: found)
    return found


def outcomes(tmp_path: Path, method: str, splits=(0,), **changes) -> list[CellResult]:
    cells = tuple(Cell("images", "squares", method, split, "tiny", TINY.changed(**changes), 0) for split in splits)
    journals = tuple(tmp_path / f"{method}-{cell.split}.json" for cell in cells)
    return run(Job(cells, journals, None))


def test_classifiers_are_scored_on_test_ood_and_shifted_images(tmp_path, known):
    (outcome,) = outcomes(tmp_path, "map", epochs=40, sampler="centre")
    row = outcome.row
    assert row["status"] == "ok", row["error"]
    assert row["accuracy"] == 1
    assert row["near_ood_auroc"] > 0.9
    assert row["far_ood_auroc"] is None
    assert (row["n_train"], row["n_test"], row["n_ood"]) == (40, 20, 20)
    assert row["sgd_ratio"] > 0
    schemas = {"reliability": RELIABILITY, "confidence": CONFIDENCE, "selective": SELECTIVE, "ood": OOD_SETS}
    for name, schema in (schemas | {"shifts": SHIFTS}).items():
        assert outcome.tables[name].schema == schema
    assert set(outcome.tables["ood"]["set"].to_pylist()) == {"noise"}
    assert set(outcome.tables["shifts"]["family"].to_pylist()) == {None, "rotation", "translation"}
    assert len(outcome.tables["predictions"]) == 20
    shifted = {(one["shift"], one["severity"]): one["accuracy"] for one in outcome.tables["shifts"].to_pylist()}
    assert shifted[None, 0] == 1
    # Three columns to the right, a square stands where that of the next class would, and wraps round past the last.
    assert shifted["translation", 4] < 1


def test_untuned_hparams_are_the_middle_of_their_ranges(tmp_path, known, monkeypatch):
    monkeypatch.setattr(ImageScorer, "trials", None)
    (outcome,) = outcomes(tmp_path, "map", sampler="centre")
    assert outcome.row["status"] == "ok", outcome.row["error"]
    assert json.loads(outcome.row["hparams"]) == pytest.approx({"lr": (3e-4 * 1e-2) ** 0.5, "prior_precision": 10})
    assert outcome.row["validation_nmll"] is None
    assert outcome.row["n_trials"] == 0


def test_only_the_final_fit_trains_on_validation_images(tmp_path, known, monkeypatch):
    seen, train = [], images.train_sequentially

    def spy(method, task, data, fits, *arguments, **options):
        seen.extend(sorted(fit.rows) for fit in fits)
        return train(method, task, data, fits, *arguments, **options)

    monkeypatch.setattr(images, "train_sequentially", spy)
    outcomes(tmp_path, "map", (0, 1))
    assert seen == [list(range(30))] * 2 + [list(range(10, 40))] * 2 + [list(range(40))] * 2


def test_test_labels_do_not_affect_chosen_hparams(tmp_path, known, monkeypatch):
    (before,) = outcomes(tmp_path / "before", "map")
    original = datasets.load("squares")
    y = original.y.copy()
    y[40:] = (y[40:] + 1) % 3
    monkeypatch.setattr(datasets, "load", lambda name, _: replace(original, y=y))
    (after,) = outcomes(tmp_path / "after", "map")
    assert before.row["hparams"] == after.row["hparams"]
    assert before.row["validation_nmll"] == after.row["validation_nmll"]
    assert before.row["accuracy"] != after.row["accuracy"]


def test_a_split_has_the_same_row_in_a_job_of_several(tmp_path, known):
    together = outcomes(tmp_path / "together", "swag", splits=(0, 1))
    alone = [*outcomes(tmp_path, "swag", splits=(0,)), *outcomes(tmp_path, "swag", splits=(1,))]
    assert [numbers(each.row) for each in together] == [numbers(each.row) for each in alone]


def test_methods_share_the_same_subset_of_images(tmp_path, known):
    rows = [outcomes(tmp_path, name, max_train=12, max_test=7)[0] for name in ("map", "mfvi")]
    assert [one.row["n_train"] for one in rows] == [12, 12]
    first, second = (one.tables["predictions"]["row"].to_pylist() for one in rows)
    assert first == second
    assert len(first) == 7


def test_partner_data_set_of_equal_classes_is_scored_too(tmp_path, known, monkeypatch):
    x, y = squares()
    other = source("other", lambda contents: (x, (y + 2) % 3, SPLITS))  # the same squares by other numbers
    monkeypatch.setitem(known, "other", other)
    monkeypatch.setattr("lockstep_bench.datasets.out_of_distribution.PARTNERS", {"squares": "other"})
    monkeypatch.setattr(
        "lockstep_bench.datasets.out_of_distribution.CLASSES", {"squares": ("a", "b", "c"), "other": ("b", "c", "a")}
    )
    (outcome,) = outcomes(tmp_path, "map", epochs=40, sampler="centre", max_test=20)
    assert outcome.row["status"] == "ok", outcome.row["error"]
    assert ELSEWHERE.keys() <= outcome.outcome.metrics.keys()
    assert outcome.row["accuracy"] == 1
    assert outcome.row["elsewhere_accuracy"] == 1


def test_diverged_network_is_reported_in_the_row(tmp_path, known, monkeypatch):
    monkeypatch.setattr("lockstep_bench.methods.maths.search_spaces.IMAGES", {})
    monkeypatch.setattr(
        "lockstep_bench.methods.map.MAP.search_space", lambda *_: {"lr": OneOf(1e30), "prior_precision": OneOf(1.0)}
    )
    (outcome,) = outcomes(tmp_path, "map", sampler="centre")
    assert outcome.row["status"] == "diverged"
    assert "predicts no distribution: log_probs is NaN at " in outcome.row["error"]


def test_call_stack_from_job_to_update_is_short(tmp_path, known, monkeypatch):
    depths = depths_of_updates(MAP, monkeypatch)
    outcomes(tmp_path, "map")
    assert max(depths) <= MOST_FRAMES
