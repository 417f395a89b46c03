"""The door to the methods."""

import pytest
from typer.testing import CliRunner

import bench.conformance
from bench.conformance import Finding
from methods.__main__ import app


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_list_shows_every_method_with_its_title_and_paper():
    shown = " ".join(invoke("list").stdout.split())
    for part in ("vifa-lr", "Deep ensemble", "Blundell et al. 2015"):
        assert part in shown


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_check_prints_every_finding_and_fails_if_one_does(monkeypatch, passed, code):
    findings = [Finding("first", True, "fine"), Finding("second", passed, "[odd] detail")]
    monkeypatch.setattr(bench.conformance, "check", lambda method: iter(findings))
    result = invoke("check", "map")
    assert result.exit_code == code
    assert "second: [odd] detail" in result.stdout


def test_what_cannot_be_checked_is_refused():
    assert "did you mean 'map'" in invoke("check", "mapp").stderr
    assert invoke("check").exit_code == 2
    assert invoke("check", "map", "--all").exit_code == 2
