"""Exit codes of a run, and handling of the errors and signals that stop it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from lockstep_bench.bench.console import display
from lockstep_bench.bench.console.signals import Terminated, terminating
from lockstep_bench.bench.experiment.request import InvalidRequest

NOT_OK, INVALID, NOT_STORED, NO_PROCESS, INTERRUPTED = 1, 2, 3, 4, 130


@contextmanager
def stops(out: Path) -> Iterator[None]:
    """Turn errors and signals that stop a run in the `with` block into a message and an exit code."""
    from lockstep_bench.bench.results.lock import InUse
    from lockstep_bench.bench.results.storage import NotStored, cannot_store

    try:
        with terminating():
            yield
    except Terminated as signal:
        display.show_terminated(signal.name, out)
        raise typer.Exit(signal.exit_code) from None
    except KeyboardInterrupt:
        display.show_terminated("Ctrl-C", out)
        raise typer.Exit(INTERRUPTED) from None
    except (InUse, InvalidRequest) as problem:
        display.show_error(str(problem))
        raise typer.Exit(INVALID) from None
    except NotStored as problem:
        display.show_not_stored(problem.reason, out, problem.cells)
    except OSError as problem:
        if not cannot_store(problem, [out]):
            raise
        display.show_not_stored(problem, out)
    else:
        return
    raise typer.Exit(NOT_STORED)
