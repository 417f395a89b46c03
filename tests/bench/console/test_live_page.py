"""Pages grow while cells are stored; what goes wrong with them ends nothing."""

import io
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console
from this_process import ThisProcess

from lockstep_bench.bench.console import display, live_page

PATIENCE_SECONDS = 60


def prepare() -> None:
    pass


def fail() -> None:
    raise MemoryError("no room")


def write_count(path: Path, running: tuple[int, int]) -> Path:
    """A page that has the two numbers."""
    new = path.with_suffix(".new")
    new.write_text(f"{running[0]} of {running[1]}")
    new.replace(path)
    return path


class Stored(NamedTuple):
    cell: str


FIRST, SECOND, THIRD = map(Stored, ("first", "second", "third"))
WEIGHTS = {"first": 1.0, "second": 1.0, "third": 1e6}  # a long time is left until the third is finished


class Store:
    def __init__(self):
        self.written = []

    def write(self, result):
        self.written.append(result)


@pytest.fixture
def console(monkeypatch):
    made = Console(file=io.StringIO(), width=500)
    for module in (live_page, display):
        monkeypatch.setattr(module, "err", made)
    monkeypatch.setattr(live_page, "SHORTEST_PAUSE_SECONDS", 0)
    monkeypatch.setattr(live_page, "PAUSE", 0)
    return made


def eventually(condition) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_pages_are_rebuilt_as_cells_are_stored(tmp_path, console):
    page, store = tmp_path / "index.html", Store()
    with live_page.live_pages(store, prepare, partial(write_count, page), 3, WEIGHTS) as pages:
        pages.write(FIRST)
        assert eventually(lambda: page.exists() and page.read_text() == "4 of 6")
        pages.write(SECOND)
        assert eventually(lambda: page.read_text() == "5 of 6")
    assert store.written == [FIRST, SECOND]
    assert console.file.getvalue().count(str(page)) == 1


def test_pages_are_not_built_before_a_cell_is_stored(tmp_path, console):
    page = tmp_path / "index.html"
    with live_page.live_pages(Store(), prepare, partial(write_count, page), 0, WEIGHTS):
        pass
    assert not page.exists()
    assert console.file.getvalue() == ""


@pytest.mark.parametrize("written", [[FIRST, SECOND], [FIRST, SECOND, THIRD]])
def test_no_page_process_starts_within_the_last_minute(tmp_path, console, monkeypatch, written):
    monkeypatch.setattr(live_page, "Supervised", None)  # to start one fails, which would be printed
    monkeypatch.setattr(live_page, "LOOK_SECONDS", 0.01)
    store, weights = Store(), WEIGHTS | {"third": 1.0}
    with live_page.live_pages(store, prepare, partial(write_count, tmp_path / "index.html"), 8, weights) as pages:
        for result in written:
            pages.write(result)
        time.sleep(0.1)
    assert store.written == written
    assert console.file.getvalue() == ""


def test_pages_begin_when_a_cell_takes_longer_than_expected(tmp_path, console, monkeypatch):
    monkeypatch.setattr(live_page, "Supervised", ThisProcess)
    monkeypatch.setattr(live_page, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(live_page, "WORTHWHILE_SECONDS", 0.3)
    page, weights = tmp_path / "index.html", {"first": 1.0, "second": 1.0}
    with live_page.live_pages(Store(), prepare, partial(write_count, page), 0, weights) as pages:
        pages.write(FIRST)
        assert eventually(page.exists)


@pytest.mark.parametrize("broken", ["prepare", "build"])
def test_failure_to_build_a_page_is_printed_once(tmp_path, console, monkeypatch, broken):
    monkeypatch.setattr(live_page, "Supervised", ThisProcess)
    store = Store()
    prepared = fail if broken == "prepare" else prepare
    page = tmp_path / "no" / "index.html"
    with live_page.live_pages(store, prepared, partial(write_count, page), 0, WEIGHTS) as pages:
        pages.write(FIRST)
        assert eventually(lambda: "Note: the page cannot be built" in console.file.getvalue())
        pages.write(SECOND)
    assert store.written == [FIRST, SECOND]
    assert console.file.getvalue().count("Note:") == 1
