"""The command `lockstep-bench recalibrate RESULTS`: every score once more, after recalibration by one number."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import print as show

from lockstep_bench.shared.door import Door, examples

if TYPE_CHECKING:
    import pandas as pd

app = Door()
SHOWN = ("nmll", "coverage_90", "ece")  # of the table; the CSV file has all scores


@app.command(
    epilog=examples("lockstep-bench recalibrate results", "lockstep-bench recalibrate results --csv scores.csv")
)
def main(
    results: Annotated[Path, typer.Argument(help="Results folder with predictions, as run_all.py leaves it.")],
    csv: Annotated[Path | None, typer.Option(help="File for all scores, a row for each cell.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder.")] = None,
    device: Annotated[str, typer.Option(help="Where to train: cpu, cuda or cuda:N.")] = "cpu",
) -> None:
    """Train finished cells again on their validation folds, fit one factor or temperature, and score the test rows.

    The factor multiplies the standard deviation of a regression's predictions. It is fitted to held-out training rows.
    Cells that are recalibrated already are passed over. Hyper-parameters are those of the cell.
    """
    from lockstep_bench.bench.evaluation.recalibration import recalibrations
    from lockstep_bench.bench.experiment.parsing import parse_device
    from lockstep_bench.bench.experiment.request import InvalidRequest
    from lockstep_bench.shared.rows.recalibrated import read_recalibrated

    if not (results / "cells").is_dir():
        raise typer.BadParameter(f"{results} has no folder 'cells'; give the --out of a run")
    try:
        place = parse_device(device)
    except InvalidRequest as problem:
        raise typer.BadParameter(str(problem)) from None
    outcomes = list(recalibrations(results, data_dir, place))
    show(f"{sum(not each.reason for each in outcomes)} of {len(outcomes)} cells were recalibrated")
    for reason, count in Counter(each.reason for each in outcomes if each.reason).items():
        show(f"{count}: {reason}")
    rows = read_recalibrated(results).table.to_pandas().dropna(axis="columns", how="all")
    if csv:
        rows.to_csv(csv, index=False)
    if len(rows):
        _show_means(rows)


def _show_means(rows: "pd.DataFrame") -> None:
    """Print means over splits, with the factor's geometric mean, for each method on each data set."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from lockstep_bench.shared.rows.recalibrated import FACTOR

    names = [name for name in SHOWN if f"{name}_recalibrated" in rows]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in (
        "set",
        "method",
        "splits",
        "factor",
        *(f"{name}{part}" for name in names for part in ("", " rec.")),
    ):
        table.add_column(heading, justify="left" if heading in ("set", "method") else "right", no_wrap=True)
    for (dataset, method, _), group in rows.groupby(["dataset", "method", "protocol_hash"]):
        means = [group[column].mean() for name in names for column in (name, f"{name}_recalibrated")]
        texts = ["" if np.isnan(mean) else f"{mean:.3f}" for mean in means]
        table.add_row(str(dataset), str(method), str(len(group)), f"{np.exp(np.log(group[FACTOR]).mean()):.3f}", *texts)
    Console().print(table)


if __name__ == "__main__":
    app()
