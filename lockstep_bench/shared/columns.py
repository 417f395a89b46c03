"""All columns and tables of results: those of `shared.schema`, and those of the suite `decisions`.

The code of `shared.schema` belongs to the identity of every kept row (`bench.experiment.code.identity_of`). What
concerns only this suite therefore has a module of its own, so that it leaves the identity of other rows as it was.
"""

import pyarrow as pa

from lockstep_bench.shared import schema

DECISIONS = {
    "regret": "expected reward of the best actions less that of the chosen ones, summed over all rounds; units of the "
    "reward. In a search for the largest target: sum of the largest targets of the pool less that of the chosen ones",
    "regret_uniform_ratio": "regret over the regret that is expected of uniformly random actions in the same rounds: 0 "
    "is optimal, 1 is chance",
    "simple_regret": "largest target of the pool less the largest that was found, over the standard deviation of the "
    "targets",
}

METRICS = {**schema.METRICS, **DECISIONS}

TABLES = (*schema.TABLES, "regrets", "simple_regrets")

_END_OF_METRICS = schema.CELLS.get_field_index(next(iter(schema.COSTS)))
_FIELDS = list(schema.CELLS)
CELLS = pa.schema(
    [*_FIELDS[:_END_OF_METRICS], *(pa.field(name, pa.float64()) for name in DECISIONS), *_FIELDS[_END_OF_METRICS:]]
)

# Regret of the first rounds, or simple regret after them, of the method and as expected of uniformly random actions.
REGRETS = pa.schema(
    [
        pa.field("round", pa.int64(), nullable=False),  # number of rounds
        pa.field("regret", pa.float64(), nullable=False),
        pa.field("regret_uniform", pa.float64(), nullable=False),
    ]
)
