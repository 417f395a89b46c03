"""LaTeX to MathML."""

import xml.etree.ElementTree as ET

import pytest

from lockstep_bench.leaderboards.wording.formulas import ATTRIBUTES, ELEMENTS, formula
from lockstep_bench.methods.catalogue.cards import families


def test_latex_fraction_becomes_a_mathml_fraction():
    root = ET.fromstring(formula(r"\frac{\alpha}{2}"))
    assert root.tag == "math"
    (fraction,) = root.iter("mfrac")
    assert ["".join(node.itertext()) for node in fraction] == ["α", "2"]


@pytest.mark.parametrize("name", families())
def test_every_built_in_objective_converts_to_mathml(name):
    objective = families()[name]["objective"]
    root = ET.fromstring(formula(objective))
    assert root.tag == "math"
    assert "\\" not in "".join(root.itertext()), "a command that the converter does not know"


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{color:red}{x}",
        r"\frac{",
        "x & y",
    ],
)
def test_formulas_of_plug_ins_contain_no_scripts(latex):
    root = ET.fromstring(formula(latex))
    assert root.tag in ("math", "code")
    for node in root.iter():
        assert root.tag == "code" or node.tag in ELEMENTS
        assert set(node.attrib) <= ATTRIBUTES
