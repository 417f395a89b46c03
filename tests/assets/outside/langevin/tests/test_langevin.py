"""The method keeps the contract of lockstep-bench."""

from langevin import SGLD

from lockstep_bench.bench.conformance import check


def test_method_passes_the_conformance_checks():
    broken = [f"{finding.check}: {finding.detail}" for finding in check(SGLD()) if not finding.passed]
    assert not broken, "\n".join(broken)
