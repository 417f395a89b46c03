"""Progress of a job, which is reported at most once a second."""

import time
from collections.abc import Callable
from typing import NamedTuple

REPORT_SECONDS = 1.0


class JobProgress(NamedTuple):
    """Progress of a job.

    Attributes:
        done: Fraction of its stacks that is trained; all stacks count equally.
        activity: Work other than training, as "sampling the reference"; "" while it trains.
        activity_done: Fraction of that work which is done.
    """

    done: float
    activity: str = ""
    activity_done: float = 0.0


OnProgress = Callable[[JobProgress], None]


class ProgressReporter:
    """Reports the progress of a job at most once a second.

    Args:
        n_stacks: See the attribute.
        on_progress: Is called with each report.

    Attributes:
        n_stacks: Stacks that the job trains.
    """

    def __init__(self, n_stacks: int, on_progress: OnProgress):
        self.n_stacks, self._on_progress = n_stacks, on_progress
        self._n_begun, self._reported_at, self._done = 0, time.monotonic(), 0.0

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """Return a function that the next stack calls now and then with the number of its `n_updates` that are done."""
        before = self._n_begun
        self._n_begun += 1

        def on_update(update: int) -> None:
            self._done = (before + update / n_updates) / self.n_stacks
            self._report(JobProgress(self._done))

        return on_update

    def activity(self, name: str) -> Callable[[float], None]:
        """Return a function that work other than training calls with its finished fraction."""
        return lambda fraction: self._report(JobProgress(self._done, name, fraction))

    def _report(self, progress: JobProgress) -> None:
        now = time.monotonic()
        if now - self._reported_at >= REPORT_SECONDS:
            self._reported_at = now
            self._on_progress(progress)
