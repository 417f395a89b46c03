"""The paper made from the kept rows: its files are complete, and its statements are those of the rows."""

import re

import pytest

from paper.__main__ import ROOT, write
from paper.claims import contradicted
from paper.comparisons import SEVEN
from paper.evidence import Evidence
from paper.figures import FIGURES
from paper.latex import effect
from paper.numbers import names
from paper.tables import DESIGN, GROUPS, TABLES


@pytest.fixture(scope="module")
def evidence():
    return Evidence.read(ROOT / "leaderboards/results", repeats=3)


@pytest.fixture(scope="module")
def out(evidence, tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    write(evidence, folder)
    return folder


def lines(out, name: str) -> list[list[str]]:
    text = (out / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    rows = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r" \\")]
    assert len({len(row) for row in rows}) == 1
    return rows[1:]


def test_every_number_of_the_paper_is_defined(out):
    found = dict(re.findall(r"\\newcommand{\\(\w+)}{(.+)}", (out / "numbers.tex").read_text(encoding="utf-8")))
    assert list(found) == names()
    for name, value in found.items():
        assert re.search(r"\d", value), name
        assert "nan" not in value, name
        assert "()" not in value, name


def test_tables_of_the_paper_have_a_row_for_each_method(out, evidence):
    assert len(lines(out, "main")) == 2 * len(SEVEN)
    assert len(lines(out, "groups")) == len(SEVEN) - 2
    assert len(lines(out, "groups")[0]) == 1 + len(GROUPS)
    assert len(lines(out, "design")) == len(DESIGN)
    assert len(lines(out, "elsewhere")) == len(evidence.ranking("gaps", "nmll").rows)
    assert [row[0] for row in lines(out, "main")[:2]] == [r"\texttt{sghmc}", r"\texttt{deep-ensemble}"]


def test_leaders_of_the_main_table_are_bold(out):
    for row in lines(out, "main"):
        assert all(cell.startswith(r"\textbf") == (row[0] == r"\texttt{sghmc}") for cell in row[1:])


def test_all_files_of_the_paper_are_written(out):
    for name in TABLES:
        assert (out / "tables" / f"{name}.tex").read_text(encoding="utf-8").startswith("% ")
    for name in FIGURES:
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (out / "paper.tex").is_file()
    assert (out / "references.bib").is_file()


def test_rows_support_every_statement_of_the_paper(evidence):
    assert not contradicted(evidence)


def test_differences_of_the_paper_are_those_of_the_readme(evidence):
    row, unit = evidence.rows("16-16-predicted", "nmll")["sghmc"], evidence.ranking("16-16-predicted", "nmll").unit
    assert effect(row, unit).replace("$-$", "−") in (ROOT / "README.md").read_text(encoding="utf-8")
