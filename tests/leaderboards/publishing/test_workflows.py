"""The workflows of continuous integration: their commands exist and do what the next step needs."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.publishing import publish_to_folder
from lockstep_bench.shared.columns import CELLS

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OURS = {"lockstep_bench"}
PINNED = re.compile(r"uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
LOCKED = ROOT / ".github" / "requirements"


def read(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_only_githubs_own_actions_run_pinned_by_commit(path):
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert len(used) == sum("uses" in step for step in steps(yaml.safe_load(path.read_text())))
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_workflows_pin_each_action_to_one_commit():
    used = {step["uses"] for path in WORKFLOWS for step in steps(yaml.safe_load(path.read_text())) if "uses" in step}
    assert len({action.partition("@")[0] for action in used}) == len(used)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_pip_installs_only_packages_pinned_by_hash(path):
    # What uv installs are the lowest versions allowed, and packages of this checkout.
    commands = [step["run"] for step in steps(yaml.safe_load(path.read_text())) if "pip install" in step.get("run", "")]
    by_pip = [command for command in commands if "uv pip install" not in command]
    assert by_pip
    for command in by_pip:
        assert "--require-hashes" in command
        assert (ROOT / shlex.split(command)[-1]).is_file()


@pytest.mark.parametrize("path", sorted(LOCKED.glob("*.txt")), ids=lambda path: path.name)
def test_locked_packages_have_hashes_and_no_url(path):
    text = path.read_text()
    versions = locked(path)
    assert versions
    for requirement in re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip()):
        assert re.fullmatch(r"[a-z0-9-]+==\S+( \\\n +--hash=sha256:[0-9a-f]{64})+", requirement), requirement
    assert "://" not in text


def test_leaderboards_lock_file_contains_its_dependency_group():
    versions, tested = locked(LOCKED / "leaderboards.txt"), locked(ROOT / "requirements.lock")
    group = [Requirement(line) for line in PROJECT["dependency-groups"]["leaderboards"]]
    for requirement in group:
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier
    assert with_dependencies(PROJECT["dependency-groups"]["leaderboards"]) <= versions.keys()
    assert {name: tested[name] for name in versions} == versions


def test_dependabot_watches_actions_and_locked_packages():
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    watched = {update["package-ecosystem"]: update["directory"] for update in updates}
    assert watched == {"github-actions": "/", "pip": f"/{LOCKED.relative_to(ROOT).as_posix()}"}


def locked(path):
    """Versions by package."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", path.read_text(), re.MULTILINE))


def test_only_the_pages_deployment_has_write_permission():
    for name in ("tests.yml", "nightly.yml", "release.yml", "recheck.yml", "submissions.yml"):
        assert read(name)["permissions"] == {"contents": "read"}
    leaderboard = read("leaderboard.yml")
    assert leaderboard["permissions"] == {}
    assert leaderboard["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert leaderboard["jobs"]["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_ci_tests_lowest_and_newest_package_versions():
    jobs = read("nightly.yml")["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    pythons = jobs["newest"]["strategy"]["matrix"]["python"]
    lowest = next(step["with"]["python-version"] for step in jobs["lowest"]["steps"] if "setup" in step.get("uses", ""))
    assert commands["newest"] == [".ci/run"]
    assert any("--resolution lowest-direct" in command for command in commands["lowest"])
    assert PROJECT["project"]["requires-python"].startswith(f">={lowest}")
    assert lowest in pythons
    assert len(pythons) == 2
    assert "make coverage" in commands["coverage"]


def test_every_push_runs_unit_tests_on_each_os():
    unit = read("tests.yml")["jobs"]["unit"]
    assert unit["strategy"]["matrix"]["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert unit["steps"][-1]["run"].endswith('-m "not slow and not integration"')


def test_release_tests_its_wheel_in_a_clean_environment():
    commands = [step["run"] for step in steps(read("release.yml")) if "run" in step]
    assert [command.split()[-2] for command in commands[1:]] == ["--outdir", "--strict", ".ci/wheel"]
    readme = re.search(r"`python run_all.py (--suite uci)`", (ROOT / "README.md").read_text())
    assert f"lockstep-bench run {readme[1]}" in (ROOT / ".ci" / "wheel").read_text()


def test_ci_runs_the_test_commands_of_the_readme():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    for script in ("run", "browser", "wheel"):
        assert (ROOT / ".ci" / script).stat().st_mode & 0o111
        subprocess.run(["bash", "-n", str(ROOT / ".ci" / script)], check=True)


def test_pages_workflow_builds_with_only_its_installed_packages(tmp_path, row):
    commands = [step["run"] for step in steps(read("leaderboard.yml")) if "run" in step]
    install, publish = (next(c for c in commands if part in c) for part in ("pip install", "leaderboards publish"))
    group = PROJECT["dependency-groups"][Path(shlex.split(install)[-1]).stem]
    assert set(group) <= set(PROJECT["project"]["dependencies"])
    results = tmp_path / "leaderboards" / "results"
    (results / "cells").mkdir(parents=True)
    rows = [row(split=split, method=method, nmll=1.0 + split) for split in range(2) for method in ("vifa", "map")]
    pq.write_table(pa.Table.from_pylist(rows, schema=CELLS), results / "cells" / "uci.parquet")

    python, dash_m, module, *words = shlex.split(publish)
    assert (python, dash_m) == ("python", "-m")
    run_with_only(with_dependencies(group), module, words, tmp_path)

    (deployed,) = (step["with"]["path"] for step in steps(read("leaderboard.yml")) if "path" in step.get("with", {}))
    publish_to_folder(read_results(results), tmp_path / "wanted")
    assert (tmp_path / deployed / "SHA256SUMS").read_text() == (tmp_path / "wanted" / "SHA256SUMS").read_text()


def run_with_only(names, module, words, folder):
    """Run `python -m module words` in `folder` as if of all distributions installed here only `names` were."""
    there = {name for name, sources in packages_distributions().items() if names & set(map(canonicalize_name, sources))}
    elsewhere = sorted(packages_distributions().keys() - there - OURS)
    code = f"""
import importlib.abc, runpy, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {elsewhere}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv = ["-m", *{words}]  # as `python -m` has them while it looks for the module
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def with_dependencies(requirements):
    """Names of the distributions that `pip install` would install for `requirements`."""
    found, left = set(), [Requirement(one) for one in requirements]
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(name)
            left += [Requirement(other) for other in requires(name) or []]
    return found
