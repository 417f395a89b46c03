"""The state of a file, which tells whether it was touched."""

import os
import shutil
from types import SimpleNamespace

import pytest

from lockstep_bench.bench.results import untouched
from lockstep_bench.bench.results.untouched import states_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one file, whose last change is long enough ago."""
    monkeypatch.setattr(untouched, "SETTLED", 0)
    (tmp_path / "a").write_text("one")
    _wait_for_a_later_time(tmp_path)
    return tmp_path


def _wait_for_a_later_time(folder):
    """Return when a further change is sure to be given a later time than the one before."""
    before, probe = os.stat(folder / "a").st_ctime_ns, folder / "probe"
    while not probe.exists() or probe.stat().st_ctime_ns <= before:
        probe.write_text("")


def test_reading_and_listing_leave_the_state(folder):
    before = states_of(folder, ["a"])
    (folder / "a").read_text()
    assert list(before) == ["a"]
    assert states_of(folder, ["a"]) == before


@pytest.mark.parametrize("change", ["written", "replaced", "times set back", "mode"])
def test_every_change_changes_the_state(folder, change):
    path, status = folder / "a", os.stat(folder / "a")
    before = states_of(folder, ["a"])
    if change in ("written", "times set back"):
        path.write_text("two")
    elif change == "replaced":
        (folder / "b").write_text("two")
        shutil.move(folder / "b", path)
    else:
        path.chmod(0o600)
    if change != "written":
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    _wait_for_a_later_time(folder)
    assert states_of(folder, ["a"]).keys() == before.keys()
    assert states_of(folder, ["a"]) != before


def test_recent_changes_and_absent_files_have_no_state(folder, monkeypatch):
    monkeypatch.setattr(untouched, "SETTLED", 3600 * 10**9)
    os.utime(folder / "a", (0, 0))  # the time of modification says nothing
    assert states_of(folder, ["a", "absent"]) == {}


def test_without_a_time_of_the_last_change_no_file_has_a_state(folder, monkeypatch):
    monkeypatch.setattr(untouched, "os", SimpleNamespace(name="nt"))
    assert states_of(folder, ["a"]) == {}
