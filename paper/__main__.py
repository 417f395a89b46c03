"""Makes the paper from kept rows: `python -m paper`."""

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from paper.claims import contradicted
from paper.evidence import Evidence
from paper.figures import draw
from paper.numbers import macros
from paper.tables import TABLES

SOURCE = Path(__file__).resolve().parent
ROOT = SOURCE.parent
SOURCES = ("paper.tex", "references.bib")
INSTALL = "apt-get install --no-install-recommends latexmk texlive-latex-recommended texlive-fonts-recommended"


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


def paper(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Results folder.")] = ROOT / "leaderboards/results",
    out: Annotated[Path, typer.Option("--out", help="Folder for the LaTeX files and the PDF.")] = ROOT / "build/paper",
    pdf: Annotated[bool, typer.Option("--pdf/--no-pdf", help="Whether to make the PDF, which needs LaTeX.")] = True,
) -> None:
    """Compute the numbers, tables and figures of the paper from kept rows, and make its PDF."""
    evidence = Evidence.read(results)
    write(evidence, out)
    typer.echo(f"LaTeX: {out / 'paper.tex'}")
    if wrong := contradicted(evidence):
        typer.echo("\n  ".join(["The rows do not support the text any more; correct paper.tex and claims.py:", *wrong]))
    if not pdf:
        return
    if shutil.which("latexmk") is None:
        typer.echo(f"latexmk is not installed, so there is no PDF; on Debian: {INSTALL}", err=True)
        raise typer.Exit(2)
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-quiet", "paper.tex"]
    if subprocess.run(command, cwd=out).returncode:
        typer.echo(f"LaTeX failed; its messages are in {out / 'paper.log'}", err=True)
        raise typer.Exit(1)
    typer.echo(f"PDF: {out / 'paper.pdf'}")


if __name__ == "__main__":
    typer.run(paper)
