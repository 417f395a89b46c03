"""All columns and tables of results: those of `shared.schema`, and those of two suites that came later.

The code of `shared.schema` belongs to the identity of every kept row (`bench.experiment.code.identity_of`). What
concerns only the suites `decisions` and `function-posterior` therefore has a module of its own, so that it leaves the
identity of other rows as it was.
"""

import pyarrow as pa

from lockstep_bench.shared import schema

ACQUIRED = {"variance": "by variance", "bald": "by BALD", "random": "at random"}  # training rows of active learning

DECISIONS = {
    "regret": "expected reward of the best actions less that of the chosen ones, summed over all rounds; units of the "
    "reward. In a search for the largest target: sum of the largest targets of the pool less that of the chosen ones",
    "regret_uniform_ratio": "regret over the regret that is expected of uniformly random actions in the same rounds: 0 "
    "is optimal, 1 is chance",
    "simple_regret": "largest target of the pool less the largest that was found, over the standard deviation of the "
    "targets",
    **{
        f"active_ratio_{name}": f"active_rmse_{name} over active_rmse_random: below 1, choosing rows {words} is better "
        "than at random"
        for name, words in ACQUIRED.items()
        if name != "random"
    },
    **{
        f"active_rmse_{name}": f"RMSE at test points over the standard deviation of the targets, with training rows "
        f"chosen {words}; mean over the fits after each batch"
        for name, words in ACQUIRED.items()
    },
    **{
        f"active_nmll_{name}": f"NMLL at test points with training rows chosen {words}, mean over the fits after each "
        "batch; nats, original units"
        for name, words in ACQUIRED.items()
    },
}

FUNCTIONS = {
    "predictive_w2": "2-Wasserstein distance between the predictive and that of the reference posterior, in "
    "standard deviations of the latter, mean over inputs",
    "function_w2": "2-Wasserstein distance between the function and the reference's at an input, in standard "
    "deviations of the latter, mean over inputs",
    "function_cov": "Frobenius distance of the covariance of the function between inputs from the reference's, "
    "relative to the latter's norm",
}

LATER = {**DECISIONS, **FUNCTIONS}

METRICS = {**schema.METRICS, **LATER}

TABLES = (*schema.TABLES, "regrets", "simple_regrets", "learning")

_END_OF_METRICS = schema.CELLS.get_field_index(next(iter(schema.COSTS)))
_FIELDS = list(schema.CELLS)
CELLS = pa.schema(
    [*_FIELDS[:_END_OF_METRICS], *(pa.field(name, pa.float64()) for name in LATER), *_FIELDS[_END_OF_METRICS:]]
)

# Regret of the first rounds, or simple regret after them, of the method and as expected of uniformly random actions.
REGRETS = pa.schema(
    [
        pa.field("round", pa.int64(), nullable=False),  # number of rounds
        pa.field("regret", pa.float64(), nullable=False),
        pa.field("regret_uniform", pa.float64(), nullable=False),
    ]
)

# Scores at test points during active learning, by the acquisition function of the training rows.
LEARNING = pa.schema(
    [
        pa.field("acquisition", pa.string(), nullable=False),  # a key of `ACQUIRED`
        pa.field("n_train", pa.int64(), nullable=False),
        pa.field("rmse", pa.float64(), nullable=False),  # over the standard deviation of the targets
        pa.field("nmll", pa.float64(), nullable=False),
    ]
)
