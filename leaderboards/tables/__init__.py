"""Tables for papers and readmes: one suite, preset and metric, methods by data sets, a caption that stands alone.

Imports `leaderboards.stats` and below.
"""

from leaderboards.tables.latex import latex
from leaderboards.tables.layout import Table, tables
from leaderboards.tables.markdown import markdown

__all__ = ["Table", "latex", "markdown", "tables"]
