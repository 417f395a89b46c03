"""Provenance of cells, and results of cells whose process died; importing this module does not import torch."""

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.checks import outcome_of_check
from lockstep_bench.bench.experiment.code import identity_of
from lockstep_bench.bench.results.record import CellResult, Outcome, Provenance

NOT_NATIVE = "not trained natively: "  # begins lines of logs; the reason follows


def result_of_lost_process(cell: Cell, device: str, outcome: Outcome, elapsed_seconds: float) -> CellResult:
    """Return a result for a cell whose process died before it returned one.

    Args:
        cell: The cell.
        device: Name of the process's device.
        outcome: Outcome with the status and the reason.
        elapsed_seconds: Duration of the job.
    """
    return CellResult(cell=cell, outcome=outcome, provenance=provenance(cell, device), elapsed_seconds=elapsed_seconds)


def provenance(cell: Cell, device: str) -> Provenance:
    """Return the provenance of a cell that was run now by this code, given the name of the device."""
    identity = identity_of(cell.suite, cell.dataset, cell.method)
    return Provenance.now(device, identity, outcome_of_check(cell.method))
