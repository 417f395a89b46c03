"""Units of differences between two methods: nats, ratios minus 1, or the unit of the metric."""

import re
from functools import cache

# Metrics that are compared by ratio; all others are compared by difference.
RATIOS = (
    r"rmse.*|crps|interval_score_.*|aug?rc_squared_error|rel_(mean|cov)|w2_scaled|regret|active_rmse_.*"
    r"|.*_seconds(_.*)?|peak_memory_mib|sgd_ratio"
)
NATS = r"(corrupted_|active_)?nmll.*|kl"


@cache
def compared_by_ratio(metric: str) -> bool:
    """Return whether two methods are compared by the ratio of their values of the metric, as with errors and costs."""
    return bool(re.fullmatch(RATIOS, metric))


def unit_of_difference(metric: str) -> str:
    """Return the unit of differences in a metric: "relative" (ratios minus 1), "nats", or "" for the metric's own."""
    return "relative" if compared_by_ratio(metric) else "nats" if re.fullmatch(NATS, metric) else ""
