"""The registry of built-in, third-party and broken methods."""

import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from lockstep_bench import methods
from lockstep_bench.methods.catalogue import registry

OLD_CONTRACT = """
from lockstep_bench.methods.map import MAP
class Theirs(MAP):
    name = 'bad'
    def update(self, problem, state, batch, hparams, noise, t):
        return state
"""


@pytest.fixture
def foreign(monkeypatch, tmp_path):
    """Registers entry points of modules written on the spot."""

    def register(**modules: str):
        for name, source in modules.items():
            (tmp_path / f"foreign_{name}.py").write_text(source)
        points = [EntryPoint(name, f"foreign_{name}:Theirs", registry.GROUP) for name in modules]
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(registry, "entry_points", lambda group: points)
        registry._targets.cache_clear()

    yield register
    registry._targets.cache_clear()


def test_built_in_methods_load_and_describe_themselves():
    assert set(registry.BUILT_IN) <= set(methods.names())
    for name in registry.BUILT_IN:
        assert methods.get(name).name == name
        assert methods.describe(name)


@pytest.mark.parametrize("name", ["gp", "gp(n_inducing=10)", "constant", "sghmc-noiseless(chains=1,draws=1)"])
def test_lines_without_a_rank_have_none_with_options_either(name):
    assert not methods.is_ranked(name)
    assert methods.is_ranked(f"my-{name}")


def test_headline_methods_have_different_papers():
    assert set(methods.headline()) <= set(methods.names())
    assert len({methods.get(name).paper for name in methods.headline()}) == len(methods.headline())


def test_misspelt_method_name_gets_a_suggestion():
    with pytest.raises(methods.UnknownMethod, match=r"'viifa' is unknown; did you mean 'vifa'\?"):
        methods.get("viifa")


def test_listing_methods_does_not_import_torch():
    code = "import sys; from lockstep_bench import methods; [methods.describe(n) for n in methods.names()]; "
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_entry_point_method_is_listed_without_import(foreign):
    source = (
        '"""Mine: a method."""\nfrom lockstep_bench.methods.map import MAP\nclass Theirs(MAP):\n    name = "mine"\n'
    )
    foreign(mine=source)
    assert methods.names()[-1] == "mine"
    assert methods.describe("mine") == "Mine: a method."
    assert "foreign_mine" not in sys.modules
    assert methods.get("mine").name == "mine"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("class Other: pass", "has no attribute 'Theirs'. The module defines no subclass of Method; write one"),
        (
            "from lockstep_bench.methods.map import MAP\nclass Mine(MAP): pass\nclass Also(MAP): pass",
            "no attribute 'Theirs'. The module's subclasses of Method: Mine, Also. Change .* bad = .foreign_bad:Mine",
        ),
        ("class Other: pass\nOther.missing", "type object 'Other' has no attribute 'missing'$"),
        (
            "from lockstep_bench.methods.map import MAP\nclass Theirs(MAP):\n    name = 'else'",
            "has the attribute name = 'else'",
        ),
        ("import sys\nsys.exit('usage: script')", "SystemExit: usage: script"),
        ("class Theirs:\n    name = 'bad'", "is a Theirs, not a lockstep_bench.methods.api.Method"),
        ("def Theirs(): pass", "is a NoneType, not a"),
        ("def broken(:", "SyntaxError"),
        (
            "from lockstep_bench.methods.gaussian import kl_diagonal",
            "No module named 'lockstep_bench.methods.gaussian'; import .* from `lockstep_bench.methods.api`",
        ),
        (
            "from lockstep_bench.methods.base import Adam",
            "import what a method needs from `lockstep_bench.methods.api`",
        ),
        (
            OLD_CONTRACT,
            "Theirs.update must accept .problem, state, batch, noise, step.: hyper-parameters are now part of",
        ),
        (OLD_CONTRACT, "write `problem.hparams.lr` for `hparams.lr`, `problem.nll.weights, batch.` for"),
    ],
)
def test_broken_method_is_reported_with_its_reason(foreign, source, complaint):
    foreign(bad=source)
    sys.modules.pop("foreign_bad", None)
    with pytest.raises(methods.BrokenMethod, match=complaint):
        methods.get("bad")
    assert re.search(complaint, methods.problem_with("bad"))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "map",
            "'map' belongs to lockstep_bench.methods.map:MAP, and foreign_map:Theirs has it too. Give .* another name",
        ),
        ("..", r"cannot be called '..': names have letters, digits and ._\+- only"),
        ("headline", "cannot be called 'headline': on the command line the word names several methods"),
    ],
)
def test_third_party_method_with_taken_name_is_refused(foreign, name, complaint):
    foreign(**{name: "from lockstep_bench.methods.map import MAP\nclass Theirs(MAP): pass"})
    with pytest.raises(methods.BrokenMethod, match=complaint):
        methods.get(name)


def test_error_names_a_folder_shadowing_the_module(foreign, tmp_path):
    foreign(bad="")
    (tmp_path / "foreign_bad.py").unlink()
    (tmp_path / "foreign_bad").mkdir()
    sys.modules.pop("foreign_bad", None)
    with pytest.raises(methods.BrokenMethod, match="folder 'foreign_bad' beside you hides the module"):
        methods.get("bad")


@pytest.mark.parametrize("name", ["mine", "ensemble:mine", "mine(width=2)"])
def test_unknown_method_with_a_package_folder_is_to_be_installed(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert "pip install" not in str(methods.UnknownMethod(name))
    (tmp_path / "mine" / "pyproject.toml").touch()
    with pytest.raises(methods.UnknownMethod, match=r"is not installed, .* run `pip install -e mine`"):
        methods.get(name)


@pytest.mark.parametrize("name", ["", ".", "..", "/", "x" * 10_000, "a\0b"])
def test_names_that_are_no_folder_are_unknown(monkeypatch, tmp_path, name):
    (tmp_path / "inside").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "inside" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "inside")
    assert "is unknown" in str(methods.UnknownMethod(name))
