"""The benchmark itself, in rooms: what is run, how it is trained, judged, executed and stored.

Imports point down (pyproject.toml).
"""

from lockstep_bench.full_name import require_full_name

require_full_name(__name__)
