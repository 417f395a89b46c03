"""Loading gives checked, read-only arrays from verified files, or says what is wrong."""

import dataclasses
import os

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.records import digest


def test_data_set_on_disk_is_loaded(tmp_path, tiny, place):
    place(tmp_path, tiny)
    dataset = datasets.load("tiny", tmp_path)
    np.testing.assert_array_equal(dataset.x, [[row, row % 3, 7.5] for row in range(10)])
    np.testing.assert_array_equal(dataset.y, 10.0 * np.arange(10))
    assert (dataset.x.dtype, dataset.y.dtype) == (np.float64, np.float64)
    assert [split.test.tolist() for split in dataset.splits] == [[9, 8], [0, 1]]
    assert dataset.splits[0].train.dtype == np.int64


def test_loaded_arrays_are_read_only(tmp_path, tiny, place):
    place(tmp_path, tiny)
    dataset = datasets.load("tiny", tmp_path)
    for array in (dataset.x, dataset.y, dataset.splits[0].train, dataset.splits[0].test):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_checksums_change_with_the_values(tmp_path, tiny, place):
    place(tmp_path, tiny)
    dataset = datasets.load("tiny", tmp_path)
    assert dataset.data_sha256 == datasets.load("tiny", tmp_path).data_sha256
    assert dataset.split_sha256 == tuple(split.sha256 for split in dataset.splits)
    assert len({dataset.data_sha256, *dataset.split_sha256}) == 3
    changed = dataset.y.copy()
    changed[3] += 1e-9
    assert dataclasses.replace(dataset, y=changed).data_sha256 != dataset.data_sha256
    split = dataset.splits[0]
    assert datasets.Split(split.train[::-1], split.test).sha256 != split.sha256
    assert dataclasses.replace(dataset, x=np.asfortranarray(dataset.x)).data_sha256 == dataset.data_sha256


def test_data_folder_comes_from_the_environment_variable(tmp_path, tiny, place, monkeypatch):
    place(tmp_path / "with space", tiny)
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path / "with space"))
    assert datasets.data_dir() == tmp_path / "with space"
    assert len(datasets.load("tiny").y) == 10
    assert datasets.data_dir(tmp_path) == tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_default_data_folder_is_in_the_users_cache(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("BENCH_DATA_DIR", raising=False)
    else:
        monkeypatch.setenv("BENCH_DATA_DIR", value)
    assert "lockstep-bench" in datasets.data_dir().parts


def test_missing_files_are_reported_with_a_remedy(tmp_path, tiny, place):
    with pytest.raises(datasets.Unavailable, match="none of its 8 files found in") as caught:
        datasets.load("tiny", tmp_path)
    assert f"python -m datasets fetch tiny --data-dir {tmp_path}" in caught.value.remedy
    assert "BENCH_DATA_DIR at a folder that holds tiny sets/UCI_Datasets/tiny/data" in caught.value.remedy
    assert datasets.availability("tiny", tmp_path).state == "missing"
    place(tmp_path, dict(list(tiny.items())[:5]))
    with pytest.raises(datasets.Unavailable, match="only 5 of its 8 files"):
        datasets.load("tiny", tmp_path)


def test_partially_downloaded_file_is_never_used(tmp_path, tiny, place):
    path = "UCI_Datasets/tiny/data/data.txt"
    place(tmp_path, tiny | {path: tiny[path][:-12]})
    assert datasets.availability("tiny", tmp_path).state == "damaged"
    size = len(tiny[path])
    with pytest.raises(datasets.Unavailable, match=rf"data\.txt is not .* \(expected {size} bytes, got {size - 12}\)"):
        datasets.load("tiny", tmp_path)


def test_tampered_file_of_equal_size_is_never_used(tmp_path, tiny, place):
    path = "UCI_Datasets/tiny/data/data.txt"
    place(tmp_path, tiny | {path: tiny[path].replace(b"7.5", b"7.6", 1)})
    assert datasets.availability("tiny", tmp_path).state == "ready"
    deep = datasets.availability("tiny", tmp_path, deep=True)
    assert deep.state == "damaged"
    with pytest.raises(datasets.Unavailable, match=r"SHA-256 expected [0-9a-f]{64}, got [0-9a-f]{64}") as caught:
        datasets.load("tiny", tmp_path)
    assert (caught.value.reason, caught.value.remedy) == (deep.reason, deep.remedy)


@pytest.mark.parametrize("made", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_pipe_folder_or_device_counts_as_damaged_file(tmp_path, tiny, place, made):
    path = tmp_path / "tiny sets" / "UCI_Datasets/tiny/data/data.txt"
    place(tmp_path, tiny)
    path.unlink()
    made(path)
    for deep in (False, True):
        state = datasets.availability("tiny", tmp_path, deep=deep)
        assert state.state == "damaged"
        assert "cannot be read: it is a folder, pipe or device, not a file" in state.reason
        assert "python -m datasets fetch tiny" in state.remedy
    with pytest.raises(datasets.Unavailable, match="pipe or device"):
        datasets.load("tiny", tmp_path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("x" * 5000, r"xxx \.\.\. xxx.* cannot be the data folder: it is too long; most systems allow 255 bytes"),
        ("a\0b", "a path has no NUL character"),
        (f"{__file__}/below", "is a file, not a folder"),
        (__file__, "is a file, not a folder"),
    ],
    ids=("long", "NUL", "below a file", "a file"),
)
def test_unusable_data_folder_is_refused(tmp_path, monkeypatch, path, reason):
    with pytest.raises(datasets.InvalidFolder, match=f"{reason}.*; choose another with --data-dir or BENCH_DATA_DIR"):
        datasets.availability("aptos2019", tmp_path / path)
    if "\0" not in path:
        monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path / path))
        with pytest.raises(datasets.InvalidFolder):
            datasets.load("diabetes")


def test_damaged_and_missing_files_are_reported_together(tmp_path, tiny, place):
    paths = list(tiny)
    place(tmp_path, {paths[0]: b"", paths[1]: b""})
    found = datasets.availability("tiny", tmp_path)
    assert found.state == "damaged"
    assert "and 1 more, and only 2 of its 8 files found" in found.reason


def test_loading_and_listing_use_no_network(tmp_path, tiny, web):
    datasets.availability("tiny", tmp_path, deep=True)
    with pytest.raises(datasets.Unavailable):
        datasets.load("tiny", tmp_path)
    assert web.requests == []


@pytest.fixture
def load_odd(install):
    """`load_odd(result, kind)`: load a set of 4 rows whose reader returns `result`, in terms of x, y and splits."""

    def load_odd(result, kind):
        code = f"""
import numpy as np
from lockstep_bench.datasets import Source, Split
def read(contents):
    x, y, splits = np.ones((4, 2)), np.array([0, 1, 2, 1]), [Split([0, 1], [2])]
    return {result}
SOURCE = Source(
    name="odd", title="Odd", n_rows=4, n_features=2, n_splits=1, origin="", licence="", read=read, {kind}
)
"""
        install("odd_set", code, odd="odd_set:SOURCE")
        return datasets.load("odd")

    return load_odd


THREE = "task='multiclass', n_classes=3"


def test_validation_rows_are_kept_separate_from_training(load_odd):
    (split,) = load_odd("(x, y, [Split([0, 3], [2], [1])])", THREE).splits
    assert split.validation.tolist() == [1]
    with pytest.raises(ValueError, match="read-only"):
        split.validation[0] = 0


def test_image_set_keeps_pixels_and_shape(load_odd):
    kind = f"{THREE}, image=(1, 1, 2), n_ood=1"
    dataset = load_odd("((9 * x).astype('uint8'), y, splits, np.zeros((1, 2), 'uint8'))", kind)
    assert (dataset.x.dtype, dataset.ood.dtype, dataset.image) == (np.uint8, np.uint8, (1, 1, 2))
    assert dataset.x[0].tolist() == [9, 9]


def test_image_reader_must_return_pixels(load_odd):
    with pytest.raises(datasets.BrokenDataset, match="pixels should be uint8, got float64"):
        load_odd("(x, y, splits)", "image=(1, 1, 2)")


def test_data_set_without_ood_rows_has_an_empty_array(load_odd):
    dataset = load_odd("(x, y, splits)", THREE)
    assert (dataset.ood.shape, dataset.ood.dtype) == ((0, 2), np.float64)
    assert (dataset.y.tolist(), dataset.y.dtype) == ([0, 1, 2, 1], np.float64)


@pytest.mark.parametrize("kind", [THREE, "task='regression'"])
def test_reader_function_may_add_ood_rows(load_odd, kind):
    dataset = load_odd("(x, y, splits, np.array([[5, 6], [7, 8], [9, 10]]))", f"{kind}, n_ood=3")
    np.testing.assert_array_equal(dataset.ood, [[5, 6], [7, 8], [9, 10]])
    with pytest.raises(ValueError, match="read-only"):
        dataset.ood[0] = 1


def test_existing_ood_rows_enter_the_checksum(load_odd):
    dataset = load_odd("(x, y, splits, x[:1])", f"{THREE}, n_ood=1")
    without = dataclasses.replace(dataset, ood=np.empty((0, 2)))
    assert without.data_sha256 == digest(without.x, without.y)
    changed = dataclasses.replace(dataset, ood=dataset.ood + 1)
    assert len({dataset.data_sha256, without.data_sha256, changed.data_sha256}) == 3


@pytest.mark.parametrize(
    ("result", "kind", "complaint"),
    [
        ("(x, y, splits)", "task='binary', n_classes=2", "class numbers 0 to 1, each of them, got 0, 1, 2"),
        ("(x, y, splits)", "task='multiclass', n_classes=4", "class numbers 0 to 3, each of them, got 0, 1, 2"),
        ("(x, 2 * y - 1, splits)", THREE, "class numbers 0 to 2, each of them, got -1, 1, 3"),
        ("(x, y / 2, splits)", THREE, "class numbers 0 to 2, each of them, got 0, 0.5, 1"),
        ("(x, np.arange(4), splits)", "task='binary', n_classes=2", "each of them, got 0, 1, 2, ..."),
        ("(x, y, splits)", f"{THREE}, n_ood=2", "ood should be (2, 2), got (0, 2)"),
        ("(x, y, splits, x)", THREE, "ood should be (0, 2), got (4, 2)"),
        ("(x, y, splits, x[:, :1])", f"{THREE}, n_ood=4", "ood should be (4, 2), got (4, 1)"),
        ("(x, y, splits, x * np.nan)", f"{THREE}, n_ood=4", "ood should be finite"),
        ("(x[0], y, splits)", THREE, "x should be (4, 2), got (2,)"),
    ],
)
def test_classes_contradicting_the_description_are_refused(load_odd, result, kind, complaint):
    with pytest.raises(datasets.BrokenDataset, match="its reader failed") as caught:
        load_odd(result, kind)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("(x[:2], y, splits)", "x should be (3, 2), got (2, 2)"),
        ("(x, x, splits)", "y should be (3,), got (3, 2)"),
        ("(x, y / 0, splits)", "x and y should be finite"),
        ("(x, y, splits * 2)", "there should be 1 splits, got 2"),
        ("(x, y, [Split([0, 1], [1])])", "split 0 should use every row at most once"),
        ("(x, y, [Split([0, 1], [3])])", "split 0 should use every row at most once"),
        ("(x, y, [Split([0, 1, 2], [])])", "split 0 should use every row at most once"),
        ("(x, y, [Split([0, 1], [2], [1])])", "split 0 should use every row at most once"),
        ("(x, y, [Split([0], [2], [3])])", "split 0 should use every row at most once"),
        ("(x, y, [Split([0, 1], [2], inputs=[0, 2])])", "inputs of split 0 should be columns of x, got [0, 2]"),
        ("(x, y, [Split([0.5, 1.5], [2])])", "the train rows of a split should be integers, got float64"),
        ("(x, y, [Split([0, 1], [False, True])])", "the test rows of a split should be integers, got bool"),
        ("(x + 1j, y, splits)", "features and targets should be real numbers, got complex128"),
        ("(x, y.astype('m8[s]'), splits)", "features and targets should be real numbers, got timedelta64[s]"),
    ],
)
def test_data_contradicting_the_description_are_refused(install, result, complaint):
    code = f"""
import numpy as np
from lockstep_bench.datasets import Source, Split
def read(contents):
    x, y, splits = np.ones((3, 2)), np.ones(3), [Split([0, 1], [2])]
    with np.errstate(all="ignore"):
        return {result}
SOURCE = Source(name="odd", title="Odd", n_rows=3, n_features=2, n_splits=1, origin="", licence="", read=read)
"""
    install("odd_set", code, odd="odd_set:SOURCE")
    assert datasets.availability("odd").state == "ready"
    with pytest.raises(datasets.BrokenDataset, match="its reader failed") as caught:
        datasets.load("odd")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("SystemExit(0)", "its reader failed: SystemExit: 0"),
        ("GeneratorExit", "its reader failed: GeneratorExit: "),
        (r"OSError('u\udcff.csv')", r"its reader failed: OSError: u\udcff.csv"),
        ("type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})", "its reader failed: Odd"),
    ],
)
def test_any_exception_of_a_reader_becomes_broken_dataset(load_odd, error, reason):
    with pytest.raises(datasets.BrokenDataset) as caught:
        load_odd(f"(_ for _ in ()).throw({error})", THREE)
    assert caught.value.reason == reason


def test_ctrl_c_inside_a_reader_stops_the_program(load_odd):
    with pytest.raises(KeyboardInterrupt):
        load_odd("(_ for _ in ()).throw(KeyboardInterrupt)", THREE)


def test_diabetes_needs_no_files_and_has_pinned_checksum(tmp_path):
    assert datasets.availability("diabetes", tmp_path, deep=True) == ("ready", "needs no files", "")
    dataset = datasets.load("diabetes", tmp_path)
    assert dataset.x.shape == (442, 10)
    assert dataset.x[0, 0] == 59  # years: original units
    assert dataset.data_sha256 == "43a28c7d3cf1c4cbb9cb67486e89ac06e370b76abd43210371b235e2ee2bc3b9"
    assert dataset.split_sha256[0] == "60e01871dedcb001032353eab989ed23083df7df92deb6af70f7ee32aedd2171"
    assert list(tmp_path.iterdir()) == []
