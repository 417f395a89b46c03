"""APTOS 2019 is read from a Kaggle folder that a person puts there."""

import dataclasses
import os
from functools import partial

import numpy as np
import pytest
from PIL import Image

from lockstep_bench import datasets
from lockstep_bench.datasets import registry
from lockstep_bench.datasets.images import aptos

GRADES = [0, 1, 2, 3, 4, 2, 0, 1, 4, 0]


@pytest.fixture
def folder(tmp_path, monkeypatch, pictures):
    """A folder of ten images, most of one colour, each in its own size, and a registry that knows it has ten."""
    changed = dataclasses.replace(aptos.SOURCE, n_rows=10, listing=partial(aptos.listing, 10))
    everything = registry._built_in() | {"aptos2019": changed}
    monkeypatch.setattr(registry, "_built_in", lambda: everything)
    own = tmp_path / "aptos2019"
    (own / "train_images").mkdir(parents=True)
    lines = [f"eye{number},{grade}" for number, grade in enumerate(GRADES)]
    (own / "train.csv").write_text("\n".join(["id_code,diagnosis", *lines]))
    for number in range(10):
        one_colour = np.full((300, 300 + number, 3), (number, 2 * number, 200), np.uint8)
        Image.fromarray(one_colour).save(own / f"train_images/eye{number}.png")
    exact = pictures(1, (3, 224, 224))[0]
    Image.fromarray(exact.transpose(1, 2, 0)).save(own / "train_images/eye3.png")
    return own, exact


def test_grades_become_classes_and_images_are_resized(tmp_path, folder):
    _, exact = folder
    dataset = datasets.load("aptos2019", tmp_path)
    assert dataset.y.tolist() == [0, 0, 1, 1, 1, 1, 0, 0, 1, 0]
    pixels = dataset.x.reshape(10, 3, 224, 224)
    np.testing.assert_array_equal(pixels[3], exact)
    for number in (0, 9):
        assert [np.unique(channel).tolist() for channel in pixels[number]] == [[number], [2 * number], [200]]
    for split in dataset.splits:
        assert (len(split.train), len(split.validation), len(split.test)) == (5, 2, 3)
    assert len(dataset.splits) == 5


@pytest.mark.parametrize("name", ["train.csv", "train_images/eye3.png"])
def test_named_pipe_counts_as_a_damaged_file(tmp_path, folder, name):
    own, _ = folder
    (own / name).unlink()
    os.mkfifo(own / name)
    for deep in (False, True):
        state = datasets.availability("aptos2019", tmp_path, deep=deep)
        assert (state.state, "pipe or device" in state.reason) == ("damaged", True)


def test_resized_images_are_cached_until_one_changes(tmp_path, folder, monkeypatch):
    own, exact = folder
    first = datasets.load("aptos2019", tmp_path)
    decode = aptos.decoded
    monkeypatch.setattr(aptos, "decoded", None)
    again = datasets.load("aptos2019", tmp_path)
    assert again.data_sha256 == first.data_sha256
    assert not again.x.flags.writeable
    monkeypatch.setattr(aptos, "decoded", decode)
    Image.fromarray(exact.transpose(1, 2, 0)).save(own / "train_images/eye7.png")
    np.testing.assert_array_equal(datasets.load("aptos2019", tmp_path).x[7], exact.ravel())
    assert not list(own.glob(".keeping-*"))


def test_images_are_loaded_with_an_unwritable_cache(tmp_path, folder, monkeypatch):
    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "save", full)
    assert len(datasets.load("aptos2019", tmp_path).x) == 10
    assert sorted(path.name for path in folder[0].iterdir()) == ["train.csv", "train_images"]


def test_missing_image_is_reported_on_loading(tmp_path, folder):
    (folder[0] / "train_images/eye5.png").unlink()
    state, reason, remedy = datasets.availability("aptos2019", tmp_path)
    assert state == "missing"
    assert reason.startswith("only 10 of its 11 files found in")
    assert remedy.startswith("get it from Kaggle (competition aptos2019-blindness-detection) and put train.csv and")


def test_missing_images_error_points_to_kaggle(tmp_path):
    for use in (datasets.load, datasets.fetch):
        with pytest.raises(datasets.Unavailable, match="get it from Kaggle") as caught:
            use("aptos2019", tmp_path)
        assert str(tmp_path / "aptos2019") in caught.value.remedy


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("id_code,diagnosis\neye0,1\n", "expected 10 images, it lists 1"),
        ("id_code,grade\neye0,1\n", "expected id_code and diagnosis, .* got {'id_code': 'eye0', 'grade': '1'}"),
        ("id_code,diagnosis\neye0,7\n", "one of 0, 1, 2, 3, 4, in every row, got .*'diagnosis': '7'"),
        ("id_code,diagnosis\neye0\n", "got {'id_code': 'eye0', 'diagnosis': None}"),
        ("PK\x03\x04, no text\nat all\n", "in every row, got"),
    ],
)
def test_wrong_label_table_is_refused(tmp_path, folder, table, complaint):
    (folder[0] / "train.csv").write_text(table)
    with pytest.raises(datasets.Unavailable, match=rf"train\.csv is not the published file \(.*{complaint}"):
        datasets.load("aptos2019", tmp_path)
    assert datasets.availability("aptos2019", tmp_path).state == "damaged"


def test_error_names_a_file_that_is_no_image(tmp_path, folder):
    (folder[0] / "train_images/eye5.png").write_bytes(b"a web page")
    with pytest.raises(datasets.Unavailable, match=r"eye5\.png is not .*cannot be read as an image"):
        datasets.load("aptos2019", tmp_path)
