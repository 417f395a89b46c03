"""The benchmark: plan, training, evaluation, execution and storage of runs, each in a subpackage.

The allowed imports between subpackages are listed in pyproject.toml.
"""

from lockstep_bench.full_name import require_full_name

require_full_name(__name__)
