"""One import name: `lockstep_bench` in a wheel and in a checkout, beside any other package called `datasets`."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("lockstep_bench", "bench", "methods", "datasets", "leaderboards")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "run_all.py")
LOAD = "import datasets; print(datasets.load_dataset('squad'))"
OURS = "from lockstep_bench import datasets, methods; print(datasets.entry('yacht').name, methods.names()[0])"


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A copy of this checkout, in which something can be built."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in (*FOLDERS, "benchmarks", "paper"):
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, copy)
    return copy


def as_on_windows(sources: Path, folder: Path) -> Path:
    """Copy sources as git checks them out without links: each is a file that has the path as its text."""
    copy = shutil.copytree(sources, folder, symlinks=True)
    for link in (copy / "lockstep_bench").iterdir():
        if link.is_symlink():
            target = os.readlink(link)
            link.unlink()
            link.write_text(target)
    return copy


def wheel_of(sources: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, sources]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory) -> Path:
    return wheel_of(sources, tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def other_datasets(tmp_path) -> Path:
    """A wheel of another package that is imported as `datasets`, as Hugging Face's is."""
    file = tmp_path / "datasets-4.0-py3-none-any.whl"
    info = "datasets-4.0.dist-info"
    with ZipFile(file, "w") as archive:
        archive.writestr("datasets/__init__.py", "def load_dataset(name):\n    return f'theirs: {name}'\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: datasets\nVersion: 4.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in archive.namelist()))
    return file


@pytest.fixture
def environment(tmp_path):
    """`environment(*words)` runs Python in a new environment; `environment.pip(*words)` installs there."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"

    def run(*words: str) -> str:
        libraries = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}  # numpy and others
        return subprocess.run(
            [python, *words], env=libraries, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    def pip(*words: str | Path, **variables: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", python, *words]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run.pip = pip
    return run


def names_in(wheel: Path) -> set[str]:
    return {name.partition("/")[0] for name in ZipFile(wheel).namelist()}


def test_wheel_installs_one_import_name(wheel):
    assert {name for name in names_in(wheel) if not name.endswith(".dist-info")} == {"lockstep_bench"}


def test_wheel_has_every_module_and_file(wheel, sources):
    packed = set(ZipFile(wheel).namelist())
    for folder in FOLDERS:
        for path in (sources / folder).rglob("*.*"):
            place = path.relative_to(sources)
            if path.is_file() and path.resolve() == path and path.suffix != ".md":
                own = place.is_relative_to("lockstep_bench")
                assert (place if own else "lockstep_bench" / place).as_posix() in packed


def test_package_coexists_with_another_named_datasets(wheel, other_datasets, environment):
    environment.pip("install", "--no-deps", "--no-index", other_datasets)
    environment.pip("install", "--no-deps", "--no-index", wheel)
    assert environment("-c", LOAD) == "theirs: squad\n"
    assert environment("-c", OURS) == "yacht vifa\n"
    assert environment("-c", f"{LOAD}; {OURS}; {LOAD}") == "theirs: squad\nyacht vifa\ntheirs: squad\n"
    environment.pip("uninstall", "--yes", "lockstep-bench")
    assert environment("-c", LOAD) == "theirs: squad\n"


def test_editable_install_has_one_import_name(sources, other_datasets, environment):
    environment.pip("install", "--no-deps", "--no-index", other_datasets)
    editable = ("install", "--no-deps", "--no-index", "--no-build-isolation")
    environment.pip(*editable, "--editable", sources, PYTHONPATH=sysconfig.get_path("purelib"))  # where setuptools is
    assert environment("-c", f"{LOAD}; {OURS}") == "theirs: squad\nyacht vifa\n"


def test_checkout_without_symbolic_links_works(sources, tmp_path):
    copy = as_on_windows(sources, tmp_path / "clone")
    program = "import lockstep_bench.methods as methods; print(methods.__file__)"
    clean = os.environ | {"PYTHONPATH": ""}
    shown = subprocess.run([sys.executable, "-c", program], cwd=copy, env=clean, check=True, capture_output=True)
    assert Path(shown.stdout.decode().strip()).is_relative_to(copy)
    wheel = wheel_of(copy, tmp_path / "wheel")
    assert "lockstep_bench/shared/schema.py" in ZipFile(wheel).namelist()


@pytest.mark.parametrize("module", ["methods", "datasets", "leaderboards"])
def test_module_commands_work_in_a_checkout(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert "Usage" in done.stdout


@pytest.mark.parametrize("statement", ["from methods.api import Method", "import bench.arrays", "import datasets"])
def test_short_import_names_raise_naming_the_full_ones(statement):
    done = subprocess.run([sys.executable, "-c", statement], cwd=ROOT, capture_output=True, text=True)
    package = statement.split()[1].partition(".")[0]
    assert done.returncode == 1
    assert f"write `from lockstep_bench import {package}`" in done.stderr


def test_error_for_a_moved_command_names_its_module():
    done = subprocess.run([sys.executable, "-m", "bench.speed"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "write `python -m benchmarks.speed`" in done.stderr


def test_importing_the_package_does_not_import_torch():
    program = "import lockstep_bench, sys; print({'torch', 'numpy', 'pandas'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout == b"set()\n"


def test_package_version_equals_the_projects():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    program = "import lockstep_bench; print(lockstep_bench.__version__)"
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == declared
