"""Declarations of the project are true: the packages it imports, and the versions in the lock file."""

import ast
import importlib.metadata
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
PACKAGES = ("bench", "benchmarks", "datasets", "leaderboards", "methods", "paper")
OUTSIDE = {path.stem for path in (ROOT / "tests" / "assets" / "outside").glob("*/src/*.py")}
SUPPORT = {path.stem for path in (ROOT / "tests" / "support").iterdir()}
# The last two are made by tests.
OURS = {"lockstep_bench", "benchmarks", "paper", *OUTSIDE, *SUPPORT, "my_method", "calls_of_tests"}
# Imports inside functions of `leaderboards` that are guarded, as its dependency group has none of them.
GUARDED = {"optuna"}


def declared(requirements: Iterable[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


RUNTIME = declared(PROJECT["project"]["dependencies"])
BY_MODULE = importlib.metadata.packages_distributions()
OF_EXTRAS = declared(EXTRAS["cluster"] + EXTRAS["reference"] + EXTRAS["lines"])


def modules(*names: str) -> Iterator[Path]:
    for name in names:
        yield from sorted((ROOT / name).rglob("*.py")) if (ROOT / name).is_dir() else [ROOT / name]


def distributions(paths: Iterable[Path]) -> set[str]:
    """Names of the distributions whose modules these files import, anywhere in them."""
    roots = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                roots |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                roots.add(node.module.partition(".")[0])
    foreign = roots - OURS - sys.stdlib_module_names
    return {canonicalize_name(BY_MODULE.get(root, [root])[0]) for root in foreign}


def test_every_import_of_the_code_is_declared():
    used = distributions(modules(*PACKAGES, "lockstep_bench", "run_all.py"))
    # In the template of a method's test, in comparisons with other packages, and methods with weights to download.
    elsewhere = {"pytest", "bde", "posteriors", "torchopt", "tabpfn", "tabicl"}
    elsewhere |= {"ivon", "laplace", "lightning-uq-box", "torch-uncertainty", "vbll"}
    assert used - elsewhere <= RUNTIME | OF_EXTRAS
    assert used >= {"numpy", "torch", "distributed"}


def test_every_import_of_the_tests_is_declared():
    assert distributions(modules("tests")) <= RUNTIME | OF_EXTRAS | declared(EXTRAS["test"])


def test_leaderboards_imports_only_its_dependency_group():
    used = distributions(modules("leaderboards", "lockstep_bench/__init__.py", "lockstep_bench/shared"))
    assert used - GUARDED <= declared(PROJECT["dependency-groups"]["leaderboards"])


def test_package_contains_a_py_typed_marker():
    assert (ROOT / "lockstep_bench" / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["lockstep_bench"]


def test_locked_versions_satisfy_the_declared_ranges():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = [line for name in ("cluster", "docs", "reference", "test") for line in EXTRAS[name]]
    for requirement in map(Requirement, PROJECT["project"]["dependencies"] + extras):
        if requirement.name != PROJECT["project"]["name"]:
            assert locked[canonicalize_name(requirement.name)] in requirement.specifier, requirement
    assert not any("+" in version or "/" in version for version in locked.values())


@pytest.mark.parametrize("listed", ["INTEGRATION", "RETRIED", "LINUX", "POSIX"])
def test_test_files_listed_in_conftest_exist(request, listed):
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    for path in getattr(conftest, listed):
        assert (ROOT / "tests" / path).exists()


def test_same_version_is_stated_everywhere():
    version = PROJECT["project"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## \[(\S+)\]", changes, re.MULTILINE)[1] == version
    assert f"version: {version}\n" in citation
    assert re.search(rf"## \[{re.escape(version)}\] - (\S+)", changes)[1] in citation


def test_zenodo_metadata_equals_the_citation():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    for name in ("title", "version", "license", "keywords"):
        assert zenodo[name] == citation[name], name
    assert zenodo["description"] == citation["abstract"]
    assert zenodo["publication_date"] == str(citation["date-released"])
    assert [one["name"] for one in zenodo["creators"]] == [one["name"] for one in citation["authors"]]


def test_reliability_page_names_existing_tests():
    """Each row of docs/reliability.md is about a test; a row below an empty line would be no row of its table."""
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"\| `(tests/\S+\.py)::(\w+)` \|$", page, re.MULTILINE)
    assert len(named) > 50
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no {test}"
    assert not re.search(r"\|\n\n\| (?!attack|what)", page)
