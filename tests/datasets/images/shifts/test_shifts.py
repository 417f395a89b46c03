"""Properties of every shift."""

import subprocess
import sys

import numpy as np
import pytest

from lockstep_bench.datasets.images.shifts import SHIFTS, shift
from lockstep_bench.shared.schema import SHIFT_FAMILIES

# Of the distance to the original, not of the harm: there the published levels trade warps and swaps for blur.
NOT_MONOTONE = {"glass_blur", "elastic_transform", "rotation", "saturate"}


@pytest.fixture(params=SHIFTS.values(), ids=SHIFTS)
def one(request):
    return request.param


@pytest.mark.parametrize("shape", [(6, 1, 28, 28), (6, 3, 32, 32), (2, 2, 20, 24), (0, 3, 32, 32)])
def test_shift_keeps_type_and_shape_but_changes_pixels(one, pictures, shape):
    images = pictures(6, *shape[1:])[: shape[0]]
    for severity in one.severities[:: len(one.severities) - 1]:
        changed = one.apply(images, severity, 0)
        assert (changed.dtype, changed.shape) == (np.uint8, shape)
        assert (changed != images).any() or not len(images) or (one.name == "saturate" and shape[1] != 3)


def test_shift_of_an_image_is_independent_of_its_batch(one, pictures, monkeypatch):
    images = pictures(7, 3, 32, 32)
    whole = one.apply(images, one.severities[2], 5)
    order = np.array([6, 0, 3])
    np.testing.assert_array_equal(one.apply(images[order], one.severities[2], 5, order), whole[order])
    monkeypatch.setattr(shift, "CHUNK", 2)
    np.testing.assert_array_equal(one.apply(images, one.severities[2], 5), whole)


def test_shifts_do_not_modify_their_input(one, pictures):
    images = pictures(2, 3, 32, 32)
    before = images.copy()
    one.apply(images, one.severities[-1], 0)
    np.testing.assert_array_equal(images, before)


def test_higher_severity_changes_images_more(one, pictures):
    y, x = np.mgrid[-1:1:28j, -1:1:28j]
    channels = 3 if one.name == "saturate" else 1
    images = (pictures(20, channels, 28, 28) * np.exp(-4 * (x**2 + y**2))).astype(
        np.uint8
    )  # dark outside, as digits are
    distances = [np.mean((one.apply(images, each, 0).astype(float) - images) ** 2) for each in one.severities]
    assert min(distances) > 0
    if one.name not in NOT_MONOTONE:
        assert distances == sorted(distances)


@pytest.mark.parametrize("name", ["gaussian_noise", "shot_noise", "impulse_noise", "glass_blur", "snow", "fog"])
def test_shift_noise_differs_by_image_and_seed(name, pictures):
    same = np.repeat(pictures(1, 1, 28, 28), 2, axis=0)
    first, second = SHIFTS[name].apply(same, 5, 0)
    assert (first != second).any()
    assert (SHIFTS[name].apply(same, 5, 1)[0] != first).any()


def test_there_are_fourteen_corruptions_at_five_severities():
    corruptions = [each for each in SHIFTS.values() if each.family == "corruption"]
    assert len(corruptions) == 14
    assert {each.severities for each in corruptions} == {(1, 2, 3, 4, 5)}


def test_there_are_three_extra_corruptions():
    extra = {each.name for each in SHIFTS.values() if each.family == "extra corruption"}
    assert extra == {"speckle_noise", "gaussian_blur", "saturate"}


def test_shift_families_equal_those_of_the_schema():
    assert {each.family for each in SHIFTS.values()} == SHIFT_FAMILIES.keys()


@pytest.mark.parametrize(
    ("images", "severity", "rows", "message"),
    [
        (np.zeros((1, 1, 8, 8)), 1, None, r"uint8 of shape \(n, C, H, W\), got float64 of shape \(1, 1, 8, 8\)"),
        (np.zeros((8, 8), np.uint8), 1, None, r"got uint8 of shape \(8, 8\)"),
        (np.zeros((1, 1, 8, 8), np.uint8), 6, None, "one of 1, 2, 3, 4, 5, got 6"),
        (np.zeros((1, 1, 8, 8), np.uint8), 1, np.arange(2), r"1 images need as many rows, got shape \(2,\)"),
    ],
)
def test_invalid_shift_inputs_are_refused(images, severity, rows, message):
    with pytest.raises(ValueError, match=message):
        SHIFTS["fog"].apply(images, severity, 0, rows)


def test_shift_registry_imports_no_torch():
    code = "import sys, lockstep_bench.datasets.images.shifts; print('torch' in sys.modules, 'PIL' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )
