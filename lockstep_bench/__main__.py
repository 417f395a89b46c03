"""The command line `lockstep-bench run|datasets|methods|leaderboards|...`, or `python -m lockstep_bench`.

The code of a command is imported only when the command is called, so that `--help` answers at once.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from lockstep_bench.shared.door import Door, examples

NAME = "lockstep-bench"
# Name -> where the command is, and what it does.
COMMANDS = {
    "run": ("lockstep_bench.run", "Compare methods on data sets, or on a table of your own, and build a leaderboard."),
    "datasets": ("lockstep_bench.datasets.__main__", "List, fetch and check data sets; make a package of your own."),
    "methods": ("lockstep_bench.commands.methods", "List methods, check one against the contract, start a new one."),
    "leaderboards": (
        "lockstep_bench.leaderboards.__main__",
        "Pages, tables, rankings and comparisons from results folders.",
    ),
    "recalibrate": ("lockstep_bench.commands.recalibrate", "Score cells after one factor on their predictive spread."),
    "rescore": ("lockstep_bench.commands.rescore", "Fill metrics into older rows from their kept predictions."),
}
# All that follows the name of a command, --help included, is for the command.
FORWARDED = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}

app = Door(
    no_args_is_help=True,
    epilog=examples(
        "lockstep-bench run --suite uci --datasets yacht,boston --methods vifa,swag",
        "lockstep-bench leaderboards rank results --suite uci --metric nmll",
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"{NAME} {version(NAME)}")
        raise typer.Exit


@app.callback()
def main(
    asked: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Compare approximate-inference methods for Bayesian neural networks."""


def _forward(name: str, module: str) -> Callable[[typer.Context], None]:
    def run(ctx: typer.Context) -> None:
        import_module(module).app(ctx.args, prog_name=f"{NAME} {name}")

    return run


for name, (module, does) in COMMANDS.items():
    app.command(name, help=does, add_help_option=False, context_settings=FORWARDED)(_forward(name, module))

if __name__ == "__main__":
    app(prog_name="python -m lockstep_bench")
