"""Command line of the leaderboards: `python -m leaderboards COMMAND`, with `--help` for the list of commands."""

import atexit
import gc
import os
from collections.abc import Callable

from lockstep_bench.shared.door import Door, examples
from lockstep_bench.leaderboards.cli.compare import compare
from lockstep_bench.leaderboards.cli.correlate import correlate
from lockstep_bench.leaderboards.cli.curves import curves
from lockstep_bench.leaderboards.cli.edges import edges
from lockstep_bench.leaderboards.cli.export import export
from lockstep_bench.leaderboards.cli.recheck import recheck
from lockstep_bench.leaderboards.cli.replications import replications
from lockstep_bench.leaderboards.cli.site import build, publish, serve
from lockstep_bench.leaderboards.cli.submissions import standing, submit
from lockstep_bench.leaderboards.cli.verdicts import rank, simulate

Command = Callable[..., None]

app = Door(
    help="Leaderboards from results folders: a web site, tables for papers and programs, comparisons of two runs.",
    no_args_is_help=True,
    epilog=examples(
        "python -m leaderboards serve results", "python -m leaderboards rank results --suite uci --metric nmll"
    ),
)
EXAMPLES: dict[Command, tuple[str, ...]] = {
    build: ("build results --html site", "build results other-results --html site"),
    export: ("export results --format csv", "export results --suite uci --metric nmll --format latex"),
    rank: (
        "rank results --suite uci --metric nmll",
        "rank results --suite uci --metric rmse --methods map,swag --datasets boston,yacht --each",
        "rank results --suite uci --metric crps --wide",
    ),
    curves: ("curves results --metric nmll",),
    correlate: ("correlate results --suite uci --metrics nmll,rmse",),
    simulate: ("simulate --datasets 9 --splits 20 --repeats 200", "simulate --results results --suite uci"),
    publish: ("publish results --to branch:gh-pages",),
    serve: ("serve results",),
    compare: ("compare results-before results-after",),
    replications: ("replications results",),
    recheck: ("recheck results",),
    edges: ("edges results --suite uci",),
    submit: ('submit results --package mine --to submission --by "Ada Example"',),
    standing: ("standing submission",),
}
for command, lines in EXAMPLES.items():
    app.command(epilog=examples(*(f"python -m leaderboards {line}" for line in lines)))(command)

if __name__ == "__main__":
    # 100,000 rows are millions of objects that all stay: to look through them took a seventh of the time of `build`.
    gc.set_threshold(200_000, 20, 100)
    # Arrow's own pool keeps what it has held once, a quarter of the memory. It is chosen when pyarrow is imported.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    atexit.register(gc.freeze)  # at the end, Python would look through all objects again: a third of a second
    app(prog_name="python -m leaderboards")
