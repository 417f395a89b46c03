"""Statistics of results: pure functions from data frames to frozen records.

Imports `leaderboards.wording` and the layers below it.

`paired` arranges the results of one suite, preset and metric as a table of splits x methods:

    table = paired(cells, "uci", "paper", "nmll")
    win_rates(table)  # share of data sets on which the row's method is better than the column's

`ranking` puts methods in order with verdicts whose error rates `leaderboards.simulation` measures:

    rank(cells, "uci", "paper", "nmll")              # over data sets
    rank_on_datasets(cells, "uci", "paper", "nmll")  # on each of them

One rule holds everywhere: a split on which a method was run without getting a value counts as a failure of the method.
No value is imputed.
"""

from lockstep_bench.leaderboards.stats.paired import Paired
from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking, rank, rank_on_datasets
from lockstep_bench.leaderboards.stats.runs import paired
from lockstep_bench.leaderboards.stats.wins import Wins, win_rates

__all__ = [
    "Paired",
    "Ranked",
    "Ranking",
    "Wins",
    "paired",
    "rank",
    "rank_on_datasets",
    "win_rates",
]
