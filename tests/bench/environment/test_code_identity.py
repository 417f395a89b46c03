"""The identity of code changes with what a number depends on, and with nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from lockstep_bench.bench.environment import code_identity as module
from lockstep_bench.bench.environment.code_identity import code_identity

CACHES = (
    module.code_identity,
    module._facts,
    module._imports,
    module._names_from_elsewhere,
    module._file,
)
MINE = '''"""Mine."""
from lockstep_bench import methods


def f(x: int) -> int:
    """Double."""
    return 2 * x


class Mine(methods.Base):
    def g(self):
        from lockstep_bench.bench import metrics

        return metrics.score()
'''
METRICS = """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockstep_bench.bench import pages

def score():
    return 1
"""
FILES = {
    "methods/__init__.py": "from lockstep_bench.methods.base import Base\n",
    "methods/base.py": "class Base:\n    size = 1\n",
    "methods/mine.py": MINE,
    "methods/other.py": "from lockstep_bench.methods.base import Base\n",
    "bench/__init__.py": "",
    "bench/metrics.py": METRICS,
    "bench/pages.py": "TITLE = 1\n",
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder of small packages in the place of the project's."""
    for name, source in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    monkeypatch.setattr(module, "folder_of", lambda package: tmp_path / package)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for cached in CACHES:
        cached.cache_clear()


def identity(*modules: str) -> str:
    forget()
    return code_identity(modules)


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("methods/mine.py", "2 * x", "3 * x"),
        ("methods/mine.py", "def f(x: int)", "def f(x: int = 1)"),
        ("methods/base.py", "size = 1", "size = 2"),  # through the package's __init__.py
        ("bench/metrics.py", "return 1", "return 2"),  # imported inside a function
    ],
)
def test_identity_changes_with_code_that_affects_results(root, file, old, new):
    before = identity("methods.mine")
    edit(root / file, old, new)
    assert identity("methods.mine") != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("methods/mine.py", '"""Mine."""', '"""Yours."""'),
        ("methods/mine.py", '"""Double."""', '"""Twice.\n\n    Indeed.\n    """'),
        ("methods/mine.py", '    """Double."""\n', ""),
        ("methods/mine.py", "return 2 * x", "return (2 *\n        x)  # twice"),
        ("methods/mine.py", "def f(x: int) -> int", "def f(x: float) -> float"),
        ("methods/other.py", "Base\n", "Base\n\nx = 1\n"),  # another method
        ("bench/pages.py", "TITLE = 1", "TITLE = 2"),  # imported only for type checking
    ],
)
def test_docstrings_comments_and_other_modules_do_not_change_identity(root, file, old, new):
    before = identity("methods.mine")
    edit(root / file, old, new)
    assert identity("methods.mine") == before


def test_identity_ignores_the_package_prefix_in_imports(root):
    """Rows that were run when the packages had no common name keep their identity."""
    long = identity("lockstep_bench.methods.mine")
    for file in root.rglob("*.py"):
        text = file.read_text().replace("from lockstep_bench import methods", "import methods")
        file.write_text(text.replace("from lockstep_bench import", "import").replace("lockstep_bench.", ""))
    assert identity("methods.mine") == long


def test_identity_includes_given_facts_and_further_modules(root):
    assert len({code_identity(("methods.mine",), fact) for fact in ("", "1.0", "2.0")}) == 3
    assert identity("methods.mine") != identity("methods.mine", "bench.pages")
    assert identity("methods.mine") == identity("methods.mine", "methods.base")  # which it imports


def test_third_party_methods_identity_includes_its_imports(root, monkeypatch):
    (root / "adapter_of_mine.py").write_text("from lockstep_bench.methods.base import Base\n")
    monkeypatch.syspath_prepend(root)
    before = identity("adapter_of_mine")
    edit(root / "methods/base.py", "size = 1", "size = 2")
    assert (between := identity("adapter_of_mine")) != before
    edit(root / "adapter_of_mine.py", "Base\n", "Base\n\nx = 1\n")
    assert identity("adapter_of_mine") != between


def test_error_names_an_unknown_module(root):
    with pytest.raises(ImportError, match=r"'methods\.absent'"):
        identity("methods.absent")


def test_identity_is_the_same_in_every_process():
    code = "from lockstep_bench.bench.experiment.code import identity_of; print(identity_of('uci', 'yacht', 'vifa'))"
    identities = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in "ab"
    }
    assert len(identities) == 1
