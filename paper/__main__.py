"""Makes the paper from kept rows: `python -m paper`."""

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench.shared.door import Door
from paper.claims import contradicted
from paper.evidence import Evidence
from paper.figures import draw
from paper.numbers import macros
from paper.tables import TABLES

SOURCE = Path(__file__).resolve().parent
ROOT = SOURCE.parent
SOURCES = ("paper.tex", "references.bib")
LATEX = ("latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-quiet", "paper.tex")
INSTALL = "apt-get install --no-install-recommends latexmk texlive-latex-recommended texlive-fonts-recommended"

app = Door()


@app.command()
def paper(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Results folder.")] = ROOT / "leaderboards/results",
    out: Annotated[Path, typer.Option("--out", help="Folder for the LaTeX files and the PDF.")] = ROOT / "build/paper",
    pdf: Annotated[bool, typer.Option("--pdf/--no-pdf", help="Whether to make the PDF, which needs LaTeX.")] = True,
) -> None:
    """Compute the numbers, tables and figures of the paper from kept rows, and make its PDF.

    Exit code: 0 if all is well, 1 if the rows contradict a statement of the text or LaTeX fails, 2 if rows or LaTeX are
    missing.
    """
    evidence = Evidence.read(results)
    write(evidence, out)
    typer.echo(f"LaTeX: {out / 'paper.tex'}")
    wrong = contradicted(evidence)
    if wrong:
        typer.echo("The rows do not support these statements; correct paper/paper.tex and paper/claims.py:", err=True)
        typer.echo("\n".join(f"  {statement}" for statement in wrong), err=True)
    if pdf:
        typer.echo(f"PDF: {_compiled(out)}")
    raise typer.Exit(int(bool(wrong)))


def write(evidence: Evidence, out: Path) -> None:
    """Write the text with all that it includes into a folder: numbers.tex, tables/, figures/."""
    for folder in ("tables", "figures"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        shutil.copy(SOURCE / name, out / name)
    (out / "numbers.tex").write_text(macros(evidence), encoding="utf-8")
    for name, table in TABLES.items():
        (out / "tables" / f"{name}.tex").write_text(table(evidence), encoding="utf-8")
    draw(evidence, out / "figures")


def _compiled(out: Path) -> Path:
    """Return the PDF of the text in a folder; exit with a message if LaTeX is not installed or fails."""
    if shutil.which(LATEX[0]) is None:
        typer.echo(f"No PDF: {LATEX[0]} is not installed. On Debian: {INSTALL}. --no-pdf leaves the PDF out.", err=True)
        raise typer.Exit(2)
    if subprocess.run(LATEX, cwd=out, capture_output=True).returncode:
        typer.echo(f"No PDF: LaTeX failed; see {out / 'paper.log'}.", err=True)
        raise typer.Exit(1)
    return out / "paper.pdf"


if __name__ == "__main__":
    app()
