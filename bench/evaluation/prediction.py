"""Cells that are judged by their predictions: tuned by cross-validation, fitted to a train part, scored on a test
part."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch

from bench import metrics
from bench.engine.replica import Data, Fit
from bench.engine.seeds import seed_of
from bench.engine.trained import TrainedFits
from bench.evaluation.evaluation import Pack
from bench.experiment.cells import Cell
from bench.experiment.jobs import End
from bench.metrics.prediction_table import predictions_table
from datasets import Standardisation, folds
from methods.maths.predictive import Predictive


class PredictionPack(Pack):
    """Tunes by the mean validation NMLL over the folds; the test part is seen by the final fit's predictions alone."""

    objective = "validation_nmll"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        x = np.concatenate([self.dataset.x, self.dataset.ood])
        y = np.concatenate([self.dataset.y, np.zeros(len(self.dataset.ood))])  # the latter are never looked at
        self.data = Data.of(x, y, self.device)
        pairs = zip(self.cells, self.splits, strict=True)
        self._folds = [_training_and_validation(cell, split.train) for cell, split in pairs]

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        seed = self.cells[number].fit_seed
        return [
            (Fit(training, hparams, seed_of(seed, "trial", trial, fold)), held_out)
            for fold, (training, held_out) in enumerate(self._folds[number])
        ]

    def scores(self, stack: TrainedFits, by: Sequence[np.ndarray]) -> list[float]:
        predictives = stack.predict(by, self.protocol.validation_samples)
        return [metrics.nmll(one, self.data.y[rows]) for one, rows in zip(predictives, by, strict=True)]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        return Fit(self.splits[number].train, hparams, self.final_seed(number))

    def judge(self, stack: TrainedFits, numbers: Sequence[int]) -> list[End]:
        tests = [self.splits[number].test for number in numbers]
        started = self.now()
        predictives = list(self._predictives(stack, tests))
        seconds_per_1000 = (self.now() - started) / sum(map(len, tests)) * 1000
        ood_rows = len(self.dataset.x) + np.arange(len(self.dataset.ood))
        oods = list(self._predictives(stack, [ood_rows] * len(numbers))) if len(ood_rows) else [None] * len(numbers)
        for number in numbers:
            self.found[number] |= {"predict_seconds_per_1000": seconds_per_1000}
        return [self.score(*one) for one in zip(numbers, predictives, oods, strict=True)]

    def score(self, number: int, predictive: Predictive, ood: Predictive | None) -> End:
        """The end of a cell, from its final fit's predictives on the CPU at the test points and at the OOD points."""
        if not all(part.isfinite().all() for part in (*predictive, *(ood or ()))):
            return End("diverged", "the final fit predicts numbers that are not finite")
        train, test = self.splits[number].train, self.splits[number].test
        y = torch.tensor(self.dataset.y[test])
        y_scale = float(Standardisation.of(self.dataset.y, train).scale)
        self.found[number] |= metrics.evaluate(predictive, y, y_scale, ood)
        return End("ok", tables={"predictions": predictions_table(predictive, test, y, ood)})

    def _predictives(self, stack: TrainedFits, rows: Sequence[np.ndarray]) -> Iterator[Predictive]:
        """Each fit's predictive at its own rows, on the CPU."""
        for found in stack.predict(rows, self.protocol.samples):
            yield type(found)(*(part.cpu() for part in found))


def _training_and_validation(cell: Cell, train: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and validation rows of each fold; the same for every method."""
    held_out = [train[part] for part in folds(len(train), cell.protocol.folds, cell.fold_seed)]
    return [(np.setdiff1d(train, part), part) for part in held_out]
