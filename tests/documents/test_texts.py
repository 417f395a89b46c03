"""Markdown is cut into sections and blocks, with the comments that belong to them."""

import pytest
from documents.coverage import uncovered
from documents.texts import blocks


@pytest.fixture
def read(tmp_path):
    def read(text: str):
        path = tmp_path / "text.md"
        path.write_text(text)
        return blocks(path)

    return read


def test_markdown_comments_belong_to_the_preceding_block(read):
    first, second = read(
        "# Title\n\nA sentence. <!-- from x -->\n<!-- rows y -->\n\n<!-- in table: z -->\n\nAnother one.\n"
    )
    assert first.comments == ("from x", "rows y", "in table: z")
    assert (first.text.strip(), second.comments) == ("A sentence.", ())


def test_each_markdown_block_has_its_headings(read):
    assert [block.headings for block in read("# A\n\nx\n\n## B\n\ny\n\n## C\nz\n")] == [("A",), ("A", "B"), ("A", "C")]


def test_markdown_tables_are_parsed_without_rulers(read):
    (table,) = read("| a | b |\n|---|:-:|\n| `x` | 1.0 |\n")
    assert table.rows == [["a", "b"], ["`x`", "1.0"]]


@pytest.mark.parametrize(
    ("text", "decimals"),
    [
        ("0.92 ± 0.04 and 1,110.5, but not 12", ["0.92", "0.04", "1,110.5"]),
        (".0337 ± .0018", [".0337", ".0018"]),
        ("section 4.2, Tables 4.1 and 5.1, eq. 3.7, Appendix B.2", []),
        ("torch 2.13.0, Python 3.11, GCC 12.2, at 2.7 GHz", []),
        ("`lr=0.01` and [a link](page.md#1.5)", []),
    ],
)
def test_decimal_numbers_are_extracted_from_text(read, text, decimals):
    (block,) = read(text)
    assert block.decimals == decimals


def test_continued_code_lines_form_one_command(read):
    (block,) = read("    python -m benchmarks.speed \\\n        --stack 5\n")
    assert block.code == ["python -m benchmarks.speed --stack 5"]


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("It is 0.5.", ["0.5"]),
        ("It is 0.5. <!-- rows uci paper nmll: yacht map 0.5 -->", []),
        ("It is 0.5, not 0.6. <!-- rows uci paper nmll: yacht map 0.5 -->", ["0.6"]),
        ("`python -m benchmarks.speed` prints 0.5.", []),
        ("`tests/test_docs.py::test_tests_named_in_documents_exist` has 0.5.", []),
        ("Shown: <!-- from python -m benchmarks.speed -->\n\n| a |\n|---|\n| 0.5 |", []),
        ("Shown: <!-- from python -m benchmarks.speed -->\n\nIt is 0.5.", ["0.5"]),
        ("# A\n\n<!-- from python -m benchmarks.speed -->\n\n## B\n\nIt is 0.5.", []),
        ("## A\n\n<!-- from python -m benchmarks.speed -->\n\n## B\n\nIt is 0.5.", ["0.5"]),
    ],
)
def test_decimal_numbers_without_source_are_detected(read, text, lacking):
    assert [number for _, numbers in uncovered(read(text)) for number in numbers] == lacking
