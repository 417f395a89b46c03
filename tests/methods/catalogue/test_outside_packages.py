"""Packages in `assets/outside`, which import only `methods.api`, pass the check and run like built-in methods."""

import importlib
import shutil
from pathlib import Path

import pytest

from lockstep_bench.bench import conformance

ROOT = Path(__file__).resolve().parents[3]
OUTSIDE = ROOT / "tests" / "assets" / "outside"
CLASSES = {"vadam": "Vadam", "langevin": "SGLD"}
SLOW = ("trains natively", "cost")


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_third_party_packages_pass_the_conformance_checks(name, monkeypatch):
    monkeypatch.syspath_prepend(OUTSIDE / name / "src")
    module = importlib.import_module(name)
    rules = [title for title in conformance.RULES if title not in SLOW]
    findings = list(conformance.check(getattr(module, CLASSES[name])(), rules))
    assert len(findings) == len(rules)
    assert [finding for finding in findings if not finding.passed or finding.warned] == []


@pytest.mark.slow
@pytest.mark.xdist_group("outside")
def test_installed_third_party_packages_run(outside):
    outcomes = {(name, outside[name]["status"], outside[name]["checked"]) for name in CLASSES}
    assert outcomes == {("vadam", "ok", "not checked"), ("langevin", "ok", "not checked")}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_installed_third_party_package_passes_every_check(name, shell, tmp_path):
    shutil.copytree(OUTSIDE / name, tmp_path / "work" / name)
    shell(f"pip install -e {name}")
    printed = shell(f"python -m methods check {name}")
    assert printed.count(" ok ") == len(conformance.RULES)
    assert "1 passed" in shell(f"python -m pytest -q {name}")
