"""Runs jobs on slots through joblib, each in its slot's process; what goes wrong is tried once more, alone."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from threading import Event

from joblib import Parallel, delayed

from bench.attempt import Crew, attempt
from bench.pack import Job
from bench.progress import Told
from bench.slots import Slot
from bench.supervisor import Stopped
from bench.worker import Outcome

Done = tuple[Job, list[Outcome]]


def run_jobs(
    jobs: Sequence[Job],
    slots: Sequence[Slot],
    *,
    timeout: float | None = None,
    tell: Callable[[Job, Told], None] = lambda job, told: None,
    again: Callable[[Outcome], None] = lambda outcome: None,
    stop: Event | None = None,
) -> Iterator[Outcome]:
    """Run every job on the next slot that is free, in their order, and yield outcomes as they come.

    A cell that does not end "ok" is tried once more when all else is done: alone, in a new process, and if it may have
    lacked memory while no other slot works, with a quarter of the fits at a time. Its outcome is the second try's.
    Closing the iterator ends all processes.

    Args:
        jobs: whose cells are to be run.
        slots: where; each runs one job at a time.
        timeout: wall-clock seconds that each cell is given at each try, cells of a job together; None for no limit.
        tell: is called, from other threads, when a job begins and then at most once a second.
        again: is called with the outcome of the first try of a cell that is to have a second.
        stop: once it is set no other job begins, and those that run are the last.

    Raises `bench.attempt.NoProcess` where processes cannot start, and `bench.storage.NotStored`.
    """
    crew, stop = Crew(), stop or Event()
    dispatch = partial(_dispatch, crew=crew, timeout=timeout, tell=tell, stop=stop)
    starved, suspects = [], []
    try:
        for job, outcomes in dispatch(jobs, slots):
            for alone, outcome in zip(job.alone(), outcomes, strict=True):
                if outcome.row["status"] == "ok":
                    yield outcome
                else:
                    again(outcome)
                    (starved if _may_have_lacked_memory(outcome) else suspects).append(_anew(alone, outcome))
        for second, places in ((suspects, slots), (list(map(_smaller, starved)), slots[:1])):
            for _, outcomes in dispatch(second, places):
                yield from outcomes
    finally:
        crew.end()


def _dispatch(
    jobs: Sequence[Job],
    slots: Sequence[Slot],
    *,
    crew: Crew,
    timeout: float | None,
    tell: Callable[[Job, Told], None],
    stop: Event,
) -> Iterator[Done]:
    """Every job with its outcomes, as they end; a job that was stopped, or never begun, is left out."""
    waiting, free = deque(jobs), SimpleQueue()
    for slot in slots:
        free.put(slot)

    def next_on_a_free_slot() -> Done | None:
        slot = free.get()
        try:
            if stop.is_set():
                return None
            job = waiting.popleft()  # only now, so that jobs begin in their order whichever thread gets the slot
            tell(job, Told(0.0))
            return job, attempt(job, slot, timeout, partial(tell, job), crew)
        except Stopped:
            return None
        finally:
            free.put(slot)

    # One thread more than slots, which waits for the first that becomes free.
    pool = Parallel(n_jobs=len(slots) + 1, backend="threading", return_as="generator_unordered")
    found = pool(delayed(next_on_a_free_slot)() for _ in jobs)
    try:
        yield from filter(None, found)
    except BaseException:
        crew.end()
        deque(found, maxlen=0)  # jobs that are left end at once, and so do the threads
        raise


def _may_have_lacked_memory(outcome: Outcome) -> bool:
    name, error = outcome.row["error_class"] or "", outcome.row["error"] or ""
    return name == "SIGKILL" or name.endswith("MemoryError") or "can't allocate memory" in error


def _smaller(job: Job) -> Job:
    """The job with a quarter of the fits at a time, which changes its memory and not its results."""
    return replace(job, stack_rows=max(1, job.stack_rows // 4))


def _anew(job: Job, outcome: Outcome) -> Job:
    """A cell's second try. One whose trials all diverged would read that in its study, and learn nothing."""
    if outcome.row["status"] == "diverged":
        job.journals[0].unlink(missing_ok=True)
    return job
