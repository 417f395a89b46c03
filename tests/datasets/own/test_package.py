"""The package that `datasets new` writes installs and gives the data set that was described."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lockstep_bench import datasets
from lockstep_bench.datasets.__main__ import app

ROOT = Path(datasets.__file__).parents[1]


def new(*words: str | Path):
    return CliRunner().invoke(app, ["new", *map(str, words)], env={"COLUMNS": "300"})


def run(*words: str, cwd: Path, site: Path) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "COLUMNS": "250"}
    result = subprocess.run([sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_generated_package_registers_the_data_set_once_installed(frame, write, tmp_path):
    pytest.importorskip("setuptools")
    frame.loc[0, "area"] = np.nan
    path = write(frame.drop(columns="sold"))
    splits = write(pd.DataFrame({"a": ["train"] * 30 + ["test"] * 10}), "parts.tsv")
    options = ("--csv", path, "--target", "price", "--impute", "median", "--splits-file", splits)
    made = new("houses", *options, "--into", tmp_path / "houses")
    assert made.exit_code == 0, made.output
    assert "--suite own --datasets houses" in made.stdout
    path.unlink()

    site = tmp_path / "site"
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--target", str(site))
    run("-m", "pip", "install", "--quiet", *offline, "./houses", cwd=tmp_path, site=site)
    listed = run("-m", "lockstep_bench.datasets", "list", cwd=tmp_path, site=site)
    assert ["houses", "houses:", "price", "regression", "40", "5", "1", "ready"] in map(str.split, listed.splitlines())
    assert "houses: your own, from houses" in listed
    assert "houses: ready" in run("-m", "lockstep_bench.datasets", "verify", "houses", cwd=tmp_path, site=site)
    assert "1 passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", "houses", cwd=tmp_path, site=site)
    code = "from lockstep_bench import datasets; d = datasets.load('houses'); "
    code += "print(float(d.y.sum()), datasets.entry('houses').suites)"
    assert run("-c", code, cwd=tmp_path, site=site).split(" ", 1) == [str(float(frame["price"].sum())), "('own',)\n"]

    (site / "houses" / "houses.csv").write_text("area,price\n1,2\n")
    with pytest.raises(AssertionError, match="has changed since it was described"):
        run("-m", "lockstep_bench.datasets", "verify", "houses", cwd=tmp_path, site=site)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("yacht", "there is a data set 'yacht' already"),
        ("json", "a module 'json' already"),
        ("Houses", "lower-case letters"),
        ("houses", "no column 'cost'"),
    ],
)
def test_invalid_package_options_are_refused(frame, write, tmp_path, name, complaint):
    target = "cost" if "column" in complaint else "price"
    result = new(name, "--csv", write(frame), "--target", target, "--into", tmp_path / "new")
    assert (result.exit_code, (tmp_path / "new").exists()) == (2, False)
    assert complaint in result.stderr


def test_file_name_that_is_not_utf_8_is_refused(frame, write, tmp_path):
    path = write(frame)
    odd = path.rename(path.with_name(os.fsdecode(b"u\xff.csv")))
    result = new("houses", "--csv", odd, "--target", "price", "--into", tmp_path / "new")
    assert (result.exit_code, (tmp_path / "new").exists()) == (2, False)
    assert "is not UTF-8" in result.stderr


def test_generated_package_reads_the_table_with_given_options(frame, write, tmp_path):
    path = write(frame.assign(area=[f"{row},250" for row in range(1, 41)], price=range(40)))
    path.write_text(path.read_text().partition("\n")[2])
    options = ("--target", "4", "--decimal", ",", "--na-values", "-999,Oslo", "--no-header", "--impute", "median")
    made = new("houses", "--csv", path, *options, "--into", tmp_path / "new")
    assert made.exit_code == 0, made.output
    code = (tmp_path / "new/src/houses/__init__.py").read_text()
    for line in ('decimal=",",', "na_values=('-999', 'Oslo'),", "no_header=True,", 'impute="median",'):
        assert f"    {line}\n" in code
    assert code.count("thousands") == 0


@pytest.mark.parametrize("folder", ["x" * 5000, f"{__file__}/below", os.fsdecode(b"u\xff")])
def test_unusable_output_folder_is_refused(frame, write, folder):
    result = new("houses", "--csv", write(frame), "--target", "price", "--into", folder)
    assert result.exit_code == 2
    assert "choose another with --into" in " ".join(result.stderr.split())


def test_empty_folder_argument_is_refused(frame, write, tmp_path, monkeypatch):
    path = write(frame)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    result = new("houses", "--csv", path, "--target", "price", "--into", "")
    assert result.exit_code == 2
    assert "the folder has no name" in result.stderr
    assert not list(Path().iterdir())


def test_existing_files_are_not_overwritten(frame, write, tmp_path):
    result = new("houses", "--csv", write(frame), "--target", "price", "--into", tmp_path)
    assert result.exit_code == 2
    assert "--into" in result.stderr
