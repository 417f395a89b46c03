"""Command line of the leaderboards: `python -m leaderboards COMMAND`, with `--help` for the list of commands."""

import typer

from leaderboards.cli.compare import compare
from leaderboards.cli.export import export
from leaderboards.cli.replications import replications
from leaderboards.cli.site import build, publish, serve
from leaderboards.cli.verdicts import rank, simulate

app = typer.Typer(
    help="Leaderboards from results folders: a web site, tables for papers and programs, comparisons of two runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (build, export, rank, simulate, publish, serve, compare, replications):
    app.command()(command)

if __name__ == "__main__":
    app(prog_name="python -m leaderboards")
