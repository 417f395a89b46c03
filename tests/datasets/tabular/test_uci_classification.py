"""The .mat and .h5 readers on files made here, where the real ones come from, and the facts their notes state.

Set BENCH_DATA_DIR to a folder that holds the real files; without it the tests that need them are skipped.
"""

import io

import h5py
import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from lockstep_bench import datasets
from lockstep_bench.datasets import Standardisation
from lockstep_bench.datasets.records import digest
from lockstep_bench.datasets.tabular.uci_classification import read_mat, read_usps3v5

NAMES = ("australian", "breast-cancer", "a1a", "usps3v5")
SHAPES = {"australian": (690, 14), "breast-cancer": (683, 10), "a1a": (1605, 123), "usps3v5": (1540, 256)}
COUNTS = {"australian": [383, 307], "breast-cancer": [444, 239], "a1a": [1210, 395], "usps3v5": [824, 716]}
PARTS = {"australian": (345, 345), "breast-cancer": (341, 342), "a1a": (803, 802), "usps3v5": (770, 770)}
# Digests of the parsed values, as every result row carries them.
DATA_SHA256 = {
    "australian": "fb4fd47bda080b3ad2fcddd790d799811b5e6bd39f05c9a855694b3a8161d947",
    "breast-cancer": "c550fb9e20faf35534c43b8db94083b2f662489dd59399be2e0a564d23a74da2",
    "a1a": "bd140e5a34af121ca0e3ed92000d13455e2a4a54ff0191e581113af93d157af4",
    "usps3v5": "878e44117146447b3f22ca8247f3326e199910f0e74664b25ae663264ae37c8c",
}
# Digests of all 20 splits, train before test.
SPLITS_SHA256 = {
    "australian": "d677efee55df369ad35f517ecf28aa63ab4c64e88ba26e4859bc592022e590b6",
    "breast-cancer": "03366ae5aed6bbb61e4ec683cff30ce53af06a2f59423d19a7d31d1f146bbf8a",
    "a1a": "864691f91016717749ae2213b0aff5db8678eff9f39762c7e92bcc2dbf822b15",
    "usps3v5": "a46c5e06a89d06594c1328ed5c2cddc9de17ec396d52032ce48b359e80c18c73",
}


def mat(**matrices) -> bytes:
    file = io.BytesIO()
    savemat(file, matrices)
    return file.getvalue()


def test_mat_file_is_padded_and_labels_become_classes():
    stored = np.array([[1.0, 0.0], [0.0, -0.5], [0.25, 0.0], [0.0, 0.0]])
    labels = np.array([[2], [4], [4], [2]], dtype=np.uint8)
    x, y, splits = read_mat("some.mat", 3, 4, {"some.mat": mat(X=csc_matrix(stored), y=labels)})
    np.testing.assert_array_equal(x, np.column_stack([stored, np.zeros(4)]))
    assert y.tolist() == [0, 1, 1, 0]
    assert [(len(split.train), len(split.test)) for split in splits] == [(2, 2)] * 20


def test_mat_file_with_too_many_columns_is_refused():
    content = mat(X=csc_matrix(np.ones((4, 3))), y=np.ones((4, 1)))
    with pytest.raises(ValueError, match="negative"):
        read_mat("some.mat", 2, 1, {"some.mat": content})


def test_usps3v5_combines_threes_and_fives_of_both_parts():
    file = io.BytesIO()
    digits = {"train": [3, 1, 5, 5], "test": [5, 3, 8]}
    with h5py.File(file, "w") as parts:
        for offset, (part, target) in enumerate(digits.items()):
            data = np.arange(256 * len(target)).reshape(-1, 256) + 10_000 * offset
            parts[f"{part}/data"], parts[f"{part}/target"] = data.astype(np.float32), np.array(target, np.int32)
    x, y, splits = read_usps3v5({"usps.h5": file.getvalue()})
    assert x.shape == (5, 256)
    assert x[:, 0].tolist() == [0, 512, 768, 10_000, 10_256]
    assert y.tolist() == [0, 1, 1, 1, 0]
    assert (len(splits), len(splits[0].test)) == (20, 2)


@pytest.mark.parametrize("name", NAMES)
def test_file_url_is_pinned_to_a_commit(name):
    source = datasets.entry(name)
    (file,) = source.files
    assert (source.folder, file.path.count("/")) == ("uci_classification", 0)
    repository, path = {
        "australian": ("aaronpmishkin/SLANG", "code/matlab/datasets/australian_scale.mat"),
        "breast-cancer": ("aaronpmishkin/SLANG", "code/matlab/datasets/breast_cancer_scale.mat"),
        "a1a": ("aaronpmishkin/SLANG", "code/matlab/datasets/a1a.mat"),
        "usps3v5": ("niuers/Learning-From-Data-A-Short-Course", "data/usps.h5"),
    }[name]
    prefix = f"https://raw.githubusercontent.com/{repository}/"
    commit, found = (source.base_url + file.path).removeprefix(prefix).split("/", 1)
    assert found == path
    assert len(bytes.fromhex(commit)) == 20
    assert len(bytes.fromhex(file.sha256)) == 32


@pytest.mark.parametrize("name", NAMES)
def test_missing_file_error_names_the_remedy(tmp_path, name):
    with pytest.raises(datasets.Unavailable, match="none of its 1 files found in") as caught:
        datasets.load(name, tmp_path)
    assert "BENCH_DATA_DIR at a folder that holds uci_classification" in caught.value.remedy


def test_file_with_a_wrong_checksum_is_refused(tmp_path, web):
    web.files["a1a.mat"] = mat(X=csc_matrix(np.ones((4, 3))), y=np.ones((4, 1)))
    with pytest.raises(datasets.Unavailable, match=r"a1a\.mat is refused: .* does not match the known hash"):
        datasets.fetch("a1a", tmp_path, base_url=web.url)
    assert not (tmp_path / "uci_classification" / "a1a.mat").exists()


@pytest.mark.parametrize("name", NAMES)
def test_real_file_can_be_downloaded_and_verified(tmp_path, web, name, load_published):
    load_published(name)
    (file,) = datasets.entry(name).files
    content = (datasets.data_dir() / "uci_classification" / file.path).read_bytes()
    web.files[f"somewhere/{file.path}"] = content
    (arrived,) = datasets.fetch(name, tmp_path, base_url=f"{web.url}somewhere")
    assert arrived == tmp_path / "uci_classification" / file.path
    assert datasets.availability(name, tmp_path, deep=True).state == "ready"
    assert datasets.load(name, tmp_path).data_sha256 == DATA_SHA256[name]


@pytest.mark.parametrize("name", NAMES)
def test_data_sets_have_documented_shapes_classes_and_half_splits(name, load_published):
    dataset = load_published(name)
    assert dataset.x.shape == SHAPES[name]
    assert np.bincount(dataset.y.astype(int)).tolist() == COUNTS[name]
    assert dataset.ood.shape == (0, SHAPES[name][1])
    assert len(dataset.splits) == len(set(dataset.split_sha256)) == 20
    for split in dataset.splits:
        assert (len(split.train), len(split.test)) == PARTS[name]
        assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(len(dataset.y)))
        assert set(dataset.y[split.train]) == set(dataset.y[split.test]) == {0, 1}
    assert dataset.data_sha256 == DATA_SHA256[name]
    assert digest(*(rows for split in dataset.splits for rows in (split.train, split.test))) == SPLITS_SHA256[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_split_is_standardised_to_finite_values(name, load_published):
    dataset = load_published(name)
    for split in dataset.splits:
        mean, scale = Standardisation.of(dataset.x, split.train)
        assert np.isfinite((dataset.x - mean) / scale).all()


def repeats(dataset, *columns):
    """Number of rows that repeat another in these columns, and mean percentage of test rows with a twin in train."""
    _, kind = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    kind = kind.ravel()
    share = np.mean([np.isin(kind[split.test], kind[split.train]).mean() for split in dataset.splits])
    return len(kind) - len(np.unique(kind)), 100 * share


def notes(name):
    return " ".join(datasets.entry(name).notes)


def test_australian_and_usps_have_their_documented_properties(load_published):
    for name in ("australian", "usps3v5"):
        dataset = load_published(name)
        assert repeats(dataset, dataset.x) == (0, 0)
        assert (np.ptp(dataset.x, axis=0) > 0).all()
    assert {load_published("usps3v5").x.min(), load_published("usps3v5").x.max()} == {0, 1}
    assert "824 images of a 3 (class 0) and 716 of a 5" in notes("usps3v5")


def test_breast_cancer_has_its_documented_repeated_rows(load_published):
    dataset = load_published("breast-cancer")
    assert len(np.unique(dataset.x[:, 0])) == 629
    assert max(len(np.unique(column)) for column in dataset.x.T[1:]) == 10
    assert repeats(dataset, dataset.x, dataset.y) == (8, pytest.approx(1.1, abs=0.05))
    assert repeats(dataset, dataset.x[:, 1:], dataset.y) == (234, pytest.approx(36, abs=0.5))
    assert "629 values in 683 rows" in notes("breast-cancer")
    assert "8 rows repeat another row: 1.1 %" in notes("breast-cancer")
    assert "234 rows and 36 %" in notes("breast-cancer")


def test_a1a_has_its_documented_constant_columns(load_published):
    dataset = load_published("a1a")
    assert set(np.unique(dataset.x)) == {0, 1}
    assert dataset.y.mean() == pytest.approx(0.25, abs=0.005)
    constant = np.flatnonzero(np.ptp(dataset.x, axis=0) == 0)
    assert len(constant) == 10
    assert constant[-4:].tolist() == [119, 120, 121, 122]
    in_train = [(np.ptp(dataset.x[split.train], axis=0) == 0).sum() for split in dataset.splits]
    assert (min(in_train), max(in_train)) == (14, 19)
    assert repeats(dataset, dataset.x, dataset.y) == (33, pytest.approx(2.1, abs=0.05))
    rows = [row.tobytes() for row in dataset.x]
    labelled = set(zip(rows, dataset.y, strict=True))
    assert sum((row, 1 - label) in labelled for row, label in zip(rows, dataset.y, strict=True)) == 33
    assert "33 rows have a twin of the other class" in notes("a1a")
