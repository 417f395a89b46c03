"""The page *Data audit*: facts such as copies of training rows in test parts, and the effect of repaired splits."""

from typing import Any

from lockstep_bench.leaderboards.data.audits import Audited
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.stats.repaired import repairs


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `audit.html`."""
    by_suite: dict[str, list[Audited]] = {}
    for each in site.audited.values():
        by_suite.setdefault(each.suite, []).append(each)
    return {"audited": by_suite, "repairs": repairs(site.cells)}
