"""The text of the paper names only what the generator makes, and no result is typed by hand."""

import re

import pytest
from documents.commands import problem_with
from typer.testing import CliRunner

from lockstep_bench.leaderboards.data.rechecks import DIFFERENT, EQUAL, Again
from paper import __main__ as command
from paper.claims import CLAIMS
from paper.comparisons import COMPARISONS
from paper.figures import FIGURES
from paper.numbers import names
from paper.quoted import ERROR_COLUMNS, QUOTES, ROOT, SCENARIOS, PassageNotFound, Quote, errors, speeds
from paper.tables import TABLES

SOURCE = ROOT / "paper"
LATEX_NAMES = {"Big", "Omega"}  # commands of LaTeX itself that begin with a capital letter


def body() -> str:
    text = (SOURCE / "paper.tex").read_text(encoding="utf-8").partition(r"\begin{document}")[2]
    return re.sub(r"(?<!\\)%.*", "", text)


def arguments(name: str) -> set[str]:
    found = re.findall(rf"\\{name}\*?(?:\[[^]]*\])*{{([^}}]*)}}", body())
    return {argument.strip() for group in found for argument in group.split(",")}


def test_text_uses_exactly_the_defined_numbers():
    used = set(re.findall(r"\\([A-Z][A-Za-z]*)", body())) - LATEX_NAMES
    assert used == set(names())
    assert len(names()) == len(set(names()))


def test_numbers_in_the_text_end_with_braces():
    """LaTeX would swallow the space after a macro without them."""
    for name in names():
        assert not re.search(rf"\\{name}(?![A-Za-z{{])", body()), name


def test_no_decimal_number_is_typed_by_hand():
    assert not re.findall(r"\d+\.\d+", body())


def test_text_includes_exactly_the_made_tables_and_figures():
    assert arguments("tablefile") == set(TABLES)
    assert arguments("figurefile") == set(FIGURES)


def test_every_citation_is_in_the_bibliography():
    keys = re.findall(r"^@\w+{([^,]+),$", (SOURCE / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    cited = set().union(*(arguments(name) for name in ("cite", "citep", "citet", "citealp")))
    assert len(keys) == len(set(keys))
    assert cited == set(keys)


def test_every_reference_has_a_label():
    labels = re.findall(r"\\label{([^}]*)}", body())
    assert len(labels) == len(set(labels))
    assert arguments("ref") <= set(labels)
    floats = {label for label in labels if label.startswith(("fig:", "tab:"))}
    assert floats <= arguments("ref")


def test_documents_named_in_the_text_exist():
    named = re.findall(r"docs/[\w-]+\.md", body())
    assert named
    assert all((ROOT / name).is_file() for name in named)


@pytest.mark.parametrize("name", COMPARISONS)
def test_commands_of_comparisons_are_valid(name):
    assert not problem_with(COMPARISONS[name].command("nmll"))


@pytest.mark.parametrize("name", QUOTES)
def test_quoted_numbers_are_in_their_documents(name):
    assert re.search(r"\d", QUOTES[name].found())


def test_quote_of_a_lost_passage_names_the_document():
    with pytest.raises(PassageNotFound, match=r"docs/speed\.md has no passage"):
        Quote("docs/speed.md", r"no such (\d+) passage").found()


def test_columns_of_error_rates_are_those_of_the_document():
    text = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    head = next(line for line in text.splitlines() if line.startswith("| scenario |"))
    columns = [cell.strip() for cell in head.strip("|").split("|")][1:]
    assert {columns[place]: place for place in ERROR_COLUMNS.values()} == ERROR_COLUMNS
    for scenario in SCENARIOS:
        assert re.fullmatch(r"\d+\.\d", errors(scenario)[0]), scenario


def test_networks_are_faster_in_stacks_than_alone():
    for method, points in speeds().items():
        alone, *stacked = [time for _, time in points]
        assert all(time < alone / 10 for time in stacked), method


class Rechecks:
    def __init__(self, outcome: str):
        self.rechecked = [Again("uci", "yacht", "map", "tuned", "", 0, 0, "nmll", 1.0, 1.0, 0.1, None, None, outcome)]


def test_statement_that_rows_contradict_is_found():
    check = CLAIMS["No kept recheck differs."]
    assert check(Rechecks(EQUAL))
    assert not check(Rechecks(DIFFERENT))


@pytest.fixture
def _without_rows(monkeypatch):
    """Commands read and write nothing."""
    monkeypatch.setattr(command.Evidence, "read", lambda folder: None)
    monkeypatch.setattr(command, "write", lambda evidence, out: None)
    monkeypatch.setattr(command, "contradicted", lambda evidence: [])


@pytest.mark.usefixtures("_without_rows")
def test_missing_latex_is_named_with_its_packages(monkeypatch, tmp_path):
    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    done = CliRunner().invoke(command.app, ["--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "latexmk is not installed" in done.stderr
    assert "texlive-latex-recommended" in done.stderr


@pytest.mark.usefixtures("_without_rows")
def test_contradicted_statements_fail_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "contradicted", lambda evidence: ["A is better than b."])
    done = CliRunner().invoke(command.app, ["--out", str(tmp_path), "--no-pdf"])
    assert done.exit_code == 1
    assert "A is better than b." in done.stderr


def test_missing_results_folder_is_named(tmp_path):
    done = CliRunner().invoke(command.app, [str(tmp_path / "none"), "--no-pdf"])
    assert done.exit_code == 2
    assert "does not exist" in done.stderr
