"""Command line of the posteriors of networks: `python -m datasets references`."""

from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench.shared.door import Door, examples
from lockstep_bench import datasets
from lockstep_bench.shared.options import folder

app = Door()
UNKNOWN = "not compared"


@app.command(epilog=examples("python -m datasets references", "python -m datasets references ref-gap-17"))
def references(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Posteriors, as the list names them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Take all posteriors.")] = False,
    remake: Annotated[
        bool, typer.Option("--remake", help="Sample with HMC and NUTS; write the draws of HMC and how far both agree.")
    ] = False,
    archive: Annotated[
        Path | None,
        typer.Option(parser=folder, help="Write the kept draws with Croissant metadata to this new folder."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", parser=folder, help="Data folder.")] = None,
) -> None:
    """List the reference posteriors of networks, with the agreement of HMC and NUTS on each.

    For those named, print R-hat and the number of effective draws: of the checkout's draws if checksum and definition
    are right, else of draws in the cache, which HMC samples if there are none.
    """
    from lockstep_bench.bench.reference import croissant, kept
    from lockstep_bench.datasets.references.networks import definitions

    chosen = tuple(definitions()) if every else tuple(names or ())
    if unknown := [name for name in chosen if name not in definitions()]:
        raise typer.BadParameter(f"{unknown[0]!r} is not a reference posterior; choose from {', '.join(definitions())}")
    if remake and not chosen:
        raise typer.BadParameter("--remake needs the names of posteriors, or --all")
    if archive and (chosen or remake):
        raise typer.BadParameter("--archive writes the draws of all posteriors; leave out names, --all and --remake")
    if archive:
        typer.echo(f"wrote {len(croissant.write(archive))} files to {archive}")
        return
    for name in chosen:
        try:
            source, dataset = datasets.entry(name), datasets.load(name, data_dir)
        except datasets.Unavailable as problem:
            typer.echo(str(problem), err=True)
            raise typer.Exit(1) from None
        if remake:
            typer.echo(f"{name}: {kept.remade(source, dataset)['verdict']}")
        else:
            facts = kept.reference_of(source, dataset).facts
            typer.echo(f"{name}: R-hat {facts['r_hat']:.4f}, {facts['effective_samples']:.0f} effective draws")
    if not chosen:
        typer.echo("\n".join(table()))


def table() -> list[str]:
    """Return the agreement of all posteriors as the lines of a Markdown table."""
    from lockstep_bench.bench.reference.kept import agreements
    from lockstep_bench.datasets.references.networks import definitions

    rows = agreements()
    headings = (
        *("posterior", "weights", "noise", "R-hat, HMC", "NUTS", "effective draws, HMC", "NUTS"),
        *("means apart, errors", "sds apart, errors", "samplers"),
    )
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for name in definitions():
        if row := rows.get(name):
            cells = (
                *(row["weights"], row["noise"], f"{float(row['r_hat']):.4f}", f"{float(row['other_r_hat']):.4f}"),
                *(f"{float(row['effective']):.0f}", f"{float(row['other_effective']):.0f}"),
                *(f"{float(row['z_mean']):.1f}", f"{float(row['z_sd']):.1f}", row["verdict"]),
            )
        else:
            cells = (*("",) * 8, UNKNOWN)
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    app(prog_name="python -m datasets references")
