"""The sets of Gaussian-process papers: published splits, repaired ones, and the audit as kept."""

import gzip
import hashlib
import warnings

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import learned
from lockstep_bench.datasets.audit import audit
from lockstep_bench.datasets.tabular import audited, uci_gp
from lockstep_bench.leaderboards.data import lair_net

LARGEST = 4_000  # rows of a set that is audited in every run of the tests
AUDITED = list(audited.kept())
LINEAR = lair_net.read_errors().query("method == 'LR'").set_index("dataset")
REPAIRED = [name for name in AUDITED if name.endswith("-grouped")]


def slow_if_large(name):
    return pytest.param(name, marks=[pytest.mark.slow] if audited.kept()[name].rows > LARGEST else [])


@pytest.mark.parametrize("name", [slow_if_large(name) for name in AUDITED])
def test_stored_facts_equal_those_computed_from_the_files(name, load_published):
    facts, kept = audit(load_published(name)), audited.kept()[name]
    assert facts[:4] == kept[:4]
    assert facts[4:] == pytest.approx(kept[4:], rel=1e-5, abs=1e-4)


def test_each_row_is_tested_in_one_published_split(load_published):
    for name in ("gp-yacht", "gp-autos"):
        dataset = load_published(name)
        assert sorted(np.concatenate([split.test for split in dataset.splits])) == list(range(len(dataset.y)))
        assert all(len(split.train) + len(split.test) == len(dataset.y) for split in dataset.splits)


@pytest.mark.parametrize("name", [slow_if_large(f"gp-{name}") for name in LINEAR.index])
def test_linear_regression_has_the_published_errors(name, load_published):
    """A paper that names these splits has the errors of linear regression, which depend on nothing but the splits."""
    dataset = load_published(name)
    errors = [squared_error_of_linear_regression(dataset, split) for split in dataset.splits]
    printed = LINEAR.loc[name.removeprefix("gp-")]
    assert as_printed(np.mean(errors)) == printed["mse"]
    assert as_printed(np.std(errors, ddof=1)) == printed["sd"]


def squared_error_of_linear_regression(dataset, split):
    mean, sd = dataset.x[split.train].mean(axis=0), dataset.x[split.train].std(axis=0)
    x = np.column_stack([np.ones(len(dataset.x)), (dataset.x - mean) / np.where(sd > 0, sd, 1)])
    weights = np.linalg.lstsq(x[split.train], dataset.y[split.train], rcond=None)[0]
    return np.mean((x[split.test] @ weights - dataset.y[split.test]) ** 2)


def as_printed(value):
    """Return a number as rounded in the paper: three decimals, or three digits of very large and small numbers."""
    return float(f"{value:.3f}" if 1e-3 <= value < 1e3 else f"{value:.2e}")


@pytest.mark.parametrize("name", [slow_if_large(name) for name in REPAIRED])
def test_grouped_splits_have_no_copies_and_published_sizes(name, load_published):
    published, repaired = load_published(name.removesuffix("-grouped")), load_published(name)
    assert audited.kept()[name].most_copies == 0
    assert published.data_sha256 == repaired.data_sha256
    sizes = [[len(split.test) for split in dataset.splits] for dataset in (published, repaired)]
    assert sizes[0] == sizes[1]


def test_copied_rows_decide_on_flags_and_grouped_versions():
    sources = {source.name: source for source in uci_gp.sources()}
    assert len(sources) == 36 + len(REPAIRED)
    flagged = {name for name, source in sources.items() if source.flagged}
    copied = {"gp-solar", "gp-wine", "gp-keggdirected", "gp-keggundirected"}
    assert flagged - {f"{name}-grouped" for name in sources} == copied | {"gp-challenger"}
    ranked = {name.removesuffix("-grouped") for name in REPAIRED if not sources[name].flagged}
    assert ranked == copied
    assert {name for name in REPAIRED if sources[name].flagged} == {
        "gp-concrete-grouped",
        "gp-forest-grouped",
        "gp-protein-grouped",
    }


def affine(first, second):
    """Return whether the sorted values of two columns are affine maps of each other, to five digits."""
    scaled = [np.sort((values - values.mean()) / values.std()) for values in (first, second)]
    return np.allclose(*scaled, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "other", "target"),
    [
        ("gp-housing", "boston", lambda y: y),
        ("gp-energy", "energy", lambda y: y),
        ("gp-concrete", "concrete", lambda y: y),
        ("gp-yacht", "yacht", np.log),
    ],
)
def test_data_sets_equal_others_as_their_notes_state(name, other, target, load_published):
    ours, theirs = load_published(name), load_published(other)
    assert affine(ours.y, target(theirs.y))
    assert all(affine(ours.x[:, k], theirs.x[:, k]) for k in range(ours.x.shape[1]))
    assert any(f" {other}" in note for note in datasets.entry(name).notes)


def test_wine_has_grade_and_alcohol_columns_swapped(load_published):
    ours, theirs = load_published("gp-wine"), load_published("wine")
    assert affine(ours.y, theirs.x[:, 10])
    assert affine(ours.x[:, 10], theirs.y)


def test_bike_target_is_the_log_of_summed_inputs(load_published):
    bike = load_published("gp-bike")
    riders = bike.x[:, 15:17] - bike.x[:, 15:17].min(axis=0)  # nobody rode in the quietest hours
    assert np.allclose(np.exp(bike.y - bike.y.min()), riders.sum(axis=1), rtol=2e-3)


def test_tamielectric_targets_are_uniformly_distributed(load_published):
    dataset = load_published("gp-tamielectric")
    assert dataset.y.std() == pytest.approx(1 / np.sqrt(12), rel=0.005)
    assert max(abs(np.corrcoef(column, dataset.y)[0, 1]) for column in dataset.x.T) < 0.005


def test_noise_range_is_computed_from_training_targets(load_published):
    source, dataset = datasets.entry("gp-yacht"), load_published("gp-yacht")
    low, high = datasets.source_of_split(source, dataset, 3).noise_precisions
    variance = dataset.y[dataset.splits[3].train].var()
    assert (low * variance, high * variance) == pytest.approx((1, 100))


# song, whose two tables have no published digest


@pytest.fixture
def song(web, monkeypatch, tmp_path):
    """A server with small files in the layout of song, of which the mask is pinned."""
    monkeypatch.setattr(learned, "path", lambda: tmp_path / "cache" / learned.NAME)
    mask = gzip.compress(b"1,0\n0,1\n0,0\n0,0\n", mtime=0)
    tables = {"song/data.csv.gz": b"1,2\n3,4.5\n", "song/data1.csv.gz": b"5,6\n7,8\n"}
    web.files.update({path: gzip.compress(table, mtime=0) for path, table in tables.items()})
    web.files["song/test_mask.csv.gz"] = mask
    pinned = datasets.File("song/test_mask.csv.gz", len(mask), hashlib.sha256(mask).hexdigest())
    monkeypatch.setattr(uci_gp, "_files", lambda: {"song": (pinned,)})
    return web


def fetched(web, folder):
    return datasets.fetch("gp-song", folder, base_url=web.url)


def test_first_download_stores_checksums_with_a_warning(song, tmp_path):
    with pytest.warns(UserWarning, match=r"nobody has published a checksum of uci_gp/song/data1?\.csv\.gz") as caught:
        assert len(fetched(song, tmp_path / "first")) == 3
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fetched(song, tmp_path / "first") == ()
        assert len(fetched(song, tmp_path / "second")) == 3
    assert datasets.availability("gp-song", tmp_path / "second", deep=True).state == "ready"


@pytest.mark.filterwarnings("ignore:nobody has published")
def test_changed_files_are_refused_after_the_first_download(song, tmp_path):
    fetched(song, tmp_path / "first")
    song.files["song/data1.csv.gz"] = gzip.compress(b"5,6\n7,9\n", mtime=0)
    with pytest.raises(datasets.Unavailable, match=r"data1\.csv\.gz is refused"):
        fetched(song, tmp_path / "second")
    (tmp_path / "first" / "uci_gp" / "song" / "data.csv.gz").write_bytes(b"damaged")
    assert datasets.availability("gp-song", tmp_path / "first", deep=True).state == "damaged"


def test_two_tables_of_song_are_concatenated(song):
    x, y, splits = uci_gp.read("song", False, song.files)
    assert (x.tolist(), y.tolist()) == ([[1], [3], [5], [7]], [2, 4.5, 6, 8])
    assert [split.test.tolist() for split in splits] == [[0], [1]]


def test_error_for_missing_song_states_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(learned, "path", lambda: tmp_path / learned.NAME)
    with pytest.raises(datasets.Unavailable, match=r"none of its 3 files .*fetch gp-song"):
        datasets.load("gp-song", tmp_path)
