"""Cells of image classifiers: tuned on held-out training images, judged on the test images and on others."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch

import datasets
from bench import metrics
from bench.images.augment import crops_and_flips
from bench.images.plain_sgd import seconds_per_minibatch
from bench.images.solo import Augment, Solo
from bench.minibatches import Schedule
from bench.pack import End, Pack
from bench.predictions import predictions_table
from bench.row import Data, Fit
from bench.seeds import seed_of
from bench.tasks import space_of, task_of
from datasets import Split
from methods.base import Method
from methods.predictive import Classes


class ImagePack(Pack):
    """Trains one network at a time; trials are scored by the NMLL on the split's validation images.

    The final fit is trained on those too. Where the protocol has fewer images than there are, every method gets the
    same ones.
    """

    objective = "validation_nmll"
    fits_per_trial = 1

    def __init__(self, *arguments):
        super().__init__(*arguments)
        first, protocol = self.cells[0], self.protocol
        self.limit = 1
        self.source = datasets.entry(first.dataset)
        self.task = task_of(first.suite, first.dataset, protocol)
        self.space = space_of(self.method, self.task, protocol)
        self.data = Data.of(self.dataset.x, self.dataset.y, self.device)
        self.parts = [self._chosen(split, cell.split) for split, cell in zip(self.splits, self.cells, strict=True)]
        for own, part in zip(self.found, self.parts, strict=True):
            own |= {"n_train": len(part.train) + len(part.validation), "n_test": len(part.test)}

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        part = self.parts[number]
        seed = seed_of(self.cells[number].fit_seed, "trial", trial)
        return [(Fit(part.train, hparams, seed), part.validation)]

    def scores(self, stack: Solo, by: Sequence[np.ndarray]) -> list[float]:
        predictives = stack.predict(by, self.protocol.validation_samples)
        return [metrics.nmll(one, self.data.y[rows]) for one, rows in zip(predictives, by, strict=True)]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        part = self.parts[number]
        return Fit(np.concatenate([part.train, part.validation]), hparams, self.final_seed(number))

    def judge(self, stack: Solo, numbers: Sequence[int]) -> list[End]:
        return [self._judge(stack, number) for number in numbers]

    def _judge(self, stack: Solo, number: int) -> End:
        test = self.parts[number].test
        started = self.now()
        (predictive,) = self._predictives(stack, test)
        y = torch.tensor(self.dataset.y[test])
        self.found[number] |= {
            "predict_seconds_per_1000": (self.now() - started) / len(test) * 1000,
            "sgd_ratio": self._sgd_ratio(stack, self.found[number]["fit_seconds"]),
        }
        if not predictive.log_probs.isfinite().all():
            return End("diverged", "the final fit predicts numbers that are not finite")
        self.found[number] |= metrics.evaluate(predictive, y, 1.0)
        return End("ok", tables={"predictions": predictions_table(predictive, test, y)})

    def _predictives(self, stack: Solo, rows: np.ndarray, x: torch.Tensor | None = None) -> list[Classes]:
        found = stack.predict([rows], self.protocol.samples, x)
        return [type(one)(*(part.cpu() for part in one)) for one in found]

    def _sgd_ratio(self, stack: Solo, fit_seconds: float) -> float:
        minibatches = stack.schedule.plan.n_updates * self.method.batches_per_update
        network, likelihood = self.task.network, self.task.likelihood
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

    def _augmentation(self) -> Augment | None:
        if self.source.augmentation == "none":
            return None
        flip = self.source.augmentation == "crops and flips"
        return partial(self._crops_and_flips, flip=flip)

    def _crops_and_flips(self, pixels, noise, flip):
        return crops_and_flips(pixels, self.source.image, noise, flip=flip)

    def _train(self, method: Method, fits: Sequence[Fit], largest: int) -> Solo:
        protocol = self.protocol
        schedule = Schedule(
            largest, protocol.batch_size, protocol.epochs, method.batches_per_update, self._limit(method)
        )
        n_networks = len(fits) * method.members
        return Solo(
            method,
            self.task,
            self.data,
            fits,
            schedule,
            channels=self.source.image[0],
            augment=self._augmentation(),
            annealed=protocol.schedule == "cosine",
            watch=self.progress.next_stack(schedule.plan.n_updates * n_networks),
        )
