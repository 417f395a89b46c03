"""Shared by all tests: one thread each, since the runner already uses every core; and methods that go wrong."""

import ast
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from methods.catalogue import registry

torch.set_num_threads(1)

FAULTY = Path(__file__).with_name("faulty.py")


@pytest.fixture(scope="session")
def skip_unless_required() -> Callable[[str, str], None]:
    """`skip_unless_required(variable, reason)`: skip the test, or fail it where that environment variable is 1."""

    def skip_unless_required(variable: str, reason: str) -> None:
        if os.environ.get(variable) == "1":
            pytest.fail(f"{reason}, and {variable}=1 asks for it")
        pytest.skip(reason)

    return skip_unless_required


@pytest.fixture
def install_faulty() -> Callable[..., Path]:
    """Installs the methods of `faulty.py` into a folder, as pip would; `others` are further entry points."""

    def install(site: Path, **others: str) -> Path:
        info = site / "faulty-1.0.dist-info"
        info.mkdir(parents=True)
        shutil.copy(FAULTY, site)
        classes = [node for node in ast.parse(FAULTY.read_text()).body if isinstance(node, ast.ClassDef)]
        names = {ast.literal_eval(node.body[0].value): node.name for node in classes}
        points = {name: f"faulty:{kind}" for name, kind in names.items()} | others
        lines = [f"[{registry.GROUP}]", *(f"{name} = {target}" for name, target in points.items())]
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(lines))
        return site

    return install


@pytest.fixture
def faulty(install_faulty, tmp_path, monkeypatch):
    """The methods of `faulty.py` are installed, here and in processes that are started from here."""
    monkeypatch.syspath_prepend(install_faulty(tmp_path / "site"))
    registry._targets.cache_clear()
    yield
    registry._targets.cache_clear()
