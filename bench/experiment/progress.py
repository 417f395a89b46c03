"""Reports of the progress of a job (cells that a worker process runs together), at most once a second."""

import time
from collections.abc import Callable
from typing import NamedTuple

REPORT_SECONDS = 1.0


class JobProgress(NamedTuple):
    """Progress of a job.

    Attributes:
        done: Fraction of the training that is done; every group of fits that train together (stack) counts equally.
        activity: Other work that goes on, such as "sampling the reference"; "" during training.
        activity_done: Fraction of this other work that is done.
    """

    done: float
    activity: str = ""
    activity_done: float = 0.0


OnProgress = Callable[[JobProgress], None]


class ProgressReporter:
    """Reports the progress of a job at most once a second.

    Args:
        n_stacks: Number of stacks (groups of fits that train together) of the job.
        on_progress: Called with each report.

    Attributes:
        n_stacks: The same number, which may be changed once it is known.
    """

    def __init__(self, n_stacks: int, on_progress: OnProgress):
        self.n_stacks, self._on_progress = n_stacks, on_progress
        self._n_begun, self._reported_at, self._done = 0, time.monotonic(), 0.0

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """Return a callback for the training of the next stack, to be called with the number of updates done."""
        before = self._n_begun
        self._n_begun += 1

        def on_update(update: int) -> None:
            self._done = (before + update / n_updates) / self.n_stacks
            self._report(JobProgress(self._done))

        return on_update

    def activity(self, name: str) -> Callable[[float], None]:
        """Return a callback for other work than training, to be called with the fraction that is done."""
        return lambda fraction: self._report(JobProgress(self._done, name, fraction))

    def _report(self, progress: JobProgress) -> None:
        now = time.monotonic()
        if now - self._reported_at >= REPORT_SECONDS:
            self._reported_at = now
            self._on_progress(progress)
