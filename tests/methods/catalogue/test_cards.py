"""Descriptions of methods, read without importing the methods."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from lockstep_bench import methods
from lockstep_bench.methods.catalogue import cards, registry
from lockstep_bench.methods.catalogue.rows import families, rows


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_method_cards_are_complete_and_agree_with_methods(name):
    card, method = methods.card(name), methods.get(name)
    assert card.title == method.title
    assert card.paper == f"{method.paper.authors}, {method.paper.title}"
    assert card.family_title == families()[card.family]["title"]
    assert card.idea.endswith(".")
    assert card.objective
    assert card.variant.endswith(".")


def test_every_family_has_a_method():
    estimators = {"batch-svd", "empirical", "empirical-window"}  # of streams, not methods
    assert families().keys() == {row.family for row in rows().values()} | estimators


def test_ensembles_and_unknown_methods_have_cards():
    assert methods.card("ensemble:swag").title == "Ensemble of SWAG"
    assert methods.card("ensemble:swag").objective == methods.card("swag").objective
    assert methods.card("no-such-method") == cards.Card("no-such-method", "no-such-method")


def test_method_cards_are_read_without_torch():
    code = "import sys; from lockstep_bench import methods; methods.card('vifa'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            'class Base:\n    paper = Paper("Me 2026", "A title")\n\n'
            'class Theirs(Base):\n    "One thing. Another."\n    name, title = "x", "X!"\n    objective = r"\\alpha"\n',
            ("X!", "Me 2026, A title", r"\alpha", "One thing."),
        ),
        (
            '"""Theirs: a method.\n\nIt minimises\n\n    a + b,\n      c,\n\nin time."""\nclass Theirs: pass\n',
            ("theirs", "", "", "", "Theirs: a method.", "a + b,\n  c"),
        ),
        ("class Theirs:\n    title = compute()\n", ("theirs", "", "", "")),
        ("class Theirs(Theirs): pass\n", ("theirs", "", "", "")),
        ("no valid Python", ("theirs", "", "", "")),
    ],
)
def test_third_party_card_is_read_from_source(monkeypatch, tmp_path, source, wanted):
    (tmp_path / "foreign_card.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("theirs", "foreign_card:Theirs", group)])
    registry._targets.cache_clear()
    try:
        card = methods.card("theirs")
    finally:
        registry._targets.cache_clear()
    read = (card.title, card.paper, card.objective, card.variant, card.idea, card.formula_text)
    assert read[: len(wanted)] == wanted
    assert "foreign_card" not in sys.modules
