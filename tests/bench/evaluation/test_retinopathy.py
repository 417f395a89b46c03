"""Cells of the suite `retinopathy`: a Kaggle folder and a file of trained weights become a row."""

import dataclasses
import hashlib
import io
import json
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from lockstep_bench import datasets
from lockstep_bench.bench.engine.sequential_fits import SequentialFits
from lockstep_bench.bench.evaluation import images
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.datasets import registry
from lockstep_bench.datasets.images import aptos, weights
from lockstep_bench.methods.networks.resnets import ResNet
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol

N_IMAGES = 12
PAPER = SUITES["retinopathy"].presets["paper"]
TINY = PAPER.changed(epochs=2, batch_size=3, trials=2, samples=4, validation_samples=2)


def tiny_network(name: str, image: tuple[int, int, int], n_outputs: int) -> ResNet:
    """Return a small ResNet-18 for ImageNet: two narrow stages of one block."""
    return ResNet(image, n_outputs, widths=(4, 6), blocks=1, stem="imagenet")


def trained() -> dict[str, torch.Tensor]:
    """Numbers for `tiny_network`, each layer's under torchvision's name, in the order of application."""
    convolutions = {
        "conv1": (4, 3, 7, 7),
        "layer1.0.conv1": (4, 4, 3, 3),
        "layer1.0.conv2": (4, 4, 3, 3),
        "layer2.0.conv1": (6, 4, 3, 3),
        "layer2.0.conv2": (6, 6, 3, 3),
        "layer2.0.downsample.0": (6, 4, 1, 1),
    }
    shapes = {}
    for name, shape in convolutions.items():
        norm = name.replace("conv", "bn").replace("downsample.0", "downsample.1")
        shapes |= {f"{name}.weight": shape, f"{norm}.weight": shape[:1], f"{norm}.bias": shape[:1]}
    shapes |= {"fc.weight": (1000, 6), "fc.bias": (1000,)}
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) / 3 for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A data folder of a few photographs, the diseased ones darker, and of trained weights."""
    source = dataclasses.replace(aptos.SOURCE, n_rows=N_IMAGES, listing=partial(aptos.listing, N_IMAGES))
    everything = registry._built_in() | {"aptos2019": source}
    monkeypatch.setattr(registry, "_built_in", lambda: everything)
    own = tmp_path / "aptos2019" / "train_images"
    own.mkdir(parents=True)
    generator, lines = np.random.default_rng(0), ["id_code,diagnosis"]
    for number in range(N_IMAGES):
        pixels = generator.integers(0, 100, (30, 40, 3)) + 100 * (number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(own / f"eye{number}.png")
        lines.append(f"eye{number},{1 if number % 2 else 3}")
    (own.parent / "train.csv").write_text("\n".join(lines))
    monkeypatch.setattr("lockstep_bench.bench.experiment.tasks.image_network", tiny_network)
    put(tmp_path, monkeypatch, trained())
    return tmp_path


def put(folder: Path, monkeypatch, state: dict[str, torch.Tensor]) -> None:
    """Publish a state_dict and put it into the data folder."""
    buffer, name = io.BytesIO(), "resnet18-imagenet"
    torch.save(state, buffer)
    body, real = buffer.getvalue(), weights.WEIGHTS[name]
    file = real.file._replace(bytes=len(body), sha256=hashlib.sha256(body).hexdigest())
    monkeypatch.setitem(weights.WEIGHTS, name, dataclasses.replace(real, file=file))
    (folder / "weights").mkdir(exist_ok=True)
    (folder / "weights" / file.path).write_bytes(body)


def outcome(
    folder: Path, method: str, protocol: Protocol = TINY, on_progress: OnProgress = lambda progress: None
) -> CellResult:
    cell = Cell("retinopathy", "aptos2019", method, 0, "tiny", protocol, 0)
    (found,) = run(Job((cell,), (folder / f"{method}.json",), folder), on_progress=on_progress)
    return found


@pytest.fixture
def stacks(monkeypatch) -> list[SequentialFits]:
    """Every stack that is trained, in order."""
    made, train = [], images.train_sequentially

    def kept(*arguments, **options):
        made.append(train(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(images, "train_sequentially", kept)
    return made


@pytest.mark.parametrize("method", ["vifa", "map", "swag", "directuq-mean"])
def test_cell_tunes_on_validation_and_scores_test_images(folder, method):
    found = outcome(folder, method)
    row = found.row
    assert row["status"] == "ok", row["error"]
    pa.Table.from_pylist([row], schema=CELLS)
    assert (row["n_train"], row["n_test"], row["n_trials"], row["task"]) == (8, 4, 2, "binary")
    split = datasets.load("aptos2019", folder).splits[0]
    assert sorted(found.tables["predictions"]["row"].to_pylist()) == sorted(split.test)
    retained = found.tables["selective"].to_pylist()
    assert [one["retained"] for one in retained] == 2 * [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    assert {one["uncertainty"] for one in retained} == {"entropy", "disagreement"}
    assert "shifts" not in found.tables
    hparams = json.loads(row["hparams"])
    assert 0.01 <= hparams["prior_precision"] <= 10 if "prior_precision" in hparams else method == "directuq-mean"
    assert hparams["lr"] <= (1e-2 if method == "swag" else 5e-4)


def test_training_starts_from_pretrained_weights(folder, stacks):
    protocol = TINY.changed(sampler="centre", epochs=1)
    assert outcome(folder, "deep-ensemble", protocol).row["status"] == "ok"
    (final,) = stacks
    file = torch.cat([value.flatten() for name, value in trained().items() if not name.startswith("fc")])
    (lr,) = {fit.hparams["lr"] for fit in final.fits}
    heads = set()
    for posterior in final.posteriors:
        body, head = posterior[: len(file)], posterior[len(file) :]
        # A step of Adam is at most about as long as its rate; in the first ones, at most exactly.
        assert 0 < (body - file).abs().max() <= 1.01 * lr * final.schedule.plan.n_updates
        heads.add(tuple(head.tolist()))
        assert len(head) == 7
    assert len(final.posteriors) == len(heads) == 5


def test_vifa_uses_twelve_minibatches_per_update(folder, stacks):
    outcome(folder, "vifa", TINY.changed(sampler="centre"))
    assert [stack.method.batches_per_update for stack in stacks] == [12]


def test_pretrained_weights_of_another_network_fail_the_cell(folder, monkeypatch):
    put(folder, monkeypatch, trained() | {"layer1.0.conv2.weight": torch.zeros(5, 4, 3, 3)})
    row = outcome(folder, "map").row
    assert row["status"] == "failed"
    assert "layer1.0.conv2.weight has shape (5, 4, 3, 3); Conv2d" in row["error"]


def test_missing_pretrained_weights_fail_the_cell_with_remedy(folder):
    next((folder / "weights").iterdir()).unlink()
    row = outcome(folder, "map").row
    assert row["status"] == "failed"
    assert "python -m datasets fetch resnet18-imagenet" in row["error"]


def test_random_initialisation_needs_no_weights_file(folder, stacks):
    next((folder / "weights").iterdir()).unlink()
    assert outcome(folder, "map", TINY.changed(start="random", sampler="centre")).row["status"] == "ok"


def test_paper_preset_has_the_vifa_papers_settings():
    """Section 4.3.1 of the VIFA paper."""
    said = {"epochs": 10, "batch_size": 16, "trials": 6, "sampler": "random", "samples": 100, "network": "resnet18"}
    assert {name: getattr(PAPER, name) for name in said} == said
    assert PAPER.weights == "resnet18-imagenet"
    words = SUITES["retinopathy"].kind.in_words(PAPER)
    assert words.startswith("6 trials, drawn by random search, 10 epochs, minibatches of 16, 100 samples per test")
    assert "network resnet18" in words
    assert "from imagenet weights" in words
    assert SUITES["retinopathy"].datasets() == ("aptos2019",)
    assert SUITES["retinopathy"].splits["paper"] is None
    assert aptos.N_SPLITS == 5


def test_large_images_use_a_tenth_of_prediction_batch_size(folder, stacks, monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.engine.series.POINTS_AT_ONCE", 20)
    seen = []
    call = ResNet.__call__

    def counted(network, weights, x):
        seen.append((network.n_reference, len(x)))
        return call(network, weights, x)

    outcome(folder, "map", TINY.changed(sampler="centre", epochs=1))
    monkeypatch.setattr(ResNet, "__call__", counted)
    next(stacks[0].predict([np.arange(5)], 1))
    assert [size for reference, size in seen if reference] == [8 + 1, 8 + 2, 8 + 2, 8 + 1]
