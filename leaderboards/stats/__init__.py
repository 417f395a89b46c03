"""Statistics over result rows: pure functions from frames to frozen records. Imports `leaderboards.wording` and below.

`paired` lays the rows of one suite, preset and metric out as splits x methods:

    table = paired(cells, "uci", "paper", "nmll")
    win_rates(table)  # share of data sets on which the row's method is better than the column's

`ranking` puts methods in order with verdicts whose error rates `leaderboards.simulation` measures:

    rank(cells, "uci", "paper", "nmll")              # over data sets
    rank_on_datasets(cells, "uci", "paper", "nmll")  # on each of them

One rule holds everywhere: a split that was run and has no value counts against the method. No value is imputed.
"""

from lockstep_bench.leaderboards.stats.paired import Paired, paired
from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking, rank, rank_on_datasets
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
