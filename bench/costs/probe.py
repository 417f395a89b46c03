"""Probe of a cell's cost: short trainings of a small stack and of a larger one, and some predictions.

Method, network, data, and batch size are the cell's own; every hyper-parameter is the middle of its range.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import psutil
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.costs.batching import rows_of
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.engine.native_training import MIN_UPDATES, forget_loops
from lockstep_bench.bench.engine.stacked_training import Execution
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.environment.memory import peak_during
from lockstep_bench.bench.evaluation.tuned import RECORDED_UPDATES, PreparedFits
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.native.libraries import lanes
from lockstep_bench.datasets.synthetic.streams import StreamSource
from lockstep_bench.methods.base import FullBatchMethod

SMALL, LARGE = 16, 48  # replicas of the two stacks; native loops train them in blocks of 4, 8 or 16
UPDATES = {"cpu": 7, "cuda": 193}  # of captured stacks; a GPU makes 64 at a time
LONG_SECONDS = 0.6  # of a longer native training, at most
MOST_UPDATES = 2000  # of the same
POINTS, SAMPLES = 64, 100  # of the timed predictions, at most
VECTORS = (1000, 4000)  # lengths of the two streams


class Clock(ProgressReporter):
    """Reporter that records when updates of one stack were done, and reports nothing.

    Args:
        device: device of the updates.

    Attributes:
        times: (number of updates done, seconds), beginning with the construction.
    """

    def __init__(self, device: torch.device):
        super().__init__(1, lambda progress: None)
        self._device, self.times = device, [(0, now(device))]

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """Return the callback for the updates of a stack."""
        return lambda update: self.times.append((update, now(self._device)))

    @property
    def update_seconds(self) -> float:
        """Median seconds of an update; those in which graphs are captured do not count if there are others."""
        bursts = pairwise(self.times)
        return median((after - before) / (end - start) for (start, before), (end, after) in bursts)


class Times(NamedTuple):
    """Seconds of the parts of a training.

    Attributes:
        job: once per job.
        stack: per stack.
        fit: per fit of a stack.
        update: per update of a stack.
        update_of_fit: per update of a fit.
        lanes: fits that are trained in the time of one, which a stack fills up to a multiple.
    """

    job: float
    stack: float
    fit: float
    update: float
    update_of_fit: float
    lanes: int = 1

    def of_stack(self, n_fits: float, updates: int) -> float:
        """Return the seconds of a stack that do not depend on its number of fits, but for the lanes left empty."""
        empty = -n_fits % self.lanes
        return self.stack + updates * (self.update + empty * self.update_of_fit)

    def of_fits(self, n_fits: float, updates: int) -> float:
        """Return all other seconds."""
        return n_fits * (self.fit + updates * self.update_of_fit)


def probe(cell: Cell, data_dir: Path | None, device: str, *, on_progress: OnProgress = lambda progress: None) -> Cost:
    """Return the cost of a cell on a torch device, measured in this process."""
    where = torch.device(device)
    with TemporaryDirectory() as folder:
        job = Job((cell,), (Path(folder) / "none.json",), data_dir)
        source = datasets.entry(cell.dataset)
        if isinstance(source, StreamSource):
            return _cost_on_stream(job, source, where)
        evaluation = SUITES[cell.suite].kind.evaluation(job, where, on_progress)
        n_train = len(evaluation.assignment.splits[0].train)
        return _cost_of_fits(cell, evaluation.prepare(ProgressReporter(1, on_progress)), n_train)


def survey(device: str, *, on_progress: OnProgress = lambda progress: None) -> tuple[str, int]:
    """Return a GPU's name, as in rows, and the free bytes of its memory beside this process."""
    where = torch.device(device)
    torch.zeros(1, device=where)
    return torch.cuda.get_device_name(where), torch.cuda.mem_get_info(where)[0]


def _cost_of_fits(cell: Cell, work: PreparedFits, n_train: int) -> Cost:
    """Return the cost of a cell with so many training rows, of whose final fit `work` speaks."""
    protocol, method, device, (split,) = cell.protocol, work.trainer.method, work.trainer.device, work.splits
    validates = work.fits_per_trial > 1 or protocol.validation == "holdout"
    held_out = n_train // protocol.folds if validates else 0
    trainer = _Trainer(cell, work)
    recording = trainer.recording_seconds(_updates(work, n_train))
    times = trainer.native_times() if trainer.native else trainer.times()
    point = trainer.predict_seconds(held_out or split.n_points)
    bytes_held = trainer.bytes_held()

    rounds = [(end - start) * work.fits_per_trial for start, end in work.search().rounds()]
    members = method.members / method.proxy().members
    stack_seconds, cell_seconds = 0.0, recording
    for n_fits, rows in [*((n_fits, n_train - held_out) for n_fits in rounds), (members, n_train)]:
        updates = _updates(work, rows)
        stack_seconds += times.of_stack(n_fits, updates)
        cell_seconds += times.of_fits(n_fits, updates)
    points = sum(rounds) * held_out * protocol.validation_samples + split.n_points * protocol.samples
    return Cost(
        cell.work,
        times.job,
        stack_seconds,
        cell_seconds + points * point,
        _process_bytes(device) + work.trainer.data.x.nbytes,
        bytes_held,
    )


class _Trainer:
    """Short trainings of a cell's method.

    Args:
        cell: the cell.
        work: what it comes to.

    Attributes:
        native: whether a run trains natively.
    """

    def __init__(self, cell: Cell, work: PreparedFits):
        self._trainer, self._split, self._protocol = work.trainer, work.splits[0], cell.protocol
        self._method, self._device = work.trainer.method.proxy(), work.trainer.device
        self._hparams = Centred(self._split.space).best().hparams
        self._stacked = self._method.stackable and rows_of(cell) > 0
        # In fits.
        self._sizes = [max(1, rows // self._method.members) for rows in (SMALL, LARGE)] if self._stacked else [1]
        self.native = False

    def recording_seconds(self, updates: int) -> float:
        """Return the seconds in which a final fit of so many updates records diagnostics.

        This is the first training; it compiles loops, imports what is missing, and finds out whether a run trains
        natively.
        """
        planned = min(updates, MIN_UPDATES) if self._stacked else UPDATES["cpu"]
        trained, _ = self._trained(1, planned, RECORDED_UPDATES)
        self.native = trained.execution == "native"
        return trained.record.seconds / min(planned, RECORDED_UPDATES) * min(updates, RECORDED_UPDATES)

    def native_times(self) -> Times:
        """Return the times of native trainings, from differences of whole trainings."""
        small, large = self._sizes
        forget_loops()
        first, again, larger = (self._seconds(n_fits, MIN_UPDATES) for n_fits in (small, small, large))
        more = max(MIN_UPDATES, min(MOST_UPDATES, round(LONG_SECONDS * MIN_UPDATES / again)))
        update = max(0.0, self._seconds(small, MIN_UPDATES + more) - again) / more / small
        setups = [whole - MIN_UPDATES * update * n_fits for whole, n_fits in ((again, small), (larger, large))]
        stack, fit = _line((small, large), setups)
        return Times(max(0.0, first - again), stack, fit, 0.0, update, max(1, lanes() // self._method.members))

    def times(self) -> Times:
        """Return the times of trainings that make one update after the other."""
        steps, setup = [], 0.0
        for n_fits in self._sizes:
            started = now(self._device)
            _, clock = self._trained(n_fits, UPDATES[self._device.type])
            steps.append(0.0 if isinstance(self._method, FullBatchMethod) else clock.update_seconds)
            setup = max(0.0, now(self._device) - started - steps[-1] * UPDATES[self._device.type])
        update, update_of_fit = _line(self._sizes, steps)
        setups = (setup, 0.0) if self._stacked else (0.0, setup)
        return Times(0.0, *setups, update, update_of_fit)

    def predict_seconds(self, n_points: int) -> float:
        """Return the seconds of a prediction, per fit, point and sample.

        Args:
            n_points: inputs at which a fit predicts in a run.
        """
        trained, _ = self._trained(self._sizes[0], 1, execution="eager")
        rows = [np.resize(fit.rows, min(n_points, POINTS)) for fit in trained.fits]
        samples = min(self._protocol.validation_samples, SAMPLES)
        list(trained.predict(rows[:1], samples))
        started = now(self._device)
        list(trained.predict(rows, samples))
        return (now(self._device) - started) / (sum(map(len, rows)) * samples)

    def bytes_held(self) -> int:
        """Return the most bytes of a fit, which it holds in an update that is made eagerly or in a prediction."""
        n_fits = self._sizes[-1]

        def work() -> None:
            trained, _ = self._trained(n_fits, 2, execution="eager")
            list(trained.predict([fit.rows[:POINTS] for fit in trained.fits], 10))

        _, held = peak_during(work, self._device)
        return -(-held // (n_fits * (self._method.members if self._stacked else 1)))

    def _seconds(self, n_fits: int, updates: int) -> float:
        started = now(self._device)
        self._trained(n_fits, updates)
        return now(self._device) - started

    def _trained(
        self, n_fits: int, updates: int, n_recorded: int = 0, execution: Execution = "native"
    ) -> tuple[TrainedFits, Clock]:
        minibatches, clock = updates * self._method.batches_per_update, Clock(self._device)
        engine = self._trainer.engine
        trainer = replace(
            self._trainer,
            # Epochs enough for as many updates, however few the protocol has.
            protocol=replace(self._protocol, max_minibatches=minibatches, max_updates=None, epochs=minibatches),
            engine=engine if self._trainer.sequential else partial(engine, execution=execution),
            progress=clock,
        )
        fits = [self._split.trial(trial, self._hparams)[0] for trial in range(n_fits)]
        return trainer.train(self._method, self._split, fits, len(fits[0].rows), n_recorded), clock


def _updates(work: PreparedFits, rows: int) -> int:
    """Return the updates of a fit on so many training rows."""
    return work.trainer.schedule(work.trainer.method, rows).plan.n_updates


def _cost_on_stream(job: Job, source: StreamSource, device: torch.device) -> Cost:
    (cell,) = job.cells

    def fitted(length: int) -> float:
        shortened = replace(job, cells=(replace(cell, protocol=cell.protocol.changed(stream_length=length)),))
        started = now(device)
        list(SUITES[cell.suite].kind.evaluation(shortened, device, lambda progress: None).run())
        return now(device) - started

    _, bytes_held = peak_during(partial(fitted, VECTORS[0]), device)
    setup, vector = _line(VECTORS, [fitted(length) for length in VECTORS])
    length = min(cell.protocol.stream_length, source.max_length or cell.protocol.stream_length)
    return Cost(cell.work, 0.0, 0.0, setup + length * vector, _process_bytes(device), bytes_held)


def _line(places: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Return intercept and slope, both at least 0, of the line through two points, or through one and the origin."""
    if len(places) == 1 or places[0] == places[1]:
        return 0.0, values[-1] / places[-1]
    slope = max(0.0, (values[1] - values[0]) / (places[1] - places[0]))
    return max(0.0, values[1] - slope * places[1]), slope


@cache
def _process_bytes(device: torch.device) -> int:
    """Return the bytes held after the first probe, with all imports: of GPU memory, or of the process."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else psutil.Process().memory_info().rss
