"""Command line of the leaderboards: `python -m leaderboards COMMAND`, with `--help` for the list of commands."""

import gc
import os

from lockstep_bench.shared.door import Door
from lockstep_bench.leaderboards.cli.compare import compare
from lockstep_bench.leaderboards.cli.correlate import correlate
from lockstep_bench.leaderboards.cli.curves import curves
from lockstep_bench.leaderboards.cli.edges import edges
from lockstep_bench.leaderboards.cli.export import export
from lockstep_bench.leaderboards.cli.recheck import recheck
from lockstep_bench.leaderboards.cli.replications import replications
from lockstep_bench.leaderboards.cli.site import build, publish, serve
from lockstep_bench.leaderboards.cli.verdicts import rank, simulate

app = Door(
    help="Leaderboards from results folders: a web site, tables for papers and programs, comparisons of two runs.",
    no_args_is_help=True,
)
for command in (
    build,
    export,
    rank,
    curves,
    correlate,
    simulate,
    publish,
    serve,
    compare,
    replications,
    recheck,
    edges,
):
    app.command()(command)

if __name__ == "__main__":
    # 100,000 rows are millions of objects that all stay: to look through them took a seventh of the time of `build`.
    gc.set_threshold(200_000, 20, 100)
    # Arrow's own pool keeps what it has held once, a quarter of the memory. It is chosen when pyarrow is imported.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    app(prog_name="python -m leaderboards")
