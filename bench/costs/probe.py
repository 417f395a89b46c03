"""Probe of a cell's cost: a few updates of a small stack and of a larger one, and some predictions.

Method, network, data, and batch size are the cell's own; every hyper-parameter is the middle of its range.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil
import torch

import datasets
from bench.costs.batching import rows_of
from bench.costs.cost import Cost
from bench.engine.trained import TrainedFits
from bench.environment.clock import now
from bench.environment.memory import peak_during
from bench.evaluation.evaluation import TunedEvaluation
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.experiment.progress import OnProgress, ProgressReporter
from bench.experiment.suites import SUITES
from bench.tuning.tuner import Centred
from datasets.synthetic.streams import StreamSource

SMALL, LARGE = 4, 24  # replicas of the two stacks
UPDATES, WARM_UPDATES = 7, 2
POINTS, SAMPLES = 32, 10  # of the timed predictions
VECTORS = (1000, 4000)  # lengths of the two streams


class Clock(ProgressReporter):
    """Reporter that records the time after each update of one stack, and reports nothing.

    Args:
        device: device of the updates.

    Attributes:
        times: seconds, beginning with the construction.
    """

    def __init__(self, device: torch.device):
        super().__init__(1, lambda progress: None)
        self._device, self.times = device, [now(device)]

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """Return the callback for the updates of a stack."""
        return lambda update: self.times.append(now(self._device))

    @property
    def update_seconds(self) -> float:
        """Median seconds of an update; the few in which graphs are captured do not count."""
        return median(after - before for before, after in pairwise(self.times))


def probe(cell: Cell, data_dir: Path | None, device: str, *, on_progress: OnProgress = lambda progress: None) -> Cost:
    """Return the cost of a cell on a torch device, measured in this process."""
    where = torch.device(device)
    with TemporaryDirectory() as folder:
        job = Job((cell,), (Path(folder) / "none.jsonl",), data_dir)
        source = datasets.entry(cell.dataset)
        if isinstance(source, StreamSource):
            return _cost_on_stream(job, source, where)
        return _cost_of_fits(SUITES[cell.suite].kind.evaluation(job, where, on_progress))


def survey(device: str, *, on_progress: OnProgress = lambda progress: None) -> tuple[str, int]:
    """Return a GPU's name, as in rows, and the free bytes of its memory beside this process."""
    where = torch.device(device)
    torch.zeros(1, device=where)
    return torch.cuda.get_device_name(where), torch.cuda.mem_get_info(where)[0]


def _cost_of_fits(evaluation: TunedEvaluation) -> Cost:
    evaluation.prepare()
    method, cell, device = evaluation.method.proxy(), evaluation.cells[0], evaluation.device
    protocol, members = cell.protocol, method.members
    hparams = Centred(dict(evaluation.space)).best().hparams
    stacked = method.stackable and rows_of(cell) > 0
    sizes = [max(1, rows // members) for rows in (SMALL, LARGE)] if stacked else [1]  # in fits

    def trained(n_fits: int, updates: int) -> tuple[TrainedFits, Clock]:
        evaluation.progress = clock = Clock(device)
        evaluation.protocol = replace(protocol, max_minibatches=updates * method.batches_per_update, max_updates=None)
        fits = [evaluation.trial_fits(0, trial, hparams)[0][0] for trial in range(n_fits)]
        return evaluation._train(method, fits, len(fits[0].rows)), clock

    def predict_seconds(stack: TrainedFits) -> float:
        """Return the seconds of a prediction, per fit, point and sample."""
        started, rows = now(device), [fit.rows[:POINTS] for fit in stack.fits]
        list(stack.predict(rows, SAMPLES))
        return (now(device) - started) / (sum(map(len, rows)) * SAMPLES)

    def warmed_up() -> None:
        stack, _ = trained(sizes[-1], WARM_UPDATES)
        predict_seconds(stack)

    evaluation.execution = "eager"  # holds as much memory in an update, and captures no graph twice
    _, bytes_held = peak_during(warmed_up, device)
    evaluation.execution, steps = "native", []
    for n_fits in sizes:
        started = now(device)
        stack, clock = trained(n_fits, UPDATES)
        steps.append(clock.update_seconds)
        setup = max(0.0, now(device) - started - steps[-1] * (len(clock.times) - 1))
    update, update_of_fit = _line(sizes, steps)

    n_train = len(evaluation.splits[0].train)
    held_out = n_train // protocol.folds if evaluation.fits_per_trial > 1 else 0
    rounds = [(end - start) * evaluation.fits_per_trial for start, end in evaluation.search.rounds()]
    trainings = [(n_fits, n_train - held_out) for n_fits in rounds] + [(evaluation.method.members / members, n_train)]
    stack_seconds = cell_seconds = 0.0
    for n_trained, rows in trainings:
        updates = _updates(evaluation, cell, rows)
        stack_seconds += (setup + updates * update) if stacked else 0.0
        cell_seconds += n_trained * updates * update_of_fit + (0.0 if stacked else n_trained * setup)
    points = sum(rounds) * held_out * protocol.validation_samples + evaluation.points(0) * protocol.samples
    return Cost(
        cell.work,
        stack_seconds,
        cell_seconds + points * predict_seconds(stack),
        _process_bytes(device) + evaluation.data.x.nbytes,
        -(-bytes_held // (sizes[-1] * (members if stacked else 1))),
    )


def _updates(evaluation: TunedEvaluation, cell: Cell, rows: int) -> int:
    """Return the updates of a fit on so many training rows."""
    protocol, per_update = cell.protocol, evaluation.method.batches_per_update
    minibatches = protocol.epochs * evaluation.effort * ceil(rows / min(protocol.batch_size, rows))
    updates = min(minibatches, protocol.max_minibatches or minibatches) / per_update
    return ceil(min(updates, protocol.max_updates or updates))


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
    return Cost(cell.work, 0.0, setup + length * vector, _process_bytes(device), bytes_held)


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
