"""Tables for papers and readmes: one suite, preset and metric, methods by data sets, a caption that stands alone.

Imports `leaderboards.stats` and below.
"""

from lockstep_bench.leaderboards.tables.latex import latex
from lockstep_bench.leaderboards.tables.layout import LayoutTable, tables
from lockstep_bench.leaderboards.tables.markdown import markdown

__all__ = ["LayoutTable", "latex", "markdown", "tables"]
