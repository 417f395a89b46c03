"""Formulas of documents have the spaces of TeX, and break where two stand beside each other."""

import importlib.util
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / "docs" / "hooks" / "formulas.py"


@pytest.fixture(scope="module")
def mathml():
    """A function from LaTeX to the MathML of a formula in a line, or of one that stands alone."""
    spec = importlib.util.spec_from_file_location("formulas", HOOK)
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)

    def mathml(latex: str, alone: bool = False) -> str:
        start, end, tag = (r"\[", r"\]", "div") if alone else (r"\(", r"\)", "span")
        return hook.on_page_content(f'<{tag} class="arithmatex">{start}{latex}{end}</{tag}>')

    return mathml


def test_bars_around_a_norm_open_and_close(mathml):
    converted = mathml(r"2 |\theta|^2 + |b|")
    assert [converted.count(f'form="{form}"') for form in ("prefix", "postfix")] == [2, 2]


@pytest.mark.parametrize(
    ("latex", "spaces"),
    [
        (r"T \log \alpha", 'lspace="0.167em" rspace="0.167em">log'),
        (r"\log\, p", 'lspace="0" rspace="0">log'),
        (r"\exp(a)", 'lspace="0" rspace="0">exp'),
        (r"\sigma_{\max}", 'lspace="0" rspace="0">max'),
        (r"N \operatorname{KL}\big(q\big)", 'lspace="0.167em" rspace="0">KL'),
    ],
)
def test_functions_stand_apart_from_operands_alone(mathml, latex, spaces):
    assert spaces in mathml(latex)


def test_signs_are_operators(mathml):
    converted = mathml(r"f(x; y) \sim N")
    assert "<mo>;</mo>" in converted
    assert "<mo>&#x0223C;</mo>" in converted


def test_formulas_beside_each_other_can_break_between_them(mathml):
    converted = mathml(r"a = b, \qquad c = d", alone=True)
    assert converted.startswith('<div class="formulas"><math')
    assert converted.count('display="block"') == 2
