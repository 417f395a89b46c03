"""Measures what a method costs on a data set: a few updates of a small stack and of a larger one.

It is the suite's own work that is timed, of the real method, network, data and batch size, with the middle of every
range for hyper-parameters. Memory is that of the larger stack's construction and of some predictions.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import torch

import datasets
from bench.costs.cost import Cost
from bench.environment.memory import peak_during
from bench.evaluation.evaluation import Pack
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.experiment.progress import Tell
from bench.experiment.suites import SUITES
from bench.tuning.tuner import Centred
from datasets.synthetic.streams import StreamSource

SMALL, LARGE = 4, 24  # rows of the two stacks
UPDATES, UPDATES_OF_LARGE_NETWORKS = 10, 3
WARM_UPDATES = 2
POINTS, SAMPLES = 32, 10  # of the predictions that are timed
SLOW_SECONDS = 0.1  # an update from which on a few have to do
VECTORS = (1000, 4000)  # of a stream


class Clock:
    """Stands for a job's `Progress`, and notes when each update is done."""

    def __init__(self, device: torch.device):
        self._device, self.times = device, [_now(device)]

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        return lambda update: self.times.append(_now(self._device))

    def update_seconds(self, phases: Sequence[Any]) -> float:
        """The median of those updates that are not the first of their phase, whose graph is captured then."""
        seconds = [after - before for before, after in pairwise(self.times)]
        repeated = [one for number, one in enumerate(seconds) if phases[number] in phases[:number]]
        return median(repeated or seconds)


def probe(cell: Cell, data_dir: Path | None, device: str, *, tell: Tell = lambda told: None) -> Cost:
    """The cost of a cell's method, task and protocol on a torch device, measured in this process."""
    where = torch.device(device)
    with TemporaryDirectory() as folder:
        job = Job((cell,), (Path(folder) / "none.jsonl",), data_dir)
        if isinstance(datasets.entry(cell.dataset), StreamSource):
            return _of_stream(job, where)
        return _of_pack(SUITES[cell.suite].kind.pack(job, where, [{}], tell))


def survey(device: str, *, tell: Tell = lambda told: None) -> tuple[str, int]:
    """A device's name, as rows have it, and its free memory in bytes beside this process, which has begun to use it."""
    where = torch.device(device)
    torch.zeros(1, device=where)
    return torch.cuda.get_device_name(where), torch.cuda.mem_get_info(where)[0]


def _of_pack(pack: Pack) -> Cost:
    method, cell, device = pack.method.rehearsal(), pack.cells[0], pack.device
    hparams = Centred(dict(pack.space)).best().hparams
    stacked = method.stackable and SUITES[cell.suite].kind.rows_of(cell.method, cell.protocol) > 0
    small, large = (max(1, rows // method.members) if stacked else 1 for rows in (SMALL, LARGE))

    def built(n_fits: int, updates: int) -> tuple[Any, Clock]:
        pack.progress = Clock(device)
        pack.protocol = replace(cell.protocol, max_minibatches=updates * method.batches_per_update, max_updates=None)
        fits = [pack.trial_fits(0, trial, hparams)[0][0] for trial in range(n_fits)]
        return pack._train(method, fits, len(fits[0].rows)), pack.progress

    def predicted(stack: Any) -> float:
        started = _now(device)
        list(stack.predict([fit.rows[:POINTS] for fit in stack.fits], SAMPLES))
        return _now(device) - started

    def warmed() -> float:
        stack, clock = built(large, WARM_UPDATES)
        predicted(stack)
        return clock.times[-1] - clock.times[-2]

    pack.execution = "eager"  # no graph is captured twice, and what an update holds is the same
    seconds, bytes_held = peak_during(warmed, device)
    pack.execution = "captured"
    updates, setups, steps = UPDATES if seconds < SLOW_SECONDS else UPDATES_OF_LARGE_NETWORKS, [], []
    sizes = list(dict.fromkeys((small, large)))
    for n_fits in sizes:
        started = _now(device)
        stack, clock = built(n_fits, updates)
        seconds = _now(device) - started
        phases = [method.phase(update, stack.schedule.plan) for update in range(1, updates + 1)]
        steps.append(clock.update_seconds(phases * (len(clock.times) // updates)))
        setups.append(max(0.0, seconds - steps[-1] * (len(clock.times) - 1)))
    n_rows, counts = len(pack.dataset.y), [n_fits * method.members for n_fits in sizes]
    setup, setup_row = _line(counts, setups)
    update, update_row = _line(counts, steps)
    return Cost(
        *(setup, setup_row, update, update_row),
        predict=predicted(stack) / (sum(min(POINTS, len(fit.rows)) for fit in stack.fits) * SAMPLES),
        base_bytes=_of_process(device) + pack.data.x.nbytes,
        row_bytes=-(-bytes_held // counts[-1]),
        train_share=pack.found[0]["n_train"] / n_rows,
        test_share=pack.points(0) / n_rows,
        stacked=stacked,
        members=method.members,
        final_members=pack.method.members,
        batches_per_update=method.batches_per_update,
        trials=0 if cell.protocol.sampler == "centre" else pack.search.trials,
        fits_per_trial=pack.fits_per_trial,
        effort=pack.effort,
    )


def _of_stream(job: Job, device: torch.device) -> Cost:
    (cell,) = job.cells

    def fitted(length: int) -> float:
        shortened = replace(job, cells=(replace(cell, protocol=cell.protocol.changed(stream_length=length)),))
        started = _now(device)
        SUITES[cell.suite].kind.pack(shortened, device, [{}], lambda told: None).go()
        return _now(device) - started

    _, bytes_held = peak_during(partial(fitted, VECTORS[0]), device)
    setup, update = _line(VECTORS, [fitted(length) for length in VECTORS])
    return Cost(setup, 0.0, update, 0.0, 0.0, _of_process(device), bytes_held, 1.0, 0.0)


def _line(places: list[int], values: list[float]) -> tuple[float, float]:
    """Intercept and slope through one or two points, neither below zero; through one point the origin is the other."""
    if len(places) == 1 or places[0] == places[1]:
        return 0.0, values[-1] / places[-1]
    slope = max(0.0, (values[1] - values[0]) / (places[1] - places[0]))
    return max(0.0, values[1] - slope * places[1]), slope


@cache
def _of_process(device: torch.device) -> int:
    """Bytes that the process held after its first probe, with all that had to be imported: on the GPU, or all of it."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else psutil.Process().memory_info().rss


def _now(device: torch.device) -> float:
    """Seconds of the GPU; on a CPU, of this process's own work, because what is kept should not know who else ran."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        return time.perf_counter()
    return time.process_time()
