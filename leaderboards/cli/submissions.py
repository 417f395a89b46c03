"""Commands for the results of methods of other packages: `submit`, `standing`."""

from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench.leaderboards.cli.options import Folders, notes_on, print_notes, read_folders, stop, stopping_on
from lockstep_bench.shared.options import folder
from lockstep_bench.shared.texts import visible


def submit(
    results: Folders,
    package: Annotated[
        Path, typer.Option("--package", metavar="DIR", help="Folder of the method's package, with pyproject.toml.")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", parser=folder, help="Folder to write.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Name of whoever ran the benchmark.")],
) -> None:
    """Write a folder with your method, its rows and the command that repeats some of them. Nothing is uploaded.

    Only rows of the methods that the package defines are taken. Their checks must have passed before they ran.
    """
    from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused
    from lockstep_bench.leaderboards.submissions.writing import SubmissionRefused, write_submission

    try:
        read = read_folders(results, cached=False)
        contents = write_submission(read, package, by, to)
    except (SubmissionRefused, PublishingRefused) as refusal:
        stop(str(refusal))
    except OSError as error:
        stop(f"the submission cannot be written to '{to}': {error.strerror or error}; choose another folder with --to")
    typer.echo(contents)
    typer.echo(visible(f"written to {to}, with a README.md for readers"))
    typer.echo(visible(f"run some of it again: lockstep-bench leaderboards recheck {to / 'results'} --cells 5"))
    print_notes(notes_on(read))


def standing(
    submissions: Annotated[list[Path], typer.Argument(metavar="SUBMISSION...", help="Folders that `submit` wrote.")],
) -> None:
    """Print whether submissions are self-reported, rechecked or reproduced; fail if files have changed."""
    from lockstep_bench.leaderboards.submissions.standing import STANDINGS, standing_of
    from lockstep_bench.leaderboards.submissions.writing import SubmissionRefused

    for each in submissions:
        with stopping_on(SubmissionRefused):
            found = standing_of(each)
        typer.echo(visible(f"{', '.join(found.methods)} by {found.by}, {found.contents}"))
        typer.echo(visible(f"  {found.state}: {STANDINGS[found.state]}"))
        if found.recheck:
            typer.echo(visible(f"  {found.recheck}"))
