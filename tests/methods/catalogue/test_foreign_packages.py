"""Packages that wrap scikit-learn pass the check and run, and `docs/foreign-libraries.md` shows the first as it is."""

import importlib
import re
import shutil
from pathlib import Path

import pytest

from lockstep_bench.bench import conformance

ROOT = Path(__file__).resolve().parents[3]
OUTSIDE = ROOT / "tests" / "assets" / "outside"
PAGE = (ROOT / "docs" / "foreign-libraries.md").read_text(encoding="utf-8")
CLASSES = {"sklearn-gp": "SklearnGP", "boosted": "Boosted"}
SLOW = "finite over its search spaces"  # of `boosted` a thousand trees per point


@pytest.mark.parametrize(("language", "file"), [("python", "src/sklearn_gp.py"), ("toml", "pyproject.toml")])
def test_documentation_shows_the_example_packages_files(language, file):
    (shown,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown == (OUTSIDE / "sklearn-gp" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CLASSES)
def test_example_packages_pass_the_conformance_checks(name, monkeypatch):
    monkeypatch.syspath_prepend(OUTSIDE / name / "src")
    module = importlib.import_module(name.replace("-", "_"))
    rules = [title for title in conformance.RULES if name != "boosted" or title != SLOW]
    findings = list(conformance.check(getattr(module, CLASSES[name])(), rules))
    assert len(findings) == len(rules)
    assert [finding for finding in findings if not finding.passed or finding.warned] == []


@pytest.mark.slow
@pytest.mark.xdist_group("outside")
def test_documented_commands_give_finished_cells(outside):
    here = ("sklearn-gp", "boosted", "linear", "map")
    assert {name: outside[name]["status"] for name in here} == dict.fromkeys(here, "ok")
    assert outside["boosted"]["crps"] < outside["boosted"]["rmse"]
    columns = outside["boosted"]["predictions"].column_names
    assert columns == ["row", "ood", "y", "mean", "variance", "levels", "values", "nll", "pit"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_installed_example_package_passes_every_check(name, shell, tmp_path):
    shutil.copytree(OUTSIDE / name, tmp_path / "work" / name)
    shell(f"pip install -e {name}")
    assert shell(f"python -m methods check {name}").count(" ok ") == len(conformance.RULES)
    assert "1 passed" in shell(f"python -m pytest -q {name}")
