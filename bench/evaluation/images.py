"""Cells of image classifiers: tuned on held-out training images, judged on the test images and on others."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch

import datasets
from bench import metrics
from bench.engine.augment import crops_and_flips
from bench.engine.minibatches import Schedule
from bench.engine.plain_sgd import seconds_per_minibatch
from bench.engine.replica import Data, Fit
from bench.engine.seeds import seed_of
from bench.engine.sequential_training import Augment, train_sequentially
from bench.engine.trained import TrainedFits
from bench.evaluation.evaluation import Pack
from bench.experiment.jobs import End
from bench.metrics import shifted
from bench.metrics.prediction_table import predictions_table
from bench.shifts import SHIFTS, Shift
from datasets import Split
from methods.base import Method
from methods.maths.predictive import Classes
from methods.networks.mixed_precision import DTYPES, Mixed
from methods.networks.resnets import body_from_torchvision

FAMILIES = {1: ("rotation", "translation"), 3: ("corruption",)}  # of shifts, by the images' channels
SHIFT_SEED = 0  # not the run's: all methods and runs see the same images


class ImagePack(Pack):
    """Trains one network at a time; trials are scored by the NMLL on the split's validation images.

    The final fit is trained on those too. Where the protocol has fewer images than there are, every method gets the
    same ones.
    """

    objective = "validation_nmll"
    fits_per_trial = 1

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.limit = 1
        self.source = datasets.entry(self.cells[0].dataset)
        self.data = Data.of(self.dataset.x, self.dataset.y, self.device)
        self.start = self._start()
        self.parts = [self._chosen(split, cell.split) for split, cell in zip(self.splits, self.cells, strict=True)]
        for own, part in zip(self.found, self.parts, strict=True):
            own |= {"n_train": len(part.train) + len(part.validation), "n_test": len(part.test)}

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        part = self.parts[number]
        seed = seed_of(self.cells[number].fit_seed, "trial", trial)
        return [(Fit(part.train, hparams, seed), part.validation)]

    def scores(self, stack: TrainedFits, by: Sequence[np.ndarray]) -> list[float]:
        predictives = stack.predict(by, self.protocol.validation_samples)
        targets = (torch.tensor(self.dataset.y[rows], device=self.device) for rows in by)
        return [metrics.nmll(*pair) for pair in zip(predictives, targets, strict=True)]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        part = self.parts[number]
        return Fit(np.concatenate([part.train, part.validation]), hparams, self.final_seed(number))

    def judge(self, stack: TrainedFits, numbers: Sequence[int]) -> list[End]:
        return [self._judge(stack, number) for number in numbers]

    def points(self, number: int) -> int:
        """The test images, as many of each OOD set, and those that are shifted, at every severity."""
        test, shifts = len(self.parts[number].test), SHIFTS.values() if self.protocol.max_shifted else ()
        outside = sum(map(len, self.source.ood_groups.values()))
        severities = sum(len(one.severities) for one in shifts if one.family in FAMILIES[self.source.image[0]])
        return test * (1 + outside) + min(test, self.protocol.max_shifted) * severities

    def _judge(self, stack: TrainedFits, number: int) -> End:
        test = self.parts[number].test
        started = self.now()
        predictive = self._predictive(stack, test)
        self.found[number] |= {
            "predict_seconds_per_1000": (self.now() - started) / len(test) * 1000,
            "sgd_ratio": self._sgd_ratio(stack, self.found[number]["fit_seconds"]),
        }
        if not predictive.log_probs.isfinite().all():
            return End("diverged", "the final fit predicts numbers that are not finite")
        y = torch.tensor(self.dataset.y[test])
        outside = {
            group: {name: metrics.pool(self._elsewhere(stack, pixels)) for name, pixels in sets.items()}
            for group, sets in self._outsiders.items()
        }
        tables = metrics.tables(metrics.pool(predictive), y, outside)
        if self.protocol.max_shifted:
            tables["shifts"] = self._shifted(stack, test[: self.protocol.max_shifted], predictive)
        self.found[number] |= metrics.evaluate(predictive, y, 1.0) | metrics.summaries(tables) | self._on_partner(stack)
        return End("ok", tables=tables | {"predictions": predictions_table(predictive, test, y)})

    def _predictive(self, stack: TrainedFits, rows: np.ndarray, pixels: torch.Tensor | None = None) -> Classes:
        (found,) = stack.predict([rows], self.protocol.samples, pixels)
        return Classes(found.log_probs.cpu())

    def _elsewhere(self, stack: TrainedFits, pixels: np.ndarray) -> Classes:
        """At images (n, P) that are not the data set's."""
        return self._predictive(stack, np.arange(len(pixels)), torch.tensor(pixels, device=self.device))

    @cached_property
    def _outsiders(self) -> dict[str, dict[str, np.ndarray]]:
        """Pixels of the OOD sets that are here, in this set's shape, by their group and name."""
        found = {
            group: {name: self._outsider(name) for name in names if self._is_here(name)}
            for group, names in self.source.ood_groups.items()
        }
        n_ood = sum(len(pixels) for sets in found.values() for pixels in sets.values())
        for own in self.found:
            own["n_ood"] = n_ood
        return found

    def _outsider(self, name: str) -> np.ndarray:
        """Test images of another set, as many as of this one."""
        pixels = datasets.ood_images(name, self.source.image, self.data_dir)
        order = np.random.default_rng(seed_of("images", name)).permutation(len(pixels))
        return pixels[order[: self.protocol.max_test]]

    def _on_partner(self, stack: TrainedFits) -> dict[str, float]:
        """Quality on another set's images of the same classes, as many as of this one's; nothing where none is here."""
        name = datasets.partner(self.source.name)
        if name is None or not self._is_here(name):
            return {}
        pixels, labels = datasets.partner_images(self.source.name, self.data_dir)
        order = np.random.default_rng(seed_of("images", name)).permutation(len(labels))[: self.protocol.max_test]
        return shifted.elsewhere(self._elsewhere(stack, pixels[order]), torch.tensor(labels[order]))

    def _is_here(self, name: str) -> bool:
        """Sets that are not were told of before the run began."""
        return datasets.availability(name, self.data_dir).state == "ready"

    def _shifted(self, stack: TrainedFits, rows: np.ndarray, predictive: Classes) -> pa.Table:
        """Quality on test images at every severity of every shift that is made for such images."""
        images = self.dataset.x[rows].reshape(-1, *self.source.image)

        def found() -> Iterator[tuple[Shift, int, Classes]]:
            for shift in SHIFTS.values():
                if shift.family in FAMILIES[self.source.image[0]]:
                    for severity in shift.severities:
                        changed = shift.apply(images, severity, SHIFT_SEED, rows)
                        yield shift, severity, self._elsewhere(stack, changed.reshape(len(rows), -1))

        y = torch.tensor(self.dataset.y[rows])
        return shifted.table(Classes(predictive.log_probs[:, : len(rows)]), found(), y)

    def _sgd_ratio(self, stack: TrainedFits, fit_seconds: float) -> float:
        minibatches = stack.schedule.plan.n_updates * self.method.batches_per_update
        network, likelihood, short = self.task.network, self.task.likelihood, DTYPES[self.protocol.precision]
        network = Mixed(network, short) if short else network
        plain = seconds_per_minibatch(network, likelihood, self.data, stack.schedule.minibatch)
        return fit_seconds / minibatches / plain

    def _chosen(self, split: Split, number: int) -> Split:
        """As many of a split's images as the protocol asks for, in a random order that is the same for all methods."""
        generator = np.random.default_rng(seed_of("images", self.source.name, number))
        train, validation, test = (generator.permutation(rows) for rows in (split.train, split.validation, split.test))
        if self.protocol.max_train is not None:
            share = self.protocol.max_train / (len(train) + len(validation))
            train, validation = (rows[: max(1, round(share * len(rows)))] for rows in (train, validation))
        return Split(train, test[: self.protocol.max_test], validation)

    def _start(self) -> torch.Tensor | None:
        """Trained weights of all layers but the last, where the protocol starts from such."""
        if self.protocol.weights is None:
            return None
        state = datasets.load_weights(self.protocol.weights, self.data_dir)
        return body_from_torchvision(self.task.network, state).to(self.device)

    def _augmentation(self) -> Augment | None:
        if not self.source.mirrored:
            return None
        return lambda pixels, noise: crops_and_flips(pixels, self.source.image, noise)

    def _train(self, method: Method, fits: Sequence[Fit], largest: int) -> TrainedFits:
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
            channels=self.source.image[0],
            augment=self._augmentation(),
            annealed=protocol.schedule == "cosine",
            start=self.start,
            short=DTYPES[protocol.precision],
            on_update=self.progress.next_stack(schedule.plan.n_updates * n_networks),
        )
