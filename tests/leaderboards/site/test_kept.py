"""A build that goes on from the last build of the same folder."""

import shutil

import pytest

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.site import kept
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.shared.papers.entries import entries

ENERGY, WINE, MAP, VIFA = "dataset-energy.html", "dataset-wine.html", "method-map.html", "method-vifa.html"


CHANGES = ["rows added", "rows replaced", "wine replaced", "a method added", "a method removed", "a replication added"]


class Built:
    """A site that is built again and again, from one results folder."""

    def __init__(self, rows, shared_folder, places):
        self.rows, self._shared_folder, self._places = rows, shared_folder, places
        self.site = places / "site"
        self.build(rows)

    def _write(self, *rows):
        results = self._places / "results"
        shutil.rmtree(results, ignore_errors=True)
        return self._shared_folder(*rows).rename(results)

    def build(self, rows):
        """Build the site once more, and return its pages."""
        leaderboards.build(self._write(*rows), self.site)
        return self.pages(self.site)

    def afresh(self, rows):
        """Return the pages of a build of these rows that knows nothing of any other build."""
        return self.pages(leaderboards.build(self._write(*rows), self._places / "full", again=False).parent)

    def pages(self, site):
        return {path.name: path.read_bytes() for path in site.iterdir()}

    def files(self):
        """Return what tells a file that was written anew from one that was kept, by name; inodes are used again."""
        return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in self.site.iterdir()}


@pytest.fixture(scope="module")
def built(small_run, tmp_path_factory, shared_folder):
    places = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_ROWS_CACHE", str(places / "cache"))
        yield Built(small_run, shared_folder, places)


def changed(name, run):
    return {
        "rows added": [*run, *(row | {"split": 8} for row in run if row["split"] == 7 and "dataset" not in row)],
        "rows replaced": [row | {"nmll": 2.0} if row["split"] == 1 else row for row in run],
        "wine replaced": [row | {"nmll": 2.0} if row.get("dataset") == "wine" else row for row in run],
        "a method added": [
            *run,
            *(row | {"method": "further"} for row in run if row.get("method") == "vifa" and row["split"] < 3),
        ],
        "a replication added": [
            *run,
            *(row | {"suite": "uci-gap", "preset": entries()[0].rows} for row in run if row.get("method") == "vifa"),
        ],
        "a method removed": [row for row in run if row.get("method") != "map"],
    }[name]


@pytest.mark.parametrize("change", CHANGES)
def test_build_after_a_change_equals_a_full_build(built, change):
    rows = changed(change, built.rows)
    assert built.build(rows) == built.afresh(rows)


def test_only_pages_of_changed_data_sets_are_written(built):
    built.build(built.rows)
    before = built.files()
    built.build(changed("rows added", built.rows))
    after = built.files()
    assert after[WINE] == before[WINE]
    assert after[ENERGY] != before[ENERGY]


def test_only_pages_of_changed_methods_are_written(built):
    built.build(built.rows)
    before = built.files()
    built.build(changed("wine replaced", built.rows))  # which only vifa was run on
    after = built.files()
    assert after[MAP] == before[MAP]
    assert after[VIFA] != before[VIFA]


def test_other_code_makes_every_page_anew(built, monkeypatch):
    before, pages = built.files(), built.build(built.rows)
    monkeypatch.setattr(kept, "code_digest", lambda: "another program")
    assert built.build(built.rows) == pages
    assert not before.items() & built.files().items()


def test_damaged_pages_and_caches_are_made_anew(built):
    pages = built.build(built.rows)
    (built.site / WINE).unlink()
    (built.site / ENERGY).write_bytes(pages[ENERGY][:5000])
    for path in (built.site.parent / "cache").glob("pages-*"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert built.build(built.rows) == pages


def test_code_digest_depends_on_the_source_files(tmp_path, monkeypatch):
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


def test_equal_contents_are_packed_equally():
    verdict, copy = "worse", "".join(["wor", "se"])
    assert kept.packed([(verdict, 0.1), (verdict, 0.2)]) == kept.packed([(verdict, 0.1), (copy, 0.2)])
    assert kept.packed([(verdict, 0.1)]) != kept.packed([("worse", 0.2)])


def test_digest_of_rows_names_columns_with_values(shared_folder):
    digests = [
        Site(read_results(shared_folder({"nmll": 1.0, name: 0.5}))).row_digests["dataset"]
        for name in ("total_variation", "aurc")
    ]
    assert digests[0] != digests[1]
