"""A source that contradicts itself cannot be made; a loaded set holds pixels as they are, and numbers as float64."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.records import digest


def source(**kind):
    usual = {"title": "", "n_rows": 4, "n_features": 2, "n_splits": 1, "read": lambda _: None}
    return datasets.Source(**{"name": "odd", "origin": "", "licence": ""} | usual | kind)


def test_data_set_is_a_regression_by_default():
    plain = source()
    assert (plain.task, plain.n_classes, plain.n_ood) == ("regression", None, 0)


@pytest.mark.parametrize(("task", "n_classes"), [("regression", None), ("binary", 2), ("multiclass", 3)])
def test_every_task_has_its_number_of_classes(task, n_classes):
    assert source(task=task, n_classes=n_classes, n_ood=7).n_classes == n_classes


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ({"task": "classification"}, "task should be one of regression, binary, multiclass, got 'classification'"),
        ({"n_classes": 2}, "n_classes of a regression task should be None, got 2"),
        ({"task": "binary"}, "n_classes of a binary task should be 2, got None"),
        ({"task": "binary", "n_classes": 3}, "n_classes of a binary task should be 2, got 3"),
        ({"task": "multiclass"}, "n_classes of a multiclass task should be 3 or more, got None"),
        ({"task": "multiclass", "n_classes": 2}, "n_classes of a multiclass task should be 3 or more, got 2"),
        ({"task": "multiclass", "n_classes": 3.0}, r"should be 3 or more, got 3\.0"),
        ({"n_ood": -1}, "n_ood should be 0 or more, got -1"),
        (
            {"split_scheme": "random"},
            "split_scheme should be one of 'resampled', 'drawn', 'one test part', 'gaps', 'tails', got 'random'",
        ),
        ({"n_ood": None}, "n_ood should be 0 or more, got None"),
        ({"n_rows": "60"}, "n_rows should be 1 or more, got '60'"),
        ({"n_features": 2.0}, r"n_features should be 1 or more, got 2\.0"),
        ({"n_splits": -1}, "n_splits should be 0 or more, got -1"),
        ({"n_splits": 0, "suites": ("uci",)}, "n_splits should be 1 or more for a set that suites run, got 0"),
        ({"read": None}, "read should be a function, got None"),
        ({"listing": ()}, r"listing should be a function or None, got \(\)"),
        ({"title": None}, "title should be a string, got None"),
        ({"suites": "uci"}, "suites should be a tuple of strings, got 'uci'"),
        ({"suites": None}, "suites should be a tuple of strings, got None"),
        ({"notes": (1,)}, r"notes should be a tuple of strings, got \(1,\)"),
        ({"flagged": {"a": 1}}, "flagged should be a mapping of split numbers to reasons, got {'a': 1}"),
        *(
            (
                {"noise_precisions": bad},
                "noise_precisions should be two numbers, 0 < lowest <= highest < infinity, or None, got .*",
            )
            for bad in ((), "ab", (1, 2, 3), (50.0, 0.5), (-1, 1), (0, 1), (float("nan"), 1), (1, float("inf")))
        ),
    ],
)
def test_contradictory_data_set_description_is_refused(kind, complaint):
    with pytest.raises(ValueError, match=f"^dataset 'odd': .*{complaint}$"):
        source(**kind)


IMAGE = {"image": (1, 2, 2), "n_features": 4}


def test_image_set_description_lists_its_ood_sets():
    made = source(**IMAGE, ood_groups={"near": ("a", "b"), "far": ("c",)}, validation_ood=("d",))
    assert made.ood_groups["far"] == ("c",)
    assert made in {made}  # the mapping is not in the way of its hash


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ({"image": (2, 2)}, r"image should be 1 or 3 channels, a height and a width, got \(2, 2\)"),
        ({"image": (2, 1, 1)}, r"image should be 1 or 3 channels, .*, got \(2, 1, 1\)"),
        ({"image": (1, 2, 0)}, r"image should be 1 or 3 channels, .*, got \(1, 2, 0\)"),
        ({"image": (3, 2, 2)}, r"n_features should be 12 for images of shape \(3, 2, 2\), got 2"),
        ({**IMAGE, "ood_groups": {"middling": ("a",)}}, r"should be among \('near', 'far'\), got 'middling'"),
        ({**IMAGE, "ood_groups": {"near": ("a",), "far": ("a",)}}, "in two groups, or .*, got 'a'"),
        ({**IMAGE, "ood_groups": {"near": ("a",)}, "validation_ood": ("a",)}, "and in validation_ood, got 'a'"),
        ({**IMAGE, "validation_ood": ("odd",)}, "itself, .*, got 'odd'"),
        ({"ood_groups": {"near": ("a",)}}, "only a set of images can have ood_groups and validation_ood"),
        ({"files": (datasets.File("f", 1),)}, "files should have a sha256 or an md5, 'f' has neither"),
    ],
)
def test_contradictory_image_and_file_descriptions_are_refused(kind, complaint):
    with pytest.raises(ValueError, match=f"^dataset 'odd': .*{complaint}$"):
        source(**kind)


def test_split_digest_includes_validation_rows():
    train, test = np.array([3, 1]), np.array([0])
    without = datasets.Split(train, test)
    assert (without.validation.shape, without.validation.dtype) == ((0,), np.int64)
    assert without.sha256 == digest(train, test)
    assert datasets.Split(train, test, [2]).sha256 == digest(train, test, np.array([2]))


def test_uint8_pixels_are_neither_copied_nor_converted():
    pixels = np.arange(8, dtype=np.uint8).reshape(2, 4)
    dataset = datasets.Dataset("odd", pixels, [0, 1], (), image=(1, 2, 2))
    assert np.shares_memory(dataset.x, pixels)
    assert (dataset.x.dtype, dataset.ood.dtype, dataset.ood.shape) == (np.uint8, np.uint8, (0, 4))
    with pytest.raises(ValueError, match="read-only"):
        dataset.x[0] = 1
    assert dataset.data_sha256 == digest(pixels, np.array([0.0, 1.0]))


def test_small_integers_that_are_no_pixels_become_float64():
    assert datasets.Dataset("odd", np.ones((2, 4), np.uint8), [0, 1], ()).x.dtype == np.float64


def test_pixels_of_another_type_are_refused():
    with pytest.raises(ValueError, match="pixels should be uint8, got float64"):
        datasets.Dataset("odd", np.ones((2, 4)), [0, 1], (), image=(1, 2, 2))
