"""The command line of the methods."""

import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from lockstep_bench import methods
from lockstep_bench.bench import conformance
from lockstep_bench.bench.conformance import Finding, parallel
from lockstep_bench.commands.methods import _applicability, app
from lockstep_bench.methods.maths.likelihoods import KINDS


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("arguments", [(), ("list",), ("check",), ("new",)])
def test_methods_help_does_not_import_torch(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "lockstep_bench.methods", *arguments, "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: python -m methods" in result.stdout
    assert "torch" not in result.stderr


def test_methods_list_shows_titles_and_papers():
    shown = " ".join(invoke("list").stdout.split())
    for part in ("vifa-lr", "Deep ensemble", "MacKay 1992", "ensemble:NAME"):
        assert part in shown


class Limited:
    def __init__(self, *likelihoods: str, limits: str = ""):
        self.likelihoods, self.limits = likelihoods, limits


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Limited(*KINDS), "all tasks"),
        (Limited("gaussian", limits="50 rows"), "gaussian; 50 rows"),
        (Limited("categorical", "bernoulli"), "classification"),
        (Limited("gaussian", "heteroscedastic", "student-t", "categorical"), "regression, categorical"),
        (Limited("gaussian", "heteroscedastic"), "gaussian, heteroscedastic"),
    ],
)
def test_methods_list_describes_applicable_tasks(method, words):
    assert _applicability(method) == words


@pytest.mark.parametrize("columns", ["80", "120"])
def test_methods_list_fits_the_terminal_and_cuts_no_name(columns):
    lines = CliRunner().invoke(app, ["list"], env={"COLUMNS": columns}).stdout.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert {line[2:].split(" ")[0] for line in lines} >= set(methods.names())
    assert "…" not in "".join(lines)


def test_methods_list_marks_headline_under_their_families():
    lines = invoke("list").stdout.splitlines()
    assert {line.split()[1] for line in lines if line.startswith("* ")} == set(methods.headline())
    assert lines.index("Deep ensemble") < next(i for i, line in enumerate(lines) if "deep-ensemble" in line)


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_methods_check_prints_findings_and_exit_code(monkeypatch, passed, code):
    findings = [Finding("first", True, "fine"), Finding("second", passed, "[odd] detail")]
    monkeypatch.setattr(conformance, "check", lambda method, device: iter(findings))
    result = invoke("check", "map")
    assert result.exit_code == code
    assert "second: [odd] detail" in result.stdout


def test_methods_check_passes_on_its_options(monkeypatch):
    given = []

    def check_each(names, jobs, on_method, device):
        given.append((names, jobs, device))
        return iter(())

    monkeypatch.setattr(parallel, "check_each", check_each)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert invoke("check", "map", "swa", "map", "--jobs", "3").exit_code == 0
    assert invoke("check", "map", "--device", "cuda:1").exit_code == 0
    assert given == [(["map", "swa"], 3, "cpu"), (["map"], None, "cuda:1")]


def test_check_of_all_methods_leaves_out_those_whose_library_is_not_installed(monkeypatch):
    given = []
    monkeypatch.setattr(parallel, "check_each", lambda names, *_: iter(given.extend(names) or ()))
    monkeypatch.setitem(sys.modules, "crepes", None)
    result = invoke("check", "--all")
    assert result.exit_code == 0
    assert "conformal-ridge: not checked, because it needs crepes, which is not installed" in result.stdout
    assert "map" in given
    assert "conformal-ridge" not in given
    invoke("check", "conformal-ridge")
    assert given[-1] == "conformal-ridge"


def test_methods_check_refuses_a_missing_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert "finds no CUDA device here" in invoke("check", "map", "--device", "cuda").stderr


def test_methods_check_refuses_unknown_or_missing_names():
    assert "did you mean 'map'" in invoke("check", "mapp").stderr
    assert invoke("check").exit_code == 2
    assert invoke("check", "map", "--all").exit_code == 2
