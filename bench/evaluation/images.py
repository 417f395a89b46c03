"""Evaluation of image classifiers: tuned on held-out training images, scored on test, OOD and shifted images."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import cast

import numpy as np
import pyarrow as pa
import torch

from lockstep_bench import datasets
from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.augment import Augment, crops_and_flips
from lockstep_bench.bench.engine.plain_sgd import seconds_per_minibatch
from lockstep_bench.bench.engine.rates import Rate, Steps, cosine
from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.fits import HeldOut, LargestFits, SplitFits
from lockstep_bench.bench.evaluation.scoring import diverged, validation_score
from lockstep_bench.bench.evaluation.trainer import Trainer
from lockstep_bench.bench.evaluation.tuned import PreparedFits, TunedEvaluation, require_equal_sizes
from lockstep_bench.bench.evaluation.tuning.tuner import Score
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.metrics import confidence, shifted
from lockstep_bench.bench.metrics.prediction_table import predictions_table
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets import Source, Split
from lockstep_bench.datasets.images.shifts import SHIFTS, Shift
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.methods.networks.mixed_precision import DTYPES, Mixed
from lockstep_bench.methods.networks.mlp import Network
from lockstep_bench.methods.networks.resnets import body_from_torchvision
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.seeds import seed_of

# Families of shifts, by the protocol's `shifts` and the images' channels.
FAMILIES: dict[str, dict[int, tuple[str, ...]]] = {
    "benchmark": {1: ("rotation", "translation"), 3: ("corruption",)},
    "all": {1: ("rotation", "translation"), 3: ("corruption", "extra corruption")},
}
SHIFT_SEED = 0  # independent of the run's seed: all methods and runs see the same images


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> TunedEvaluation:
    """Return the evaluation of a job of image classifiers, which are trained one network at a time."""
    assignment = Assignment.of(job, device)
    parts = parts_of(assignment)
    facts = [
        replace(assignment.facts(place), n_train=len(part.train) + len(part.validation), n_test=len(part.test))
        for place, part in enumerate(parts)
    ]
    return TunedEvaluation(job, assignment, facts.__getitem__, partial(_prepared_fits, assignment, parts), on_progress)


def parts_of(assignment: Assignment) -> list[Split]:
    """Return the splits, reduced at random to the protocol's numbers of training and test images.

    The random choice is the same for all methods.
    """
    return [
        _chosen(split, assignment.protocol, seed_of("images", assignment.source.name, each.number))
        for split, each in zip(assignment.splits, assignment.seeded, strict=True)
    ]


def _chosen(split: Split, protocol: Protocol, seed: int) -> Split:
    generator = np.random.default_rng(seed)
    train, validation, test = (generator.permutation(rows) for rows in (split.train, split.validation, split.test))
    if protocol.max_train is not None:
        share = protocol.max_train / (len(train) + len(validation))
        train, validation = (rows[: max(1, round(share * len(rows)))] for rows in (train, validation))
    return Split(train, test[: protocol.max_test], validation)


def _prepared_fits(assignment: Assignment, parts: Sequence[Split], progress: ProgressReporter) -> PreparedFits:
    """Return the fits of an assignment. Trials are scored on validation images, which the final fit is trained on."""
    require_equal_sizes(assignment)
    data = Data.of(assignment.dataset.x, assignment.dataset.y, assignment.device)
    engine = partial(
        train_sequentially,
        channels=_image(assignment.source)[0],
        augment=_augmentation(assignment.source),
        rate=_rate(assignment.protocol),
        start=_start(assignment),
        short=DTYPES[assignment.protocol.precision],
    )
    trainer = Trainer(assignment.method, data, assignment.protocol, engine, 1, progress, sequential=True)
    scorer = ImageScorer(assignment, parts, data)
    largest = LargestFits(max(len(part.train) for part in parts), len(parts[0].train) + len(parts[0].validation))
    splits = []
    for place, part in enumerate(parts):
        train, held_out = np.concatenate([part.train, part.validation]), HeldOut(part.train, part.validation).alone
        splits.append(SplitFits.of(assignment, place, held_out, train, largest, scorer.n_points(place)))
    return PreparedFits(splits, trainer, scorer)


def _image(source: Source) -> tuple[int, int, int]:
    """Return channels, height and width of the images of a set."""
    assert source.image is not None
    return source.image


def _augmentation(source: Source) -> Augment | None:
    image = _image(source)
    return (lambda pixels, noise: crops_and_flips(pixels, image, noise)) if source.mirrored else None


def _rate(protocol: Protocol) -> Rate | None:
    """Return the schedule of the learning rate; None for a constant one."""
    if protocol.schedule == "step":
        return Steps(protocol.milestone_epochs, protocol.factor or 1)
    return cosine if protocol.schedule == "cosine" else None


def _start(assignment: Assignment) -> torch.Tensor | None:
    """Return trained weights of all layers but the last, if the protocol starts from them; None for a random start."""
    if assignment.protocol.weights is None:
        return None
    state = datasets.load_weights(assignment.protocol.weights, assignment.data_dir)
    return body_from_torchvision(assignment.tasks[0].network, state).to(assignment.device)


class ImageScorer:
    """Scores trials by the NMLL on validation images, and final fits on test images, OOD data sets and shifted images.

    Args:
        assignment: The method and the splits of the data set.
        parts: Row numbers of the images of each split.
        data: All images of the data set.
    """

    objective = "validation_nmll"

    def __init__(self, assignment: Assignment, parts: Sequence[Split], data: Data):
        self._assignment, self._parts, self._data = assignment, parts, data
        self._source, self._dataset, self._protocol = assignment.source, assignment.dataset, assignment.protocol

    def n_points(self, place: int) -> int:
        """Return the number of images at which the final fit predicts: test, OOD and shifted images.

        Each OOD data set counts with as many images as the test part; shifted images count once for every severity.
        """
        test = len(self._parts[place].test)
        n_ood_sets = sum(map(len, self._source.ood_groups.values()))
        severities = sum(len(shift.severities) for shift in self._shifts)
        return test * (1 + n_ood_sets) + min(test, self._protocol.max_shifted) * severities

    def trials(self, fits: TrainedFits, scored_on: Sequence[np.ndarray]) -> list[Score]:
        predictives = fits.predict(scored_on, self._protocol.validation_samples)
        targets = (torch.tensor(self._dataset.y[rows], device=self._assignment.device) for rows in scored_on)
        return [validation_score(*pair) for pair in zip(predictives, targets, strict=True)]

    def finals(self, fits: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        return [self._outcome(fits, *pair) for pair in zip(numbers, known, strict=True)]

    @property
    def _shifts(self) -> list[Shift]:
        """The shifts that suit the images."""
        families = FAMILIES[self._protocol.shifts][_image(self._source)[0]]
        return [shift for shift in SHIFTS.values() if shift.family in families]

    def _outcome(self, fits: TrainedFits, number: int, known: Outcome) -> Outcome:
        test, device = self._parts[number].test, self._assignment.device
        started = now(device)
        predictive = self._predictive(fits, test)
        seconds = (now(device) - started) / len(test) * 1000
        fit = known.trained_fit
        ratio = self._sgd_ratio(fits, fit.fit_seconds)
        known = replace(known, fit=replace(fit, predict_seconds_per_1000=seconds, sgd_ratio=ratio))
        if problem := metrics.flaw(predictive):
            return diverged(known, f"the final fit predicts no distribution: {problem}")
        y = torch.tensor(self._dataset.y[test])
        ood = {
            group: {name: metrics.pool(self._predictive_at(fits, pixels)) for name, pixels in sets.items()}
            for group, sets in self._ood_pixels.items()
        }
        pooled = metrics.pool(predictive)
        known = replace(known, fit=known.trained_fit.with_diagnostics(**confidence.group_means(pooled, ood)))
        tables = metrics.tables(pooled, y, ood)
        if self._protocol.max_shifted:
            tables["shifts"] = self._shifted(fits, test[: self._protocol.max_shifted], predictive)
        n_ood = sum(len(pixels) for sets in self._ood_pixels.values() for pixels in sets.values())
        return replace(
            known,
            status="ok",
            data=known.data and replace(known.data, n_ood=n_ood),
            metrics=metrics.evaluate(predictive, y, 1.0)
            | (metrics.evaluate_joint(predictive, y, 1.0) if self._assignment.method.joint else {})
            | metrics.summaries(tables)
            | self._on_partner(fits),
            tables=tables | {"predictions": predictions_table(predictive, test, y)},
        )

    def _predictive(self, fits: TrainedFits, rows: np.ndarray, pixels: torch.Tensor | None = None) -> Classes:
        (predictive,) = fits.predict([rows], self._protocol.samples, pixels)
        assert isinstance(predictive, Classes)
        return Classes(predictive.log_probs.cpu())

    def _predictive_at(self, fits: TrainedFits, pixels: np.ndarray) -> Classes:
        """Return the predictive at images (n, P) of another data set."""
        return self._predictive(fits, np.arange(len(pixels)), torch.tensor(pixels, device=self._assignment.device))

    @cached_property
    def _ood_pixels(self) -> dict[str, dict[str, np.ndarray]]:
        """Pixels of the downloaded OOD sets by group and name, in the shape of this set's images."""
        return {
            group: {name: self._pixels_of(name) for name in names if self._is_here(name)}
            for group, names in self._source.ood_groups.items()
        }

    def _pixels_of(self, name: str) -> np.ndarray:
        """Return test images of another set, at most `max_test` of the protocol."""
        pixels = datasets.ood_images(name, _image(self._source), self._assignment.data_dir)
        order = np.random.default_rng(seed_of("images", name)).permutation(len(pixels))
        return pixels[order[: self._protocol.max_test]]

    def _on_partner(self, fits: TrainedFits) -> dict[str, float]:
        """Return the metrics on the partner data set (same classes); {} if it is not downloaded."""
        name = datasets.partner(self._source.name)
        if name is None or not self._is_here(name):
            return {}
        pixels, labels = datasets.partner_images(self._source.name, self._assignment.data_dir)
        order = np.random.default_rng(seed_of("images", name)).permutation(len(labels))[: self._protocol.max_test]
        return shifted.elsewhere(self._predictive_at(fits, pixels[order]), torch.tensor(labels[order]))

    def _is_here(self, name: str) -> bool:
        """Return whether a data set is downloaded."""
        return datasets.availability(name, self._assignment.data_dir).state == "ready"

    def _shifted(self, fits: TrainedFits, rows: np.ndarray, predictive: Classes) -> pa.Table:
        """Return the scores on test images at every severity of every shift, as `shared.schema.SHIFTS`."""
        images = self._dataset.x[rows].reshape(-1, *_image(self._source))

        def shifted_predictives() -> Iterator[tuple[Shift, int, Classes]]:
            for shift in self._shifts:
                for severity in shift.severities:
                    changed = shift.apply(images, severity, SHIFT_SEED, rows)
                    yield shift, severity, self._predictive_at(fits, changed.reshape(len(rows), -1))

        y = torch.tensor(self._dataset.y[rows])
        return shifted.table(Classes(predictive.log_probs[:, : len(rows)]), shifted_predictives(), y)

    def _sgd_ratio(self, fits: TrainedFits, fit_seconds: float) -> float:
        minibatches = fits.schedule.plan.n_updates * self._assignment.method.batches_per_update
        short = DTYPES[self._protocol.precision]
        task = self._assignment.tasks[0]
        network = task.network
        if short:
            network = cast("Network", Mixed(network, short))  # which has the network's other attributes too
        plain = seconds_per_minibatch(network, task.likelihood, self._data, fits.schedule.minibatch)
        return fit_seconds / minibatches / plain
