"""Facts of sources are those that parsing gives, whatever is in the cache folder."""

import json

import pytest

from lockstep_bench.bench.environment import source_facts
from lockstep_bench.bench.environment.source_facts import Imported, KnownFacts, parsed

SOURCE = b"""
from lockstep_bench.methods.base import Method as M
from lockstep_bench import datasets

def f():
    from bench import metrics
    return metrics.score(datasets.load("x"), M)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(source_facts.VARIABLE, str(tmp_path / "code"))
    return tmp_path / "code"


def kept(folder):
    known = KnownFacts()
    known.of(SOURCE)
    known.keep()
    (file,) = folder.iterdir()
    return file


def test_imports_and_mentioned_attributes_are_found():
    facts = parsed(SOURCE)
    base, data = Imported("methods.base", "Method", "M"), Imported("datasets", "", "datasets")
    assert facts.imports == (base, data, Imported("bench", "metrics", "metrics"))
    assert facts.at_top == (base,)
    assert set(facts.attributes) == {("datasets", "load"), ("metrics", "score")}


def test_cached_facts_are_not_parsed_again(folder, monkeypatch):
    kept(folder)
    expected = parsed(SOURCE)
    monkeypatch.setattr(source_facts, "parsed", None)
    assert KnownFacts().of(SOURCE) == expected


@pytest.mark.parametrize("damage", ["flip", "cut", "other"])
def test_damaged_cache_file_is_ignored(folder, damage):
    file = kept(folder)
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[content.index(b"methods")] ^= 1
    file.write_bytes({"cut": content[:-5], "other": b"no\n" + json.dumps({}).encode()}.get(damage, content))
    assert KnownFacts().of(SOURCE) == parsed(SOURCE)


def test_unwritable_cache_folder_raises_no_error(folder):
    folder.write_text("a file")
    known = KnownFacts()
    known.of(SOURCE)
    known.keep()
    assert folder.read_text() == "a file"
