"""Rows of the catalogue and the classes that they name."""

import ast
import importlib
from pathlib import Path

import pytest

from lockstep_bench import methods
from lockstep_bench.methods import api, full_covariance_vi, hmc, laplace, slang, vbll
from lockstep_bench.methods.base import Described, Method
from lockstep_bench.methods.catalogue.rows import rows
from lockstep_bench.methods.vifa import VIFA


@pytest.mark.parametrize("row", rows().values(), ids=lambda row: row.name)
def test_catalogue_entries_set_only_attributes_of_methods(row):
    method = methods.get(row.name)
    assert type(method).__name__ == row.class_name
    assert row.facts.keys() <= {*Described.__annotations__, *Method.__annotations__, *VIFA.__annotations__}


def test_class_attributes_equal_its_catalogue_entry():
    for row in rows().values():
        cls = getattr(importlib.import_module(row.module), row.class_name)
        named = rows()[cls.name]
        assert named.class_name == row.class_name
        assert all(getattr(cls, fact) == value for fact, value in named.attributes().items())


def test_catalogue_entries_of_one_class_differ_in_attributes():
    one, five = methods.get("vifa-k1"), methods.get("vifa-k5")
    assert type(one) is type(five)
    assert (one.latent_dim, five.latent_dim, one.title) == (1, 5, "VIFA, K = 1, SGD")
    assert one.rates.choices == (0.01,)
    assert (methods.get("map").members, methods.get("deep-ensemble").members, Method.members) == (1, 5, 1)


@pytest.mark.parametrize("module", sorted({row.module for row in rows().values()}))
def test_methods_import_public_names_from_the_api_module(module):
    tree = ast.parse(Path(importlib.import_module(module).__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    of_ours = [node for node in imports if node.module.startswith("lockstep_bench") and node.module != api.__name__]
    assert not {alias.name for node in of_ours for alias in node.names} & set(api.__all__)
    assert f"from {api.__name__} import" in ast.unparse(tree)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("slang", slang.MAX_WEIGHTS),
        ("fcg-vi", full_covariance_vi.MAX_WEIGHTS),
        ("laplace-full", laplace.MAX_UNCERTAIN),
        ("laplace-marglik-full", laplace.MAX_UNCERTAIN),
        ("hmc", hmc.MAX_WEIGHTS),
        ("vbll", vbll.MAX_WEIGHTS),
    ],
)
def test_stated_network_size_limits_equal_the_codes(name, most):
    assert f"of up to {most:,} weights" in methods.get(name).limits
