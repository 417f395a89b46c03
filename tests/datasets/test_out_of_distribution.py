"""One set's images before another's model."""

import dataclasses

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import out_of_distribution

STL10 = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@pytest.mark.parametrize("name", ["cifar10", "cifar10-jpeg"])
def test_stl10_without_monkeys_has_cifar10s_labels(name):
    y = np.array([7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0, 7.0, 2.0])
    rows, labels = datasets.matched_labels(y, "stl10", name)
    assert rows.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
    titles = [STL10[int(label)].replace("car", "automobile") for label in y[rows]]
    assert [CIFAR10[int(label)] for label in labels] == titles
    assert labels.dtype == y.dtype


def test_cifar10_without_frogs_has_stl10s_labels():
    rows, labels = datasets.matched_labels(np.arange(10), "cifar10", "stl10")
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert [STL10[label] for label in labels] == [CIFAR10[row].replace("automobile", "car") for row in rows]


def test_sets_without_class_matching_are_refused():
    with pytest.raises(ValueError, match="classes of 'svhn' are not known; allowed: cifar10, cifar10-jpeg, stl10"):
        datasets.matched_labels(np.arange(10), "svhn", "cifar10")


def test_partner_images_take_the_sets_shape_and_labels(monkeypatch):
    x, y = np.repeat(np.arange(6, dtype=np.uint8)[:, None], 3 * 96 * 96, axis=1), np.array([7.0, 1, 2, 0, 7, 9])
    splits = (datasets.Split([0, 1], [2, 3, 4, 5]),)
    monkeypatch.setattr(
        out_of_distribution, "load", lambda name, _: datasets.Dataset(name, x, y, splits, image=(3, 96, 96))
    )
    assert datasets.partner("cifar10-jpeg") == "stl10"
    pixels, labels = datasets.partner_images("cifar10-jpeg")
    assert [CIFAR10[int(label)] for label in labels] == ["automobile", "airplane", "truck"]
    np.testing.assert_array_equal(pixels, np.repeat([[2], [3], [5]], 3 * 32 * 32, axis=1))


def test_sets_without_partner_are_refused_with_the_list():
    assert datasets.partner("mnist") is None
    with pytest.raises(ValueError, match="'mnist' has no partner; sets that have one: cifar10, cifar10-jpeg, stl10"):
        datasets.partner_images("mnist")


@pytest.fixture
def loaded(monkeypatch):
    """`loaded(splits)`: two images of 2 x 2 in place of Fashion-MNIST."""

    def loaded(splits):
        source = dataclasses.replace(datasets.entry("fashion-mnist"), image=(1, 2, 2), n_features=4)
        x = np.array([[0, 0, 0, 0], [9, 9, 9, 9]], np.uint8)
        monkeypatch.setattr(out_of_distribution, "entry", lambda name: source)
        monkeypatch.setattr(
            out_of_distribution, "load", lambda *_: datasets.Dataset("odd", x, [0, 1], splits, image=(1, 2, 2))
        )

    return loaded


def test_ood_images_are_test_images_in_requested_shape(loaded):
    loaded((datasets.Split([0], [1]),))
    np.testing.assert_array_equal(datasets.ood_images("fashion-mnist", (3, 3, 3)), np.full((1, 27), 9))


def test_ood_images_without_splits_are_all_images(loaded):
    loaded(())
    np.testing.assert_array_equal(datasets.ood_images("fashion-mnist", (1, 2, 2)), [[0] * 4, [9] * 4])


def test_non_image_set_cannot_give_ood_images():
    with pytest.raises(ValueError, match="'yacht' is not a set of images"):
        datasets.ood_images("yacht", (1, 28, 28))
