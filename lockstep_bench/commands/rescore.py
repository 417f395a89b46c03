"""The command `lockstep-bench rescore RESULTS --metrics nmll_dyadic`, which adds metrics from stored predictions."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich import print as show

from lockstep_bench.shared.door import Door, examples

app = Door()


@app.command(epilog=examples("lockstep-bench rescore results --metrics nmll_dyadic,energy_score"))
def main(
    results: Annotated[Path, typer.Argument(help="Results folder with predictions, as run_all.py leaves it.")],
    names: Annotated[str, typer.Option("--metrics", help="Names of columns, with commas: nmll_dyadic,energy_score.")],
) -> None:
    """Add metrics to results that are older than the metrics, from their stored predictions. Nothing is trained.

    Metrics that a result already has stay as they are.
    """
    from lockstep_bench.bench.evaluation.rescoring import FROM_PREDICTIONS, rescored

    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in FROM_PREDICTIONS]:
        raise typer.BadParameter(
            f"{', '.join(unknown)}: not computed from predictions. Choose from {', '.join(FROM_PREDICTIONS)}"
        )
    if not (results / "cells").is_dir():
        raise typer.BadParameter(f"{results} has no folder 'cells'; give the --out of a run")
    outcomes = list(rescored(results, wanted))
    show(f"{sum(bool(each.added) for each in outcomes)} of {len(outcomes)} rows that lack a metric were filled")
    for reason, count in Counter(each.reason for each in outcomes if each.reason).items():
        show(f"{count}: {reason}")


if __name__ == "__main__":
    app()
