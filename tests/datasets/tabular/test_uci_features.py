"""Splits along features: the published gaps and our tails. Set BENCH_DATA_DIR to a folder that holds the files."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import Split, registry
from lockstep_bench.datasets.tabular.uci_features import MOST_SHARED, share_among_test

# Features of each set, and splits without a real gap and without a real tail.
SETS = {
    "boston": (13, 5, 5),
    "concrete": (8, 3, 3),
    "energy": (8, 4, 3),
    "kin8nm": (8, 0, 0),
    "naval": (16, 2, 2),
    "power": (4, 0, 0),
    "protein": (9, 0, 0),
    "wine": (11, 0, 0),
    "yacht": (6, 1, 0),
}
# SHA-256 of the splits' digests, one after the other.
TAILS = {
    "boston": "4893562e9488d64284ee854b2126b302bd54cdc721b972cecbbd3528a89d806e",
    "concrete": "3593365ae08c55b8723a7989aa54b7a6f865da30c05ff20fbfffc80ffc10d1b6",
    "energy": "62bed0de5090215640155297d00840a7eeea533a0cdfe95e04e8d4060ee5b915",
    "kin8nm": "fbbdd4f81c7b38e0bb67a9e12265ca1206113519a1c9398c8a188ec09250dd80",
    "naval": "b5829806678d88a1b70cc7044b4e8e2268fc81449dd6ed347fac5e70fd0f3c64",
    "power": "6e5a9320ad0135473de0e40de89f1b6fbd2a9ac2926d19e1d4c2952f9fe4e5eb",
    "protein": "9e6b2dffe2b2439b0c1ccfc31d82806aed5c0b0797956c1ed34d4ff18446f4d6",
    "wine": "a5bd476f62bd012cb722831142ae6be794615dc6ba0933da78afae2563378981",
    "yacht": "83de101f90ebc6d4b2089abd53879e665583ecc94a0abbe2b5e2312c396acece",
}


def shares(dataset: datasets.Dataset, scheme: str) -> list[float]:
    return [share_among_test(dataset.x[:, k], split, scheme) for k, split in enumerate(dataset.splits)]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scheme", ["gaps", "tails"])
def test_gap_and_tail_sets_name_their_base_set(load_published, name, scheme):
    (cut,) = (
        source
        for source in map(datasets.entry, datasets.names())
        if (source.rows_of, source.split_scheme) == (name, scheme)
    )
    plain, other = load_published(name), load_published(cut.name)
    assert datasets.entry(name).rows_of == ""
    np.testing.assert_array_equal(other.x, plain.x)
    np.testing.assert_array_equal(other.y, plain.y)


def test_of_83_published_gaps_50_share_values(load_published):
    by_set = {name: shares(load_published(f"{name}-gap"), "gaps") for name in SETS}
    every = np.concatenate(list(by_set.values()))
    assert (len(every), (every > 0).sum(), (every > MOST_SHARED).sum()) == (83, 50, 15)
    counts = {name: (len(of_set), sum(share > 0.25 for share in of_set)) for name, of_set in by_set.items()}
    assert counts == {name: sizes[:2] for name, sizes in SETS.items()}


@pytest.mark.parametrize(("suffix", "place"), [("gap", 1), ("tail", 2)])
@pytest.mark.parametrize("name", SETS)
def test_flagged_splits_share_over_25_percent_of_values(name, suffix, place, load_published):
    dataset, source = load_published(f"{name}-{suffix}"), datasets.entry(f"{name}-{suffix}")
    shared = shares(dataset, source.split_scheme)
    assert set(source.flagged) == {k for k, share in enumerate(shared) if share > 0.25}
    assert (source.n_splits, len(source.flagged)) == (SETS[name][0], SETS[name][place])


@pytest.mark.parametrize("suffix", ["gap", "tail"])
@pytest.mark.parametrize("name", SETS)
def test_splits_partition_the_rows_of_the_base_set(name, suffix, load_published):
    base, dataset = load_published(name), load_published(f"{name}-{suffix}")
    assert dataset.data_sha256 == base.data_sha256
    for feature, split in enumerate(dataset.splits):
        assert split.feature == feature
        assert len(split.train) == len(dataset.splits[0].train)
        assert abs(len(split.train) - 2 * len(base.y) / 3) < 2
        assert np.array_equal(np.sort([*split.train, *split.test]), np.arange(len(base.y)))


@pytest.mark.parametrize("name", ["power", "yacht"])
def test_gap_split_tests_on_the_middle_third(name, load_published):
    dataset = load_published(f"{name}-gap")
    for feature, split in enumerate(dataset.splits):
        values = np.sort(dataset.x[:, feature])
        first = len(split.train) // 2
        assert np.array_equal(np.sort(dataset.x[split.test, feature]), values[first : first + len(split.test)])


@pytest.mark.parametrize("name", SETS)
def test_tail_splits_keep_their_checksums(name, load_published):
    digests = "".join(load_published(f"{name}-tail").split_sha256)
    assert hashlib.sha256(digests.encode()).hexdigest() == TAILS[name]


def test_shared_fraction_counts_training_values_inside_test_range():
    values = np.array([0.0, 1, 1, 2, 3, 3, 3, 4, 5])
    gap = Split(train=[0, 1, 2, 6, 7, 8], test=[3, 4, 5], feature=0)
    assert share_among_test(values, gap, "gaps") == pytest.approx(1 / 6)  # the third 3
    tails = Split(train=[2, 3, 4, 5, 6], test=[0, 1, 7, 8], feature=0)
    assert share_among_test(values, tails, "tails") == pytest.approx(1 / 5)  # the second 1


def test_set_with_outdated_flagged_splits_is_refused(require_data, monkeypatch):
    require_data("yacht-gap")
    source = datasets.entry("yacht-gap")
    read = type(source.read)(source.read.func, *source.read.args[:2], frozenset({0}))
    changed = registry._built_in() | {"yacht-gap": replace(source, read=read)}
    monkeypatch.setattr(registry, "_built_in", lambda: changed)
    with pytest.raises(datasets.BrokenDataset, match=r"splits \[0\] should share .* got \[4\]"):
        datasets.load("yacht-gap")


def test_gap_files_come_from_two_pinned_commits():
    files = datasets.entry("yacht-gap").files
    assert [file.path.partition("/")[0] for file in files] == ["uci_regression"] * 3 + ["uci_gap"] * 12
    commits = {file.address.split("/")[2] for file in files}
    assert {len(commit) for commit in commits} == {40}
    assert len(commits) == 2
    assert len({file.sha256 for file in files}) == 15
    (path,) = (file.address for file in files if file.path == "uci_gap/yacht/index_test_0.txt")
    assert path.startswith("cambridge-mlg/DUN/4fc85182f911d48c0de8b71f901866f42f7955e4/experiments/data/")
    assert path.endswith("UCI_for_sharing/gap/yacht/data/index_test_0.txt")


def test_gap_files_are_downloaded_from_their_urls(tmp_path, web, require_data):
    require_data("yacht-gap")
    files = datasets.entry("yacht-gap").files
    web.files.update({file.address: (datasets.data_dir() / file.path).read_bytes() for file in files})
    arrived = datasets.fetch("yacht-gap", tmp_path, base_url=web.url)
    assert {path.relative_to(tmp_path).as_posix() for path in arrived} == {file.path for file in files}
    assert datasets.load("yacht-gap", tmp_path).split_sha256 == datasets.load("yacht-gap").split_sha256
