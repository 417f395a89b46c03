"""Names in LaTeX tables, and pages that hold them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
from lockstep_bench.leaderboards.tables import latex, tables
from lockstep_bench.leaderboards.tables.latex import escaped

KEPT = Path(__file__).resolve().parents[3] / "leaderboards" / "results"
OVERFULL = 1.0  # pt


@pytest.mark.parametrize(("name", "written"), [("[2ex]", "{[}2ex]"), ("*", "{*}"), ("a[2]*", "a[2]*")])
def test_brackets_in_names_are_escaped_in_latex(name, written):
    assert escaped(name) == written


def test_remarks_become_notes_below_the_latex_table(cells):
    rows = [{"split": split, "nmll": 1.0 + split / 10, "dataset": name} for split in range(3) for name in "xy"]
    text = latex(tables(cells(*rows, *({"split": 3, "dataset": name, "status": "failed"} for name in "xy"))))
    assert text.count(r"\textsuperscript{a}") == 3  # both numbers, and one note
    assert r"\textsuperscript{a} 1 failed." in text


def test_parts_of_a_split_table_reference_the_first(cells):
    text = latex(tables(cells(*({"method": f"method-{number}", "nmll": 1.0} for number in range(50)))))
    assert text.count(r"\begin{table}") == 2
    assert r"\caption{Continued from Table~\ref{tab:uci-paper-nmll}.}" in text
    assert text.count(r"\label{") == 1


@pytest.fixture(scope="module")
def kept_tables():
    """All methods of the kept rows, by the metric that leads each suite, and by two others."""
    cells = with_labelled_presets(read_results(KEPT).cells)
    return latex(tables(cells)), latex(tables(cells, ["rmse", "accuracy"]))


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "twocolumn"])
def test_tables_of_stored_results_fit_the_page(kept_tables, tmp_path, options):
    for text in kept_tables:
        assert_fits(text, tmp_path, options)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "twocolumn"])
def test_tables_with_unusual_names_fit_the_page(cells, tmp_path, options):
    values = {0: 1.0, 1: 1.1, 2: 1.2, 3: float("inf"), 4: -3e7}
    rows = [
        {"dataset": dataset, "method": method, "preset": "p" * 200, "split": split, "nmll": value}
        for dataset in ("d" * 100, *(f"data-{number}" for number in range(12)))
        for method in ("m" * 100, r"a_b&50%$#{}~^\<|>*`[x]\"", *(f"method-{number}" for number in range(40)))
        for split, value in values.items()
    ]
    assert_fits(latex(tables(cells(*rows))), tmp_path, options)


def assert_fits(text, folder, options):
    """Compile the tables in an article, twice for its references, and fail on what is larger than the page."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed (texlive-latex-base, texlive-latex-recommended)")
    (folder / "tables.tex").write_text(text)
    lines = [rf"\documentclass[{options}]{{article}}", r"\usepackage{booktabs,graphicx}", r"\extrafloats{100}"]
    lines += [r"\begin{document}", r"\input{tables}", r"\end{document}"]
    (folder / "article.tex").write_text("\n".join(lines))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "article.tex"]
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-3000:]
    wide = [line for line in done.stdout.splitlines() if (found := OVER.match(line)) and float(found[1]) > OVERFULL]
    assert not wide
    assert "Float too large" not in done.stdout
    assert "undefined" not in done.stdout


OVER = re.compile(r"Overfull \\[hv]box \(([\d.]+)pt")
