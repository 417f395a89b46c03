"""A new method: its files, the page about them, and the whole way from `new` to a result."""

import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lockstep_bench.bench import conformance
from lockstep_bench.commands.methods import app
from lockstep_bench.methods.catalogue import scaffold

ROOT = Path(scaffold.__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "adding-a-method.md"


def test_documentation_shows_the_generated_method_files(tmp_path):
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert sorted(blocks) == sorted(path.read_text() for path in scaffold.write("mine", tmp_path / "mine"))


def test_hyphenated_name_becomes_module_and_class_name(tmp_path):
    written = scaffold.write("our-new-way", tmp_path)
    files = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in written}
    assert set(files) == {"pyproject.toml", "src/our_new_way.py", "tests/test_our_new_way.py"}
    assert 'our-new-way = "our_new_way:OurNewWay"' in files["pyproject.toml"]
    assert "class OurNewWay(Method):" in files["src/our_new_way.py"]
    assert 'title = "Our new way"' in files["src/our_new_way.py"]
    assert not [text for text in files.values() if re.search("my.?method", text, flags=re.IGNORECASE)]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("map", "there is a method 'map' already"),
        ("headline", "the word names several methods"),
        ("all", "the word names several methods"),
        ("json", "a module 'json' already"),
        ("class", "a word or a module 'class'"),
        ("Mine", "lower-case letters"),
        ("ensemble:mine", "lower-case letters"),
        ("../mine", "lower-case letters"),
        ("a" * 101, "100 characters at most"),
        ("a" * 5000, r"a\.\.\.a.*100 characters at most"),
    ],
)
def test_invalid_new_method_name_is_refused(name, complaint, tmp_path):
    with pytest.raises(scaffold.CannotCreate, match=complaint):
        scaffold.write(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_generated_method_overwrites_no_files(tmp_path):
    (tmp_path / "kept.txt").write_text("")
    result = CliRunner().invoke(app, ["new", "mine", "--into", str(tmp_path)])
    assert result.exit_code == 2
    assert "--into" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


@pytest.mark.parametrize("folder", ["a" * 5000, "pipe/below", "file/below", "dangling", "dangling/below"])
def test_unusable_output_folder_is_refused(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("file").touch()
    Path("dangling").symlink_to("nowhere")
    result = CliRunner().invoke(app, ["new", "mine", "--into", folder])
    assert result.exit_code == 2
    assert "choose another with --into" in re.sub(r"[\s│]+", " ", result.stderr)
    assert len(result.stderr) < 1000
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "file", "dangling"}


def lines_of_the_page() -> list[str]:
    """Return the commands at the start of the page."""
    return [line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    p")][:4]


@pytest.mark.slow
def test_documented_commands_give_finished_cells(shell, tmp_path):
    new, install, check, run = lines_of_the_page()
    assert [line.split()[:3] for line in (new, install, check)] == [
        ["python", "-m", "methods"],
        ["pip", "install", "-e"],
        ["python", "-m", "methods"],
    ]
    shell(new)
    shell(install)
    checked = shell(check)
    assert "FAIL" not in checked
    assert checked.count(" ok ") == len(conformance.RULES)
    assert re.search(r"^mine +Mine +Me 2026: A Title", shell("python -m methods list"), flags=re.MULTILINE)
    few = "--splits 0 --trials 2 --folds 2 --epochs 1 --workers 1 --out results"
    shell(f"{run.replace('run_all.py', str(ROOT / 'run_all.py'))} {few}")
    cells = pq.read_table(tmp_path / "work" / "results" / "cells").to_pylist()
    outcomes = {(cell["method"], cell["status"], cell["checked"]) for cell in cells}
    assert outcomes == {("mine", "ok", "passed"), ("map", "ok", None)}


@pytest.mark.slow
def test_generated_test_passes(shell):
    new, install, *_ = lines_of_the_page()
    shell(new)
    shell(install)
    assert "1 passed" in shell("python -m pytest -q mine")
