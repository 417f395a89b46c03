"""Compares the time forecasts of a dry run with the jobs' actual times: `python -m benchmarks.forecasts`.

    python -m benchmarks.forecasts --datasets yacht,boston,wdbc --methods map,vifa,laplace --preset quick --splits 0
    python -m benchmarks.forecasts --datasets yacht --methods map,mfvi --preset tuned --splits 0-4

Each job is forecast as `run_all.py --dry-run` does without earlier results: by a probe in a worker's process. Then all
jobs run, one after the other, in one worker's process, the first of them twice: the first time it imports, which a plan
counts as the start of the process. Times are seconds of computing of the process and of those that it starts, so that
other work on the machine changes them little.
"""

from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench.shared.door import Door
from benchmarks.forecast_jobs import compare
from lockstep_bench.bench.experiment.parsing import parse_names, parse_splits
from lockstep_bench.bench.experiment.request import Request

app = Door()


@app.command()
def main(
    datasets: Annotated[str, typer.Option(help="Names of data sets.")] = "yacht,boston,wdbc",
    methods: Annotated[str, typer.Option(help="Names of methods.")] = "map,laplace,mfvi,vifa",
    preset: Annotated[str, typer.Option(help="Preset of the suite.")] = "quick",
    suite: Annotated[str, typer.Option(help="Suite.")] = "uci",
    splits: Annotated[str, typer.Option(help="Splits, which share jobs.")] = "0",
    data_dir: Annotated[Path | None, typer.Option(help="Data folder.")] = None,
) -> None:
    """Print the forecast of each job, the seconds that it took, and the ratio of the two."""
    names, sets = parse_names("--methods", methods), parse_names("--datasets", datasets)
    request = Request(suite, preset, names, sets, parse_splits(splits), {}, 0)
    typer.echo("| data set | method | cells | forecast, s | took, s | ratio | basis | status |")
    typer.echo("|---|---|---|---|---|---|---|---|")
    for compared in compare(request, data_dir):
        typer.echo(str(compared))


if __name__ == "__main__":
    app()
