"""Statistics over result rows: pure functions from frames to frozen records. Imports `leaderboards.wording` and below.

`paired` lays the rows of one suite, preset and metric out as splits x methods. The other functions take that table, or
the complete part of it:

    table = paired(cells, "uci", "paper", "nmll")
    complete = complete_blocks(table)    # the data sets that every method finished, and why others are left out
    ranks(table)                         # rank of each method on each data set
    win_rates(table)                     # fraction of data sets that the row's method wins against the column's
    critical_difference(complete.table)  # Friedman, Nemenyi, and the groups that do not differ significantly

`ranking` puts methods in order with verdicts whose error rates `leaderboards.simulation` measures:

    rank(cells, "uci", "paper", "nmll")              # over data sets
    rank_on_datasets(cells, "uci", "paper", "nmll")  # on each of them

One rule holds everywhere: a split that was run and has no value counts against the method. No value is imputed.
"""

from leaderboards.stats.complete import CompleteBlocks, complete_blocks
from leaderboards.stats.critical import CriticalDifference, critical_difference
from leaderboards.stats.paired import Paired, paired
from leaderboards.stats.ranking import Ranked, Ranking, rank, rank_on_datasets
from leaderboards.stats.ranks import ranks
from leaderboards.stats.wins import Wins, win_rates

__all__ = [
    "CompleteBlocks",
    "CriticalDifference",
    "Paired",
    "Ranked",
    "Ranking",
    "Wins",
    "complete_blocks",
    "critical_difference",
    "paired",
    "rank",
    "rank_on_datasets",
    "ranks",
    "win_rates",
]
