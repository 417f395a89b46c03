"""Contents of a publication, from the command line as a user types it."""

import json
import subprocess

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.stats.first_predictions import first_splits
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.schema import cell_key, predictions_schema


def publish(*words):
    return CliRunner().invoke(app, ["publish", *(str(word) for word in words)])


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """An empty repository, the current folder."""
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")
    git("init", "--quiet")


@pytest.mark.parametrize("column", ["suite", "dataset", "method", "preset"])
def test_rows_with_very_long_names_are_published(folder, tmp_path, column):
    out = folder({"nmll": 1.0, column: "x" * 3000})
    for table in ("bands", "predictions", "studies", "training"):
        (out / table / "uci" / "energy").mkdir(parents=True)
    said = publish(out, "--to", tmp_path / "site")
    assert said.exit_code == 0, said.output
    assert leaderboards.export(tmp_path / "site" / "results").equals(leaderboards.export(out))


def test_folder_and_branch_get_equal_contents(folder, row, tmp_path, repository, small_run):
    out, other, site = folder(*small_run), tmp_path / "other", tmp_path / "site"
    again = row(method="vifa", split=0, nmll=9.0, code_revision="fedcba9876543210")  # contradicts a row of `out`
    (other / "cells").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([again], schema=CELLS), other / "cells" / "again.parquet")
    said = publish(out, other, "--to", site)
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines()[0].startswith("32 cells: 3 methods on 2 data sets; results ")
    assert "bench-1" in said.output
    assert {path.name for path in site.iterdir()} >= {
        *("index.html", "results", "README.md", "SHA256SUMS", ".nojekyll", ".lockstep-bench")
    }
    readme = (site / "README.md").read_text()
    assert "32 cells" in readme
    assert "python -m leaderboards build results other --html page" in readme
    assert leaderboards.export(site / "results").equals(leaderboards.export([out, other]))
    assert len(pd.read_parquet(site / "results" / "cells")) == 33

    said = publish(site / "results", "--to", "branch:gh-pages")
    assert said.exit_code == 0, said.output
    assert said.output.splitlines()[-1] == "to publish it: git push origin gh-pages"
    assert git("show", "gh-pages:SHA256SUMS") == (site / "SHA256SUMS").read_text()
    assert git("log", "--format=%s", "gh-pages") == "Leaderboard of 32 cells: 3 methods on 2 data sets\n"


def test_errors_are_one_sentence_and_nothing_is_written(folder, tmp_path, repository):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    out = folder({"nmll": 1.0})
    for target, said in (
        (tmp_path / "mine", "publish did not make it"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "site", "cannot be written"),
        ("branch:", "not a valid name of a branch"),
    ):
        result = publish(out, "--to", target)
        assert result.exit_code == 2
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1
    (out / "cells" / "cell0000.parquet").unlink()
    for target in (tmp_path / "site", "branch:gh-pages"):
        result = publish(out, "--to", target)
        assert result.exit_code == 2
        assert "no finished cells" in result.stderr
    assert git("for-each-ref") == ""
    assert not (tmp_path / "site").exists()


def test_reasons_for_missing_data_sets_are_not_published(folder, small_run, tmp_path):
    out, site = folder(*small_run), tmp_path / "site"
    entry = {"dataset": "wine", "reason": "no file in /home/somebody/data", "remedy": "run `python -m datasets fetch`"}
    (out / "unavailable.json").write_text(json.dumps([entry]))
    assert publish(out, "--to", site).exit_code == 0
    written = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*") if path.suffix in {".html", ".json"})
    assert "somebody" not in written
    assert "it was not available where these results were made" in written
    (found,) = read_results(site / "results").unavailable
    assert (found.dataset, found.remedy) == ("wine", entry["remedy"])


def test_readme_escapes_markdown_in_code_revisions(folder, tmp_path):
    out = folder({"nmll": 1.0, "code_revision": "[x](y)\x1b"})
    assert publish(out, "--to", tmp_path / "site").exit_code == 0
    assert r"Code revision: \[x\](y)\\u001b." in (tmp_path / "site" / "README.md").read_text()


def test_publication_keeps_few_predictions_of_first_splits(folder, row, tmp_path):
    rows = [
        row(method=method, split=split, nmll=1.0, coverage_90=0.9, task="regression")
        for method in ("map", "vifa")
        for split in (0, 1)
    ]
    out = folder(*rows)
    names = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
    for one in rows[1:]:  # of the first cell they were lost
        path = out / "predictions" / f"{cell_key(*(one[name] for name in names))}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        n = 1_000
        columns = {"row": range(n), "ood": [False] * n, "y": [float(one["split"])] * n}
        columns |= {"mean": [[0.5]] * n, "variance": [[0.25]] * n, "nll": [0.0] * n}
        pq.write_table(pa.Table.from_pydict(columns, schema=predictions_schema(1)), path)
    said = publish(out, "--to", tmp_path / "site")
    assert said.exit_code == 0, said.output
    published = tmp_path / "site" / "results"
    (file,) = (published / "predictions").rglob("*.parquet")
    assert file.stat().st_size < 10_000
    found = first_splits(read_results(published).rows)
    assert {method: (len(one.y), one.y[0]) for method, one in found.items()} == {"map": (300, 1.0), "vifa": (300, 0.0)}
    assert "PIT, first split" in (tmp_path / "site" / "dataset-energy.html").read_text()

    again = publish(published, "--to", tmp_path / "again")  # only from the publication
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again" / "results" / file.relative_to(published)).read_bytes() == file.read_bytes()
