"""The command line: `python -m leaderboards`."""

import io
import subprocess
import sys
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

import leaderboards
from leaderboards.__main__ import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_help_is_quick_and_loads_no_heavy_library():
    code = (
        "import sys; from leaderboards.__main__ import app; app(['--help'], standalone_mode=False); "
        "print([m for m in ('torch', 'pandas', 'matplotlib', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    start = time.perf_counter()
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert time.perf_counter() - start < 5  # a busy machine; alone it takes 0.3 s
    assert said.splitlines()[-1] == "[]"
    assert "build" in said
    assert "export" in said


def test_a_page_needs_no_torch(folder, tmp_path):
    code = "import sys, leaderboards; leaderboards.build(*sys.argv[1:]); print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, folder({"nmll": 1.0}), tmp_path / "page"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_build_says_where_the_page_is(folder, tmp_path):
    result = run("build", folder({"nmll": 1.0}), "--html", tmp_path / "page")
    assert result.exit_code == 0
    assert result.output.strip().endswith("index.html")
    assert (tmp_path / "page" / "index.html").exists()


def test_export_has_exactly_these_columns_and_this_order(folder):
    out = folder({"method": "vifa", "nmll": 2.0, "rmse": 3.0}, {"method": "map", "nmll": 2.5, "rmse": 3.5})
    result = run("export", out, "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "suite,dataset,method,preset,metric,mean,stderr,median,n,n_failed",
        "uci,energy,map,paper,nmll,2.5,,2.5,1,0",
        "uci,energy,map,paper,rmse,3.5,,3.5,1,0",
        "uci,energy,vifa,paper,nmll,2.0,,2.0,1,0",
        "uci,energy,vifa,paper,rmse,3.0,,3.0,1,0",
    ]


def test_export_as_parquet_holds_what_python_gives(folder, tmp_path, small_run):
    out = folder(*small_run)
    wanted = leaderboards.export(out)
    assert run("export", out, "--format", "parquet", "--to", tmp_path / "table.parquet").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), wanted)
    printed = run("export", out, "--format", "parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(printed.stdout_bytes)), wanted)


def test_export_names_what_it_left_out_beside_the_table(folder):
    out = folder({"nmll": 1.0})
    (out / "cells" / "odd.parquet").write_text("x")
    result = run("export", out)
    assert "odd.parquet" in result.stderr
    assert "odd.parquet" not in result.stdout


def test_mistakes_are_told_in_one_sentence(folder, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    out = folder()
    for words, said in (
        (("build", tmp_path / "nowhere", "--html", tmp_path), "does not exist"),
        (("build", tmp_path / "file", "--html", tmp_path), "is a file"),
        (("build", tmp_path / "empty", "--html", tmp_path), "is no results folder"),
        (("build", out, "--html", tmp_path / "file"), "cannot be written"),
        (("export", tmp_path / "nowhere"), "does not exist"),
        (("export", out), "no finished cells yet"),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["xls", "CSV "])
def test_an_unknown_format_is_refused(folder, command):
    result = run("export", folder({"nmll": 1.0}), "--format", command)
    assert result.exit_code == 2
    assert "csv" in result.stderr
    assert "Traceback" not in result.stderr
