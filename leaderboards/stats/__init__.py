"""What result rows say about methods, across data sets: pure functions from frames to frozen records.

Imports `leaderboards.data` and `leaderboards.wording`.

`paired` lays the rows of one suite, preset and metric out as splits x methods. The others take what it returns, or the
part of it that `common_ground` leaves:

    table = paired(cells, "uci", "paper", "nmll")
    ground = common_ground(table)      # what every method finished, and what was left out and why
    ranks(table)                       # per data set: rank, tie group, standing
    mean_ranks(ground.table)           # over data sets, with bootstrap intervals
    win_rates(table)                   # fraction of data sets that row wins against column
    critical_difference(ground.table)  # Friedman, Nemenyi, and the groups that bars join
    relative(table, "map")             # how much better than a reference

One rule holds everywhere: a split that was tried and left no value counts against the method, and no number is put in
its place.
"""

from leaderboards.stats.complete import Ground, common_ground
from leaderboards.stats.critical import CriticalDifference, critical_difference
from leaderboards.stats.paired import Paired, paired
from leaderboards.stats.ranks import mean_ranks, ranks
from leaderboards.stats.relative import Relative, relative
from leaderboards.stats.wins import Wins, win_rates

__all__ = [
    "CriticalDifference",
    "Ground",
    "Paired",
    "Relative",
    "Wins",
    "common_ground",
    "critical_difference",
    "mean_ranks",
    "paired",
    "ranks",
    "relative",
    "win_rates",
]
