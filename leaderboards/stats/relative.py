"""What differences to a reference method refer to: ratios, or differences in the unit of the metric."""

import re

REFERENCE = "map"

# Metrics that are compared by ratio; all others are compared by difference.
RATIOS = r"rmse.*|crps|rel_(mean|cov)|w2_scaled|.*_seconds(_.*)?|peak_memory_mib|sgd_ratio"
NATS = r"(corrupted_)?nmll.*|kl"


def compared_by_ratio(metric: str) -> bool:
    """Return whether values of a metric are compared by their ratio."""
    return bool(re.fullmatch(RATIOS, metric))


def unit_of_difference(metric: str) -> str:
    """Return the unit of a difference between two values of a metric: "nats", or "" for the metric's own."""
    return "nats" if re.fullmatch(NATS, metric) else ""
