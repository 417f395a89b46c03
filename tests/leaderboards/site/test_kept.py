"""A build that goes on from the last build of the same folder."""

import pytest

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.site import kept

ENERGY, WINE = "dataset-energy.html", "dataset-wine.html"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_ROWS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def pages(site):
    return {path.name: path.read_bytes() for path in site.iterdir()}


def inodes(site):
    return {path.name: path.stat().st_ino for path in site.iterdir()}


def changed(name, run):
    """Return the rows of a run after one kind of change."""
    new_split = [row | {"split": 8} for row in run if row["split"] == 7]
    return {
        "rows added": [*run, *new_split],
        "a method added": [*run, {"method": "laplace", "split": 0, "nmll": 2.4, "rmse": 3.4}],
        "rows replaced": [row | {"nmll": 2.0} if row["split"] == 1 else row for row in run],
        "a method removed": [row for row in run if row.get("method") != "map"],
        "nothing": run,
    }[name]


@pytest.mark.parametrize("change", ["rows added", "a method added", "rows replaced", "a method removed", "nothing"])
def test_second_build_equals_a_full_build(shared_folder, small_run, tmp_path, cache, change):
    site = leaderboards.build(shared_folder(*small_run), tmp_path / "site").parent
    results = shared_folder(*changed(change, small_run))
    leaderboards.build(results, site)
    assert pages(site) == pages(leaderboards.build(results, tmp_path / "full", again=False).parent)


@pytest.fixture
def twice(shared_folder, small_run, tmp_path, cache):
    """Build the same site twice, with something done in between; return its folder, and inodes after each build."""
    results = shared_folder(*small_run)

    def build(between):
        site = leaderboards.build(results, tmp_path / "site").parent
        first, before = pages(site), inodes(site)
        between(site)
        leaderboards.build(results, site)
        assert pages(site) == first
        return before, inodes(site)

    return build


def test_pages_of_unchanged_data_sets_stay(shared_folder, small_run, tmp_path, cache):
    results = shared_folder(*small_run)
    site = leaderboards.build(results, tmp_path / "site").parent
    before = inodes(site)
    more = shared_folder({"split": 8, "method": "map", "nmll": 3.0, "rmse": 4.0})
    leaderboards.build([results], site)
    assert inodes(site)[ENERGY] == before[ENERGY]
    leaderboards.build([results, more], site)
    assert inodes(site)[ENERGY] != before[ENERGY]


def test_page_of_another_data_set_stays_when_rows_are_added(shared_folder, small_run, tmp_path, cache, folder):
    results = folder(*small_run)
    site = leaderboards.build(results, tmp_path / "site").parent
    before = inodes(site)
    leaderboards.build(folder(*changed("rows added", [row for row in small_run if "dataset" not in row])), site)
    after = inodes(site)
    assert after[WINE] == before[WINE]
    assert after[ENERGY] != before[ENERGY]


def test_other_code_makes_every_page_anew(twice, monkeypatch):
    before, after = twice(lambda _: monkeypatch.setattr(kept, "code_digest", lambda: "another program"))
    assert not {*before.items()} & {*after.items()}


def test_damaged_and_missing_pages_are_made_anew(twice):
    def damage(site):
        (site / WINE).unlink()
        (site / ENERGY).write_bytes((site / ENERGY).read_bytes()[:5000])

    twice(damage)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_damaged_cache_is_ignored(twice, cache, suffix):
    def damage(_):
        (path,) = cache.glob(f"pages-*.{suffix}")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    twice(damage)


def test_code_digest_depends_on_every_source_file(tmp_path, monkeypatch):
    module = tmp_path / "lockstep_bench" / "leaderboards" / "site" / "kept.py"
    module.parent.mkdir(parents=True)
    module.write_text("one")
    monkeypatch.setattr(kept, "__file__", str(module))
    first = kept.code_digest()
    module.write_text("two")
    assert kept.code_digest() != first


def test_changed_file_beside_the_results_has_another_state(tmp_path):
    (tmp_path / "predictions").mkdir()
    path = tmp_path / "predictions" / "wine.parquet"
    path.write_text("one")
    before = kept.states([tmp_path / "predictions", tmp_path / "missing"])
    path.write_text("two")
    assert kept.states([tmp_path / "predictions", tmp_path / "missing"]) != before
