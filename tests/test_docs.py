"""Every link in a text leads somewhere, and every test that it names exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def anchors(text: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a text."""
    headings = re.findall(r"^#+ (.+)$", text.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.name)
def test_every_link_in_documents_resolves(text):
    for link in re.findall(r"\]\(([^)\s]+)\)", text.read_text()):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = text.parent / file if file else text
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.name)
def test_tests_named_in_documents_exist(text):
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text.read_text()):
        nodes = ast.parse((ROOT / file).read_text()).body
        assert name in [node.name for node in nodes if isinstance(node, ast.FunctionDef)], f"{file}::{name}"


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.name)
def test_rows_of_tables_stand_on_lines_of_their_own(text):
    inside = False
    for line in re.sub(r"^```.*?^```$", "", text.read_text(), flags=re.MULTILINE | re.DOTALL).splitlines():
        ruler = re.search(r"\|[:-]*---", line)
        if inside or ruler:
            inside = line.lstrip().startswith("|")
            assert not inside or line.rstrip().endswith("|"), line
            assert not ruler or re.fullmatch(r"[|: -]+", line), line
            assert inside or not line or not line[0].isalnum(), line
