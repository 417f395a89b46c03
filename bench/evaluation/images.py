"""Evaluation of image classifiers: tune on held-out training images, score on the test images and on other sets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa
import torch

from lockstep_bench import datasets
from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.augment import crops_and_flips
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.plain_sgd import seconds_per_minibatch
from lockstep_bench.bench.engine.rates import Rate, Steps, cosine
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.seeds import seed_of
from lockstep_bench.bench.engine.sequential_training import Augment, train_sequentially
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.evaluation import diverged
from lockstep_bench.bench.evaluation.tuned import Score, TunedEvaluation, validation_score
from lockstep_bench.bench.metrics import confidence, shifted
from lockstep_bench.bench.metrics.prediction_table import predictions_table
from lockstep_bench.bench.results.record import DataFacts, Outcome
from lockstep_bench.bench.shifts import SHIFTS, Shift
from lockstep_bench.datasets import Split
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.methods.networks.mixed_precision import DTYPES, Mixed
from lockstep_bench.methods.networks.mlp import Network
from lockstep_bench.methods.networks.resnets import body_from_torchvision

# Families of shifts, by the protocol's `shifts` and the images' channels.
FAMILIES: dict[str, dict[int, tuple[str, ...]]] = {
    "benchmark": {1: ("rotation", "translation"), 3: ("corruption",)},
    "all": {1: ("rotation", "translation"), 3: ("corruption", "extra corruption")},
}
SHIFT_SEED = 0  # independent of the run's seed: all methods and runs see the same images


class ImageEvaluation(TunedEvaluation):
    """Evaluation of one network at a time, whose trials are scored by the NMLL on the split's validation images.

    The final fit is trained on the validation images too. Where the protocol asks for fewer images than there are,
    every method gets equal ones.
    """

    objective = "validation_nmll"
    fits_per_trial = 1
    limit = 1

    @cached_property
    def data(self) -> Data:
        """All images of the data set."""
        return Data.of(self.dataset.x, self.dataset.y, self.device)

    @property
    def image(self) -> tuple[int, int, int]:
        """Channels, height and width of the images."""
        assert self.source.image is not None
        return self.source.image

    @cached_property
    def parts(self) -> list[Split]:
        """The images of each cell's split that the protocol asks for."""
        return [self._chosen(split, cell.split) for split, cell in zip(self.splits, self.cells, strict=True)]

    def prepare(self) -> None:
        super().prepare()
        self._start  # noqa: B018

    def data_facts(self, number: int) -> DataFacts:
        part = self.parts[number]
        n_train = len(part.train) + len(part.validation)
        return replace(super().data_facts(number), n_train=n_train, n_test=len(part.test))

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        part = self.parts[number]
        seed = seed_of(self.cells[number].fit_seed, "trial", trial)
        return [(Fit(part.train, hparams, seed), part.validation)]

    def trial_scores(self, stack: TrainedFits, scored_on: Sequence[np.ndarray]) -> list[Score]:
        predictives = stack.predict(scored_on, self.protocol.validation_samples)
        targets = (torch.tensor(self.dataset.y[rows], device=self.device) for rows in scored_on)
        return [validation_score(*pair) for pair in zip(predictives, targets, strict=True)]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        part = self.parts[number]
        return Fit(np.concatenate([part.train, part.validation]), hparams, self.final_seed(number))

    def final_outcomes(self, stack: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        return [self._outcome(stack, *pair) for pair in zip(numbers, known, strict=True)]

    def points(self, number: int) -> int:
        """Return the number of test images, plus as many per OOD set, plus the shifted ones at every severity."""
        test = len(self.parts[number].test)
        n_ood_sets = sum(map(len, self.source.ood_groups.values()))
        severities = sum(len(shift.severities) for shift in self._shifts)
        return test * (1 + n_ood_sets) + min(test, self.protocol.max_shifted) * severities

    @property
    def _shifts(self) -> list[Shift]:
        """The shifts that suit the images."""
        families = FAMILIES[self.protocol.shifts][self.image[0]]
        return [shift for shift in SHIFTS.values() if shift.family in families]

    def _outcome(self, stack: TrainedFits, number: int, known: Outcome) -> Outcome:
        test = self.parts[number].test
        started = self.now()
        predictive = self._predictive(stack, test)
        seconds = (self.now() - started) / len(test) * 1000
        fit = known.trained_fit
        ratio = self._sgd_ratio(stack, fit.fit_seconds)
        known = replace(known, fit=replace(fit, predict_seconds_per_1000=seconds, sgd_ratio=ratio))
        if problem := metrics.flaw(predictive):
            return diverged(known, f"the final fit predicts no distribution: {problem}")
        y = torch.tensor(self.dataset.y[test])
        ood = {
            group: {name: metrics.pool(self._predictive_at(stack, pixels)) for name, pixels in sets.items()}
            for group, sets in self._ood_pixels.items()
        }
        pooled = metrics.pool(predictive)
        known = replace(known, fit=known.trained_fit.with_diagnostics(**confidence.group_means(pooled, ood)))
        tables = metrics.tables(pooled, y, ood)
        if self.protocol.max_shifted:
            tables["shifts"] = self._shifted(stack, test[: self.protocol.max_shifted], predictive)
        n_ood = sum(len(pixels) for sets in self._ood_pixels.values() for pixels in sets.values())
        return replace(
            known,
            status="ok",
            data=replace(self.data_facts(number), n_ood=n_ood),
            metrics=metrics.evaluate(predictive, y, 1.0) | metrics.summaries(tables) | self._on_partner(stack),
            tables=tables | {"predictions": predictions_table(predictive, test, y)},
        )

    def _predictive(self, stack: TrainedFits, rows: np.ndarray, pixels: torch.Tensor | None = None) -> Classes:
        (predictive,) = stack.predict([rows], self.protocol.samples, pixels)
        assert isinstance(predictive, Classes)
        return Classes(predictive.log_probs.cpu())

    def _predictive_at(self, stack: TrainedFits, pixels: np.ndarray) -> Classes:
        """Return the predictive at images (n, P) of another data set."""
        return self._predictive(stack, np.arange(len(pixels)), torch.tensor(pixels, device=self.device))

    @cached_property
    def _ood_pixels(self) -> dict[str, dict[str, np.ndarray]]:
        """Pixels of the downloaded OOD sets by group and name, in the shape of this set's images."""
        return {
            group: {name: self._pixels_of(name) for name in names if self._is_here(name)}
            for group, names in self.source.ood_groups.items()
        }

    def _pixels_of(self, name: str) -> np.ndarray:
        """Return test images of another set, as many as of this one."""
        pixels = datasets.ood_images(name, self.image, self.data_dir)
        order = np.random.default_rng(seed_of("images", name)).permutation(len(pixels))
        return pixels[order[: self.protocol.max_test]]

    def _on_partner(self, stack: TrainedFits) -> dict[str, float]:
        """Return the metrics on another set's images of the same classes; none where that set is not downloaded."""
        name = datasets.partner(self.source.name)
        if name is None or not self._is_here(name):
            return {}
        pixels, labels = datasets.partner_images(self.source.name, self.data_dir)
        order = np.random.default_rng(seed_of("images", name)).permutation(len(labels))[: self.protocol.max_test]
        return shifted.elsewhere(self._predictive_at(stack, pixels[order]), torch.tensor(labels[order]))

    def _is_here(self, name: str) -> bool:
        """Return True if a set is downloaded."""
        return datasets.availability(name, self.data_dir).state == "ready"

    def _shifted(self, stack: TrainedFits, rows: np.ndarray, predictive: Classes) -> pa.Table:
        """Return the scores on test images at every severity of every shift, as `bench.schema.SHIFTS`."""
        images = self.dataset.x[rows].reshape(-1, *self.image)

        def shifted_predictives() -> Iterator[tuple[Shift, int, Classes]]:
            for shift in self._shifts:
                for severity in shift.severities:
                    changed = shift.apply(images, severity, SHIFT_SEED, rows)
                    yield shift, severity, self._predictive_at(stack, changed.reshape(len(rows), -1))

        y = torch.tensor(self.dataset.y[rows])
        return shifted.table(Classes(predictive.log_probs[:, : len(rows)]), shifted_predictives(), y)

    def _sgd_ratio(self, stack: TrainedFits, fit_seconds: float) -> float:
        minibatches = stack.schedule.plan.n_updates * self.method.batches_per_update
        short = DTYPES[self.protocol.precision]
        network = self.task.network
        if short:
            network = cast("Network", Mixed(network, short))  # which has the network's other attributes too
        plain = seconds_per_minibatch(network, self.task.likelihood, self.data, stack.schedule.minibatch)
        return fit_seconds / minibatches / plain

    def _chosen(self, split: Split, number: int) -> Split:
        """Return as many of a split's images as the protocol asks for: a random choice, equal for all methods."""
        generator = np.random.default_rng(seed_of("images", self.source.name, number))
        train, validation, test = (generator.permutation(rows) for rows in (split.train, split.validation, split.test))
        if self.protocol.max_train is not None:
            share = self.protocol.max_train / (len(train) + len(validation))
            train, validation = (rows[: max(1, round(share * len(rows)))] for rows in (train, validation))
        return Split(train, test[: self.protocol.max_test], validation)

    @cached_property
    def _start(self) -> torch.Tensor | None:
        """Trained weights of all layers but the last, if the protocol starts from them; None for a random start."""
        if self.protocol.weights is None:
            return None
        state = datasets.load_weights(self.protocol.weights, self.data_dir)
        return body_from_torchvision(self.task.network, state).to(self.device)

    @property
    def _rate(self) -> Rate | None:
        """The schedule of the learning rate; None for a constant one."""
        if self.protocol.schedule == "step":
            return Steps(self.protocol.milestone_epochs, self.protocol.factor or 1)
        return cosine if self.protocol.schedule == "cosine" else None

    def _augmentation(self) -> Augment | None:
        if not self.source.mirrored:
            return None
        return lambda pixels, noise: crops_and_flips(pixels, self.image, noise)

    def _train(
        self, method: Method, fits: Sequence[Fit], largest: int, number: int = 0, n_recorded: int = 0
    ) -> TrainedFits:
        protocol = self.protocol
        schedule = Schedule(
            largest, protocol.batch_size, protocol.epochs, method.batches_per_update, self._limit(method)
        )
        n_networks = len(fits) * method.members
        return train_sequentially(
            method,
            self.task,
            self.data,
            fits,
            schedule,
            channels=self.image[0],
            augment=self._augmentation(),
            rate=self._rate,
            start=self._start,
            short=DTYPES[protocol.precision],
            n_recorded=n_recorded,
            in_pairs=n_recorded > 0,
            on_update=self.progress.next_stack(schedule.plan.n_updates * n_networks),
        )
