"""Tables for papers and readmes, each of one suite, preset and metric: methods by data sets, with a full caption.

Imports `leaderboards.stats` and the layers below it.
"""

from lockstep_bench.leaderboards.tables.latex import latex
from lockstep_bench.leaderboards.tables.layout import LayoutTable, tables
from lockstep_bench.leaderboards.tables.markdown import markdown

__all__ = ["LayoutTable", "latex", "markdown", "tables"]
