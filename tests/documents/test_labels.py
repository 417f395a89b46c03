"""Tables of sentences have labels for narrow screens, and tables of numbers are left alone."""

import importlib.util
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / "docs" / "hooks" / "tables.py"
SENTENCE = "a sentence that has six words"


@pytest.fixture(scope="module")
def page():
    """The hook's function from the HTML of a page to that with labels."""
    spec = importlib.util.spec_from_file_location("tables", HOOK)
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook.on_page_content


def table(headings: list[str], cells: list[str]) -> str:
    """Return a table of one row."""
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{''.join(cells)}</tr></tbody></table>"


def test_cells_of_tables_of_sentences_have_the_headings_of_their_columns(page):
    headings = ["name", "<code>a</code> &amp; b", "meaning"]
    cells = ["<td>x</td>", '<td style="text-align: right;">1</td>', f"<td>{SENTENCE}</td>"]
    labelled = page(table(headings, cells))
    assert labelled.startswith("<table data-rows>")
    assert '<td data-label="name">x</td><td data-label="a &amp; b" style="text-align: right;">1</td>' in labelled
    assert f'<td data-label="meaning">{SENTENCE}</td>' in labelled


@pytest.mark.parametrize(
    "texts",
    [["x", SENTENCE], ["x", "0.1 ± 0.2", "−1 (−2 to +3)"], [SENTENCE, *"1234"]],
    ids=["two columns", "numbers", "names of rows"],
)
def test_other_tables_are_left_alone(page, texts):
    other = table(texts, [f"<td>{text}</td>" for text in texts])
    assert page(other) == other
