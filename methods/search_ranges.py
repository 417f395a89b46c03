"""Search ranges that differ from the usual wide ones and those of images, apart from the methods' mathematics.

`methods.maths.search_spaces` has the usual ranges. A method names a table here in `wide_ranges` or `image_ranges`.
"""

from collections.abc import Mapping

from optuna.distributions import BaseDistribution

from lockstep_bench.methods.maths.priors import PENALTY_WEIGHTS
from lockstep_bench.methods.maths.search_spaces import LogUniform, OneOf

Ranges = Mapping[str, BaseDistribution]

DROPOUT_WIDE: Ranges = {"prior_precision": LogUniform(1e-4, 1e3), "dropout_rate": LogUniform(1e-3, 0.5)}
DROPOUT_IMAGES: Ranges = {"dropout_rate": LogUniform(0.05, 0.5)}

# Much slower, SLANG hardly leaves its start; faster, it diverges: at 0.2 on boston, at 0.3 on yacht.
SLANG_WIDE: Ranges = {"lr": LogUniform(1e-3, 0.1)}
SLANG_IMAGES: Ranges = {"lr": LogUniform(0.005, 0.08)}  # as on UCI data

# The prior precision of inducing weights is relative to the paper's prior; that of other methods is absolute.
INDUCING_WIDE: Ranges = {"prior_precision": LogUniform(1e-3, 1e2)}
INDUCING_IMAGES: Ranges = {"prior_precision": LogUniform(0.1, 10)}

COLLAPSED_WIDE: Ranges = {"penalty_weight": LogUniform(1e-3, 10)}
# Wei and Khardon use 5 on images (section 6.1). The first value is that of a run without tuning.
DIRECTUQ_L2_IMAGES: Ranges = {"penalty_weight": OneOf(5.0, *(eta for eta in PENALTY_WEIGHTS if eta != 5.0))}
DIRECTUQ_WIDE: Ranges = {"penalty_weight": LogUniform(1e-4, 100)}
