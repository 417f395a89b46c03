"""The command line: `python -m leaderboards`."""

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from math import sqrt

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.simulation.promises import scenarios
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.papers.entries import entries
from lockstep_bench.shared.rows import rows_cache
from lockstep_bench.shared.rows.parquet_with_digest import sealed
from lockstep_bench.shared.schema import cell_key


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words) -> str:
    """Return what a command prints on standard error as it ends with exit code 2."""
    result = run(*words)
    assert result.exit_code == 2, result.exception
    return result.stderr


def test_help_loads_no_heavy_library():
    code = (
        "import sys; from lockstep_bench.leaderboards.__main__ import app; app(['--help'], standalone_mode=False); "
        "print([m for m in ('torch', 'pandas', 'matplotlib', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"
    assert "build" in said
    assert "export" in said
    assert "compare" in said


def test_building_pages_does_not_import_torch(folder, tmp_path):
    code = "import sys; from lockstep_bench import leaderboards; leaderboards.build(*sys.argv[1:]); "
    code += "print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, folder({"nmll": 1.0}), tmp_path / "page"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_build_prints_the_path_of_the_index(folder, tmp_path):
    result = run("build", folder({"nmll": 1.0}), "--html", tmp_path / "page")
    assert result.exit_code == 0
    assert result.output.strip().endswith("index.html")
    assert (tmp_path / "page" / "index.html").exists()


def test_export_columns_and_their_order_are_fixed(folder):
    out = folder({"method": "vifa", "nmll": 2.0, "rmse": 3.0}, {"method": "map", "nmll": 2.5, "rmse": 3.5})
    result = run("export", out, "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "suite,dataset,method,preset,metric,mean,stderr,median,worst,worst_split,by_median,n,n_failed,remark",
        "uci,energy,map,paper,nmll,2.5,,2.5,2.5,0,False,1,0,",
        "uci,energy,map,paper,rmse,3.5,,3.5,3.5,0,False,1,0,",
        "uci,energy,vifa,paper,nmll,2.0,,2.0,2.0,0,False,1,0,",
        "uci,energy,vifa,paper,rmse,3.0,,3.0,3.0,0,False,1,0,",
    ]


def test_parquet_export_equals_the_python_function(folder, tmp_path, small_run):
    out = folder(*small_run)
    wanted = leaderboards.export(out)
    assert run("export", out, "--format", "parquet", "--to", tmp_path / "table.parquet").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), wanted)
    printed = run("export", out, "--format", "parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(printed.stdout_bytes)), wanted)


@pytest.mark.parametrize("build", [1, 2])  # a second build takes summaries from the cache
def test_build_and_export_returns_what_both_return(folder, tmp_path, small_run, build):
    out = folder(*small_run, {"method": "map", "dataset": "yacht", "status": "failed"})
    for _ in range(build):
        page, table = leaderboards.build_and_export(out, tmp_path / "site")
    assert page == leaderboards.build(out, tmp_path / "site")
    assert table.to_csv() == leaderboards.export(out).to_csv()


def test_export_reports_skipped_files_on_standard_error(folder):
    out = folder({"nmll": 1.0})
    (out / "cells" / "odd.parquet").write_text("x")
    result = run("export", out)
    assert "odd.parquet" in result.stderr
    assert "odd.parquet" not in result.stdout


@pytest.fixture
def two(tmp_path, row):
    """Write two results folders, each of cells that are described by what matters, a file for all."""

    def write(old: list[dict], new: list[dict]):
        for name, rows in (("old", old), ("new", new)):
            (tmp_path / name / "cells").mkdir(parents=True)
            table = pa.Table.from_pylist([row(**one) for one in rows], schema=CELLS)
            pq.write_table(table, tmp_path / name / "cells" / "all.parquet")
        return tmp_path / "old", tmp_path / "new"

    return write


def test_several_results_folders_are_merged_with_notes(two, tmp_path):
    first, second = two(
        [{"nmll": 1.0}, {"split": 1, "nmll": 3.0}],
        [{"nmll": 2.0, "code_revision": "later", "finished_at": datetime(2027, 1, 1, tzinfo=UTC)}],
    )
    result = run("export", first, second, "--metric", "nmll")
    numbers = f"2.5,{0.5 * sqrt(1 + 2 / 9)},2.5,3.0,1,False,2,0,"
    assert result.stdout.splitlines()[1:] == [f"uci,energy,vifa,paper,nmll,{numbers}"]
    assert "1 cell of code 0123456789 left out, which code later ran again later: energy (paper)." in result.stderr
    assert "stand side by side: energy (paper)" in result.stderr
    assert result.output.startswith(result.stdout), "the answer comes before the notes"
    assert run("build", first, second, "--html", tmp_path / "page").exit_code == 0
    for page in ("index.html", "dataset-energy.html"):
        text = (tmp_path / "page" / page).read_text(encoding="utf-8")
        assert "1 cell of code 0123456789 left out, which code later ran again later" in text
    assert leaderboards.export([first, second])["mean"].tolist() == [2.5]


def test_notes_on_mixed_code_concern_only_printed_rows(two):
    first, second = two(
        [{"nmll": 1.0}, {"nmll": 1.0, "preset": "tuned"}, {"nmll": 1.0, "dataset": "wine"}],
        [{"split": 1, "nmll": 2.0, "code_revision": "later"}],
    )
    asked = ("--preset", "paper"), ("--preset", "tuned"), ("--datasets", "energy"), ("--datasets", "wine")
    said = [run("export", first, second, *words).stderr for words in asked]
    assert ["stand side by side: energy (paper)" in text for text in said] == [True, False, True, False]
    assert said[1] == said[3] == ""


def test_export_can_be_restricted_by_names(folder):
    out = folder(
        *({"dataset": d, "method": m, "nmll": 1.0, "rmse": 2.0} for d in ("wine", "yacht") for m in ("map", "vifa"))
    )
    result = run("export", out, "--datasets", "yacht", "--methods", "vifa, map", "--metric", "rmse", "--suite", "uci")
    assert [line.split(",")[1:5] for line in result.stdout.splitlines()[1:]] == [
        ["yacht", "map", "paper", "rmse"],
        ["yacht", "vifa", "paper", "rmse"],
    ]


def test_export_writes_latex_and_markdown_tables(folder, tmp_path, small_run):
    out = folder(*small_run)
    assert "| mfvi |" in run("export", out, "--format", "markdown").stdout
    assert run("export", out, "--format", "latex", "--metric", "nmll,rmse", "--to", tmp_path / "t.tex").exit_code == 0
    assert (tmp_path / "t.tex").read_text(encoding="utf-8").count(r"\begin{table}") == 2


BASE = [{"split": s, "nmll": 1.0 + 0.1 * (s % 3)} for s in range(8)]
LATER = {"code_revision": "later"}


@pytest.mark.parametrize(
    ("new", "options", "code", "said"),
    [
        (BASE, (), 0, "the same to the last bit"),
        ([r | LATER | {"nmll": r["nmll"] + 1 + r["split"] / 100} for r in BASE], (), 1, "worse"),
        ([r | LATER | {"nmll": r["nmll"] - 1 - r["split"] / 100} for r in BASE], (), 1, "better"),
        ([r | LATER | {"nmll": r["nmll"] + (-1) ** r["split"] / 100} for r in BASE], (), 0, "1 within noise"),
        ([r | LATER | {"nmll": r["nmll"] + (-1) ** r["split"] / 100} for r in BASE], ("--exact",), 1, "1 within noise"),
        ([*BASE[1:], {"status": "failed"}], (), 1, "Changed status"),
        ([r | {"nmll": r["nmll"] + 1e-9 * (-1) ** r["split"]} for r in BASE], (), 1, "a bug"),
        ([r | {"dataset": "wine"} for r in BASE], (), 2, "nothing in common"),
    ],
)
def test_compare_summarises_and_sets_the_exit_code(two, new, options, code, said):
    old, new = two(BASE, new)
    result = run("compare", old, new, *options)
    assert said in " ".join((result.stdout + result.stderr).split())
    assert result.exit_code == code


def test_compare_prints_numbers_as_csv(two):
    old, new = two(BASE, [r | LATER | {"nmll": 9.0 + r["split"]} for r in BASE])
    result = run("compare", old, new, "--format", "csv")
    assert result.exit_code == 1
    assert pd.read_csv(io.StringIO(result.stdout))["verdict"][0] == "worse"


def test_command_line_errors_are_one_sentence(folder, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "begun" / "cells").mkdir(parents=True)
    out, begun = folder({"nmll": 1.0}), tmp_path / "begun"
    for words, said in (
        (("build", tmp_path / "nowhere", "--html", tmp_path), "does not exist"),
        (("build", tmp_path / "file", "--html", tmp_path), "is a file"),
        (("build", out, tmp_path / "empty", "--html", tmp_path), "is not a results folder"),
        (("build", out, "--html", tmp_path / "file"), "cannot be written"),
        (("export", tmp_path / "nowhere"), "does not exist"),
        (("export", begun), "no finished cells yet"),
        (("export", out, "--methods", "viifa"), "did you mean 'vifa'?"),
        (("export", out, "--metric", "rmse"), "metric 'rmse' has no results here"),
        (("compare", out, begun), "no finished cells yet"),
        (("compare", out, tmp_path / "nowhere"), "does not exist"),
        (("compare", out, out, "--metric", "nml"), "did you mean 'nmll'?"),
    ):
        result = run(*words)
        assert result.exit_code == 2, words
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["xls", "CSV "])
def test_unknown_table_format_is_refused(folder, command):
    result = run("export", folder({"nmll": 1.0}), "--format", command)
    assert result.exit_code == 2
    assert "csv" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [("build", "--html"), ("publish", "--to")])
def test_empty_folder_argument_is_refused(folder, tmp_path, monkeypatch, words):
    results = folder({"nmll": 1.0})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = run(words[0], results, words[1], "")
    assert result.exit_code == 2
    assert "the folder has no name" in result.stderr
    assert not list((tmp_path / "here").iterdir())


RANKED = (
    "method,family,mean_rank,rank_low,rank_high,difference,low,high,p_best,verdict,n_datasets,n_splits,n_failed,"
    "n_compared,remark"
)
WANTED = ("--suite", "uci", "--preset", "paper", "--metric", "nmll")
READERS = [
    ("export",),
    ("rank", *WANTED),
    ("compare", "FOLDER"),
    ("replications",),
    ("edges",),
    ("publish", "--to", "site"),
]
WRITERS = [("build", "--html", "site"), ("serve", "--port", "0")]


@pytest.mark.parametrize("words", READERS)
def test_folder_of_only_unreadable_files_counts_as_empty(tmp_path, words):
    out = tmp_path / "results"
    (out / "cells").mkdir(parents=True)
    (out / "cells" / "x.parquet").write_text("garbage")
    result = run(words[0], out, *(out if word == "FOLDER" else word for word in words[1:]))
    assert result.exit_code == 2, result.exception
    refused, problem = result.stderr.splitlines()
    assert refused == "left out: cells/x.parquet: it cannot be read as Parquet"
    assert "no finished cells yet" in problem


def test_commands_accept_folders_with_only_replication_rows(folder):
    out = folder({"nmll": 1.0, "preset": next(iter(entries())).rows})
    assert run("replications", out).exit_code == 0
    assert run("replications", out, "--ledger").stdout.startswith("No disputed number has all its rows")
    assert len(run("export", out).stdout.splitlines()) == 1  # the header


@pytest.mark.parametrize("words", [*READERS, *WRITERS])
@pytest.mark.parametrize("length", [300, 5000])
def test_overlong_results_folder_name_is_refused(folder, words, length):
    others = (folder({"nmll": 1.0}) if word == "FOLDER" else word for word in words[1:])
    result = run(words[0], *others, "y" * length)
    assert result.exit_code == 2, result.exception
    assert result.stderr.startswith("the results folder 'yyy")
    assert len(result.stderr) < 800


@pytest.mark.parametrize("words", [("build", "--html"), ("publish", "--to"), ("export", "--to")])
def test_overlong_output_name_is_shortened_in_the_error(folder, words):
    result = run(words[0], folder({"nmll": 1.0}), words[1], "y" * 5000)
    assert result.exit_code == 2, result.exception
    assert "File name too long; choose another" in result.stderr
    assert len(result.stderr) < 500


@pytest.mark.parametrize("words", [*READERS, *WRITERS])
def test_results_folder_name_not_utf_8_is_refused(folder, tmp_path, words):
    out = tmp_path / os.fsdecode(b"\xffbad")
    folder({"nmll": 1.0}).rename(out)
    assert r"\udcffbad' is not UTF-8; rename it" in refused(
        words[0], out, *(out if word == "FOLDER" else word for word in words[1:])
    )


@pytest.mark.parametrize("words", [("build", "--html"), ("publish", "--to")])
def test_site_folder_name_need_not_be_utf_8(folder, tmp_path, words):
    site = tmp_path / os.fsdecode(b"\xffsite")
    result = run(words[0], folder({"nmll": 1.0}), words[1], site)
    assert result.exit_code == 0, result.exception
    assert result.stdout.endswith(r"\udcffsite/index.html" + "\n")
    assert (site / "index.html").is_file()


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_export_refuses_a_folder_as_output_file(folder, name):
    assert "which is a folder; name a file with --to" in refused("export", folder({"nmll": 1.0}), "--to", name)


def test_error_names_folder_in_the_way_of_page(folder, tmp_path):
    (tmp_path / "site" / "index.html").mkdir(parents=True)
    assert f"'{tmp_path / 'site' / 'index.html'}' is a folder, not a page; choose another folder" in refused(
        "build", folder({"nmll": 1.0}), "--html", tmp_path / "site"
    )


@pytest.fixture
def ranked(shared_folder):
    levels = {"map": 2.0, "swag": 1.0, "swa": 1.5, "vifa": 3.0}
    return shared_folder(
        *(
            {"dataset": f"d{d}", "method": method, "split": split, "nmll": level + 0.01 * ((d + split) % 3)}
            | {"n_train": 90, "n_test": 10, "validation_nmll": level}
            for d in range(6)
            for split in range(2)
            for method, level in levels.items()
        )
    )


def test_rank_csv_columns_are_fixed(ranked):
    result = run("rank", ranked, *WANTED, "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        RANKED,
        "swag,swag,1.0,1,1,-1.0,-1.0,-1.0,1.0,best,6,12,0,6,",
        "map,map,2.0,2,2,,,,0.0,worse,6,12,0,0,",
        "vifa,vifa,3.0,3,3,1.0,1.0,1.0,0.0,worse,6,12,0,6,",
    ]
    assert "One method of each family, by validation score; 4 variants were run." in result.stderr


def test_rank_starts_with_a_sentence_and_fits_80_columns(ranked):
    lines = run("rank", ranked, *WANTED).stdout.splitlines()
    said = "By NMLL over 6 data sets (12 splits): swag is the best of 3 methods; 2 are worse than at least one other."
    assert " ".join(" ".join(lines).split()).startswith(said)
    assert lines[4].split() == ["method", "rank", "ranks", "map", "interval", "verdict"]
    assert max(map(len, lines)) <= 80


def test_rank_prints_a_remark_once_with_its_methods(shared_folder):
    levels = {"map": 2.0, "swag": 3.0, "constant": 1.0}
    rows = [{"dataset": "d", "method": m, "split": s, "nmll": level + s} for m, level in levels.items() for s in (0, 1)]
    out = run("rank", shared_folder(*rows), *WANTED).stdout
    assert "there is too little evidence." in " ".join(out.split())
    assert "No better than predicting the mean: map, swag." in out
    better = {"dataset": "e", "method": "swag", "nmll": 0.5}
    others = ({"dataset": "e", "method": method, "nmll": level} for method, level in levels.items() if method != "swag")
    out = run("rank", shared_folder(*rows, better, *others), *WANTED).stdout
    assert "No better than predicting the mean on 2 of 2 data sets: map; on 1: swag." in out


def test_rank_over_two_suites_counts_the_data_sets_of_both(shared_folder):
    pairs = [(suite, f"{suite}-{number}", m) for suite in "ab" for number in range(3) for m in ("map", "swag")]
    rows = [
        {"suite": suite, "dataset": dataset, "method": m, "split": s, "nmll": (m == "map") + s / 10}
        for suite, dataset, m in pairs
        for s in (0, 1)
    ]
    folder = shared_folder(*rows)
    result = run("rank", folder, "--suite", "a,b", *WANTED[2:])
    said = "By NMLL over 6 data sets (12 splits): swag is the best of 2 methods; 1 is worse than at least one other."
    assert " ".join(result.stdout.split()).startswith(said)
    assert "suite 'c' has no results here" in refused("rank", folder, "--suite", "a,c", *WANTED[2:])


@pytest.mark.parametrize("option", ["--wide", "--power"])
def test_rank_prints_all_columns_on_request(ranked, option):
    result = run("rank", ranked, *WANTED, option)
    assert all(heading in result.stdout for heading in ("P(best)", "80 % power for", "ranks left open"))


def test_rank_prints_a_readable_table(ranked):
    result = run("rank", ranked, *WANTED, "--variants", "--power", "--reference", "swag")
    assert result.exit_code == 0
    assert "against swag" in result.stdout
    assert "swa " in result.stdout
    assert "80 % power for the verdict" in result.stdout


def test_rank_table_prints_markup_in_names_literally(shared_folder):
    levels = {"[/]": 1.0, "[red]:x:": 2.0}
    rows = [
        {"dataset": "[/b]", "method": m, "split": s, "nmll": level + s} for m, level in levels.items() for s in (0, 1)
    ]
    result = run("rank", shared_folder(*rows), *WANTED, "--each", "--reference", "[/]")
    assert result.exit_code == 0, result.exception
    assert all(name in result.stdout for name in ("[/b]", "[/]", "[red]:x:"))


def test_rank_reports_that_there_are_no_competitors(shared_folder):
    rows = [{"dataset": "d", "method": "constant", "split": split, "nmll": 1.0} for split in range(2)]
    assert "no method to rank" in refused("rank", shared_folder(*rows), *WANTED)


def test_rank_says_that_a_single_method_has_no_rival(ranked):
    out = run("rank", ranked, *WANTED, "--methods", "map").stdout
    assert "By NMLL over 6 data sets (12 splits): there is no other method to compare with." in " ".join(out.split())


def test_rank_names_methods_without_common_values(shared_folder):
    rows = [{"dataset": "d", "method": m, "split": s, "nmll": 1.0} for m, s in (("map", 0), ("swag", 1))]
    said = refused("rank", shared_folder(*rows), *WANTED, "--methods", "map,swag")
    assert "no split has a value of nmll for all of map, swag" in said


def test_rank_says_each_kind_of_note_once(shared_folder):
    keys = [(dataset, method, split) for dataset in ("fashion-mnist", "mnist") for method in "ab" for split in (0, 1)]
    rows = [{"dataset": dataset, "method": method, "split": split, "nmll": 1.0} for dataset, method, split in keys]
    said = run("rank", shared_folder(*rows), *WANTED, "--each").stderr.splitlines()
    assert "Not tested by splits, as all splits have the same test rows: fashion-mnist, mnist." in said
    assert len(said) == len(set(said)) == 2


def test_rank_notes_mixed_code_of_the_named_methods(shared_folder):
    rows = [{"method": method, "split": split, "nmll": 1.0} for method in "abc" for split in (0, 1)]
    rows[-1]["code_revision"] = "later"
    said = [run("rank", shared_folder(*rows), *WANTED, "--methods", names).stderr for names in ("a,b", "a,c")]
    assert ["stand side by side: energy (paper)" in text for text in said] == [False, True]


def test_rank_on_each_data_set_names_the_data_set(ranked):
    lines = run("rank", ranked, *WANTED, "--each", "--format", "csv").stdout.splitlines()
    assert lines[0] == f"dataset,{RANKED}"
    assert len(lines) == 1 + 6 * 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "uci", "--preset", "paper", "--metric", "entropy"), "metric 'entropy' has no results here"),
        ((*WANTED, "--methods", "swagg"), "did you mean 'swag'?"),
        ((*WANTED, "--reference", "swagg"), "did you mean 'swag'?"),
        (("--suite", "uci", "--preset", "tuned", "--metric", "nmll"), "preset 'tuned' has no results here"),
    ],
)
def test_rank_explains_invalid_arguments(ranked, words, said):
    assert said in refused("rank", ranked, *words)


def test_rank_takes_the_only_preset_and_leading_metric(ranked):
    named, unnamed = run("rank", ranked, *WANTED), run("rank", ranked, "--suite", "uci")
    assert unnamed.stdout == named.stdout
    assert "Ranked: the preset paper, the only one with results." in unnamed.stderr
    assert "Ranked: the preset" not in named.stderr


def rows_of_presets(*presets: str, **changes: object) -> list[dict]:
    return [
        {"preset": preset, "method": method, "split": split, "nmll": level + split} | changes
        for preset in presets
        for method, level in (("map", 1.0), ("swag", 2.0))
        for split in (0, 1)
    ]


def test_rank_without_preset_prefers_tuned(shared_folder):
    result = run("rank", shared_folder(*rows_of_presets("quick", "tuned")), "--suite", "uci")
    assert result.exit_code == 0
    assert "Ranked: the preset" not in result.stderr


def test_rank_names_the_presets_to_choose_from(shared_folder):
    out = shared_folder(*rows_of_presets("quick", "paper"), *rows_of_presets("untuned", suite="toy"))
    assert "give one of them with --preset: paper, quick" in refused("rank", out, "--suite", "uci")
    assert "Ranked: the preset untuned" in run("rank", out, "--suite", "toy").stderr
    assert "suite 'uic' has no results here" in refused("rank", out, "--suite", "uic")


def test_rank_without_preset_ignores_rows_of_papers(shared_folder):
    out = shared_folder(*rows_of_presets("quick", "vifa-table-1"))
    assert "Ranked: the preset quick" in run("rank", out, "--suite", "uci").stderr
    out = shared_folder(*rows_of_presets("vifa-table-1"))
    assert "Ranked: the preset vifa-table-1" in run("rank", out, "--suite", "uci").stderr


def test_rank_by_default_uses_the_metric_that_leads_most_sets(shared_folder):
    decided = [row | {"nmll": None, "regret_uniform_ratio": row["nmll"]} for row in rows_of_presets("tuned")]
    rows = [row | {"dataset": name} for row in decided for name in "ab"]
    out = shared_folder(*rows, *rows_of_presets("tuned", dataset="c"))
    assert "By regret" in run("rank", out, "--suite", "uci").stdout
    assert "By NMLL" in run("rank", out, "--suite", "uci", "--datasets", "c").stdout
    assert "data set 'd' has no results here" in refused("rank", out, "--suite", "uci", "--datasets", "d")


def test_rank_needs_one_protocol(shared_folder):
    out = shared_folder({"nmll": 1.0}, {"nmll": 1.0, "split": 1, "protocol_hash": "bbbbbbbb"})
    assert "give one of paper@aaaaaaaa, paper@bbbbbbbb" in refused("rank", out, *WANTED)


def test_correlate_takes_all_suites_that_have_both_metrics(folder):
    rows = [
        {"suite": suite, "dataset": dataset, "method": method, "nmll": nmll, "nmll_joint_10": joint}
        for suite, dataset, scores in (
            ("uci", "yacht", (1.0, 2.0, 3.0, 4.0)),
            ("uci-gap", "yacht-gap", (4.0, 3.0, 2.0, 1.0)),  # the same rows in other splits
            ("toy", "yacht", [None] * 4),
        )
        for method, nmll, joint in zip(("map", "swag", "mfvi", "vifa"), (1.0, 2.0, 3.0, 4.0), scores, strict=True)
    ]
    out = folder(*rows)
    said = run("correlate", out, "--preset", "paper", "--metrics", "nmll,nmll_joint_10").output.splitlines()
    assert [line.split(",")[0] for line in said[:3]] == [
        "uci. NMLL and NMLL of ten points jointly: mean tau 1.00",
        "uci-gap. NMLL and NMLL of ten points jointly: mean tau -1.00",
        "NMLL and NMLL of ten points jointly: mean tau 0.00",
    ]
    none = run("correlate", out, "--preset", "paper", "--metrics", "nmll,crps")
    assert none.exit_code != 0
    assert "no suite has results of preset 'paper' with both metrics" in none.output


def test_curves_say_at_which_size_a_method_pays_off(folder):
    rows = [
        {
            "suite": "learning-curves",
            "dataset": f"set{number}-n{size}",
            "method": method,
            "nmll": number + 0.01 * size - (1 + 0.1 * number) * (method == "swag" and size == 50),
        }
        for number in range(7)
        for size in (50, 500)
        for method in ("map", "swag")
    ]
    out = folder(*rows)
    shown = run("curves", out, "--preset", "paper")
    assert shown.exit_code == 0, shown.output
    assert "swag: better than map at n = 50; worse at none" in shown.stdout
    table = pd.read_csv(io.StringIO(run("curves", out, "--preset", "paper", "--format", "csv").stdout))
    verdicts = table[table["method"] == "swag"].set_index("n")["verdict"]
    assert verdicts.to_dict() == {50: "best", 500: "undecided"}


def test_curves_need_sets_with_sizes(shared_folder):
    assert "no set was run at every number of training rows" in refused(
        "curves", shared_folder({"nmll": 1.0}), "--suite", "uci", "--preset", "paper"
    )


def test_simulate_prints_a_row_per_scenario():
    result = run("simulate", "--methods", 3, "--datasets", 3, "--splits", 2, "--repeats", 2)
    assert result.exit_code == 0
    assert result.stdout.startswith("| scenario | false verdict over sets |")
    assert len(result.stdout.splitlines()) == 2 + len(scenarios(1.5))


@pytest.mark.parametrize(
    ("option", "value"),
    [("--seed", "-1"), ("--methods", "1001"), ("--datasets", "1000000000"), ("--splits", "9" * 20)],
)
def test_simulate_refuses_out_of_range_arguments(option, value):
    assert option in refused("simulate", "--repeats", 1, option, value)


def test_publishing_ignores_a_tampered_rows_cache(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_ROWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(rows_cache, "WORTHWHILE", 1)
    monkeypatch.setattr(rows_cache, "SETTLED", 0)
    results = folder({"nmll": 1.0})
    (stored,) = (results / "cells").glob("*.parquet")
    (row,) = pd.read_parquet(stored)[list(rows_cache.KEY)].itertuples(index=False)
    deep = results / "cells" / f"{cell_key(*row)}.parquet"
    deep.parent.mkdir(parents=True)
    stored.rename(deep)
    assert run("build", results, "--html", tmp_path / "page").exit_code == 0
    (cache,) = (path for path in (tmp_path / "cache").iterdir() if not path.name.startswith("pages-"))
    rows = pq.read_table(cache)
    rows = rows.set_column(rows.schema.get_field_index("nmll"), "nmll", pa.array([0.1]))
    cache.write_bytes(sealed(rows))  # which is believed
    assert leaderboards.export(results).set_index("metric").loc["nmll", "mean"] == 0.1
    assert run("publish", results, "--to", tmp_path / "site").exit_code == 0
    assert pd.read_parquet(tmp_path / "site" / "results" / "cells")["nmll"].tolist() == [1.0]


@pytest.mark.parametrize("words", [("simulate", "--gap"), ("simulate", "--overlap"), ("edges", "r", "--margin")])
def test_numeric_options_refuse_nan(words):
    assert "nan is not a number" in refused(*words, "nan")


def crossed_rows(method: str, network: str, noise: str, level: float) -> list[dict]:
    """Return rows of one combination on six data sets with two splits."""
    changes = {"hidden": network} if network != "50" else {}
    changes |= {"likelihood": "heteroscedastic"} if noise == "predicted" else {}
    row = {
        "method": method,
        "preset": "tuned-modified" if changes else "tuned",
        "protocol": json.dumps({"epochs": 200} | changes),
        "protocol_hash": f"{len(network)}{noise}"[:8],
        "task": "regression",
        "hparams": '{"noise_precision": 1.0}',
    }
    return [row | {"dataset": name, "split": split, "nmll": level} for name in "abcdef" for split in range(2)]


@pytest.fixture(scope="module")
def factors(shared_folder):
    """`predicted` costs 1 whatever else, `16-16` gains 2, `mile` gains 4 and has no constant noise."""
    combinations = {
        ("map", "50", "constant"): 0.0,
        ("map", "16,16", "constant"): -2.0,
        ("map", "50", "predicted"): 1.0,
        ("mile", "50", "predicted"): -3.0,
        ("mile", "16,16", "predicted"): -5.0,
    }
    return shared_folder(*(row for names, level in combinations.items() for row in crossed_rows(*names, level)))


CROSSED = ("--suite", "uci", "--metric", "nmll", "--format", "csv", "--compare")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("noise", "--network", "50"), {"map · 50 · constant": "", "map · 50 · predicted": "1.0"}),
        (("network",), {"50": "", "16-16": "-2.0"}),
        (("posterior", "--noise", "predicted"), {"map · 50 · predicted": "", "mile · 50 · predicted": "-4.0"}),
        (("posterior", "--methods", "mile,map"), {"map · 50 · predicted": "", "mile · 50 · predicted": "-4.0"}),
        (("noise", "--reference", "predicted"), {"map · 50 · constant": "-1.0", "map · 50 · predicted": ""}),
    ],
)
def test_rank_compares_one_factor_with_others_fixed(factors, words, shown):
    result = run("rank", factors, *CROSSED, *words)
    assert result.exit_code == 0, result.stderr
    lines = [line.split(",") for line in result.stdout.splitlines()[1:]]
    assert {line[0]: line[5] for line in lines} == shown


def test_rank_names_the_combinations_it_averages_over(factors):
    result = run("rank", factors, *CROSSED, "network")
    assert "Mean over 2 combinations of posterior and noise: map · constant, mile · predicted." in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("noise", "--network", "16-16"), "no two levels of noise were run on the same splits"),
        (("noise", "--network", "17-17"), "network '17-17' has no results here; did you mean '16-16'?"),
        (("noise", "--methods", "mil"), "did you mean 'mile'?"),
        (("noise", "--preset", "quick"), "preset 'quick' of suite uci was run with one network and one model"),
    ],
)
def test_rank_explains_invalid_factor_arguments(factors, words, said):
    assert said in refused("rank", factors, *CROSSED, *words)


def test_rank_accepts_network_only_with_compare(factors):
    assert "add --compare" in refused("rank", factors, "--suite", "uci", "--metric", "nmll", "--network", "50")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("replications", "--ledger", "--entry", "vifa-table-1"), "leave out --entry and --format"),
        (
            ("rank", "--suite", "uci", "--metric", "nmll", "--compare", "posterior", "--variants"),
            "--variants does not go with --compare",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(factors, words, said):
    assert said in refused(words[0], factors, *words[1:])
