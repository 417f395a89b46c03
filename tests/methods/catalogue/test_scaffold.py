"""A new method: its files, the page about them, and the whole way from `new` to a result."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bench import conformance
from methods.__main__ import app
from methods.catalogue import scaffold

ROOT = Path(scaffold.__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-method.md"
FAST = [title for title in conformance.RULES if title not in ("cost", "trains natively", "conjugate posterior")]


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_exactly_what_is_written(tmp_path):
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert sorted(blocks) == sorted(path.read_text() for path in scaffold.write("mine", tmp_path / "mine"))


def test_a_name_of_several_words_becomes_a_module_and_a_class(tmp_path):
    files = {path.name: path.read_text() for path in scaffold.write("our-new-way", tmp_path)}
    assert set(files) == {"pyproject.toml", "our_new_way.py", "test_our_new_way.py"}
    assert 'our-new-way = "our_new_way:OurNewWay"' in files["pyproject.toml"]
    assert "class OurNewWay(Method):" in files["our_new_way.py"]
    assert 'title = "Our new way"' in files["our_new_way.py"]
    assert not [text for text in files.values() if re.search("my.?method", text, flags=re.IGNORECASE)]


def test_the_written_method_keeps_the_contract(tmp_path):
    _, module, _ = scaffold.write("mine", tmp_path)
    findings = list(conformance.check(loaded(module).Mine(), FAST))
    assert len(findings) == len(FAST)
    assert [finding for finding in findings if not finding.passed] == []


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("map", "there is a method 'map' already"),
        ("headline", "there is a method 'headline' already"),
        ("json", "a module 'json' already"),
        ("class", "a word or a module 'class'"),
        ("Mine", "lower-case letters"),
        ("ensemble:mine", "lower-case letters"),
        ("../mine", "lower-case letters"),
    ],
)
def test_a_name_that_will_not_do_is_refused(name, complaint, tmp_path):
    with pytest.raises(scaffold.CannotCreate, match=complaint):
        scaffold.write(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "kept.txt").write_text("")
    result = CliRunner().invoke(app, ["new", "mine", "--into", str(tmp_path)])
    assert result.exit_code == 2
    assert "--into" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def run(*arguments: str, cwd: Path, site: Path) -> str:
    paths = os.pathsep.join([str(site), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    result = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture
def installed(tmp_path):
    """The page followed up to `pip install`, into a folder of its own: gives a way to run Python with it."""
    if absent := [name for name in ("pip", "setuptools") if not importlib.util.find_spec(name)]:
        pytest.skip(f"without {', '.join(absent)} nothing can be installed")
    site = tmp_path / "site"
    run("-m", "methods", "new", "mine", cwd=tmp_path, site=site)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--target", str(site))
    run("-m", "pip", "install", "--quiet", *offline, "./mine", cwd=tmp_path, site=site)
    return lambda *arguments: run(*arguments, cwd=tmp_path, site=site)


def test_an_outside_package_runs_like_a_method_of_ours(installed, tmp_path):
    assert re.search(r"^mine +Mine +Me 2026: A Title", installed("-m", "methods", "list"), flags=re.MULTILINE)
    asked = "--suite uci --datasets diabetes --methods mine --splits 0 --trials 2 --folds 2 --epochs 1 --workers 1"
    installed(str(ROOT / "run_all.py"), *asked.split(), "--out", "results")
    (cell,) = pq.read_table(tmp_path / "results" / "cells").to_pylist()
    assert (cell["method"], cell["status"]) == ("mine", "ok")


@pytest.mark.slow
def test_an_outside_package_passes_every_check(installed):
    assert "FAIL" not in installed("-m", "methods", "check", "mine")
    assert "1 passed" in installed("-m", "pytest", "-q", "mine")
