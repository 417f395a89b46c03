"""Networks too large to be stacked, one after the other: the same methods, without vmap, tapes or recording.

What is made here is what `bench.engine.stack` makes, from the same `Model`, seeds and order of minibatches; noise
is drawn as
it is asked for, because a tape would hold several times a large network's weights.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from bench.engine.minibatches import RowStream, Schedule
from bench.engine.replica import Data, Fit, Model, Row, rows_of
from bench.engine.seeds import seed_of
from bench.engine.vectorise import row_of
from methods.base import Method
from methods.maths.noise import LiveNoise
from methods.maths.predictive import Predictive
from methods.problem import Step, Task

POINTS_AT_ONCE = 1000  # inputs that are predicted, or swept, together
REFERENCE_ROWS = 500  # training images that batch normalisation takes its statistics of to predict
LARGE = 3 * 128 * 128  # numbers of an image from which on a tenth of either has to do, or memory would not

# (pixels (M, P), noise) -> pixels (M, P)
Augment = Callable[[Tensor, LiveNoise], Tensor]


class Solo:
    """Fits of image classifiers, trained at construction.

    Args:
        method: the method of all fits.
        task: the task of all fits.
        data: held once.
        fits: B fits.
        schedule: of all fits.
        channels: of the images, each of which is standardised as a whole.
        augment: changes the images of every minibatch.
        annealed: whether the learning rate falls along a cosine to zero, for methods that do not need it constant.
        dtype: of weights and arithmetic.
        start: trained weights of all layers but the last, where training starts from such.
        short: what minibatches pass through the network in, if not in `dtype`.
        watch: called with the number of updates done, of all fits together.

    Attributes:
        posteriors: what `Method.finish` returned, for each fit and member.
    """

    def __init__(
        self,
        method: Method,
        task: Task,
        data: Data,
        fits: Sequence[Fit],
        schedule: Schedule,
        *,
        channels: int,
        augment: Augment | None = None,
        annealed: bool = False,
        dtype: torch.dtype = torch.float32,
        start: Tensor | None = None,
        short: torch.dtype | None = None,
        watch: Callable[[int], None] = lambda update: None,
    ):
        self.method, self.data, self.fits, self.schedule = method, data, fits, schedule
        self._model = Model(method, task, dtype, start, short)
        self._augment, self._annealed = augment, annealed and not method.constant_rate
        rows = rows_of(fits, data, dtype, standardise_x=True, standardise_y=False, channels=channels)
        self._rows = [tree_map(lambda leaf: row_of(leaf, number), rows) for number in range(len(fits))]  # noqa: B023
        self._members = [(number, member) for number in range(len(fits)) for member in range(method.members)]
        self.posteriors = []
        with torch.no_grad():
            for done, (number, member) in enumerate(self._members):
                before = done * schedule.plan.n_updates
                state = self._train(number, member, lambda update: watch(before + update))  # noqa: B023 (called at once)
                if method.sweeps:
                    state = self._sweep(number, state)
                self.posteriors.append(self._model.finish(self._rows[number], state))

    @property
    def n_parameters(self) -> int:
        """Numbers stored in one fit's posterior, all members together."""
        leaves = [leaf for posterior in self.posteriors for leaf in tree_leaves(posterior)]
        return sum(leaf.numel() for leaf in leaves) // len(self.fits)

    @property
    def n_weights(self) -> int:
        """D, weights of the network."""
        return self._model.network.dim

    @torch.no_grad()
    def predict(self, rows: Sequence[np.ndarray], n_samples: int, x: Tensor | None = None) -> Iterator[Predictive]:
        """Each fit's predictive at its own rows, members pooled, in the order of the fits.

        Args:
            rows: one index array per fit.
            n_samples: S; an ensemble of m members draws ceil(S / m) from each.
            x: (N', P), the images that `rows` count; by default those of `data`.
        """
        x = self.data.x if x is None else x
        per_member = math.ceil(n_samples / self.method.members)
        for fit, own in enumerate(rows):
            index = torch.tensor(own, device=x.device)
            members = [place for place, (number, _) in enumerate(self._members) if number == fit]
            yield _joined([self._predict(place, x, index, per_member) for place in members], dim=0)

    @torch.no_grad()
    def diagnostics(self) -> list[dict[str, float]]:
        """What the method reports of each fit, averaged over its members."""
        found: list[list[dict[str, Tensor]]] = [[] for _ in self.fits]
        for (number, _), posterior in zip(self._members, self.posteriors, strict=True):
            found[number].append(self._model.diagnostics(self._rows[number], posterior))
        return [{name: float(torch.stack([one[name] for one in own]).mean()) for name in own[0]} for own in found]

    def _train(self, number: int, member: int, watch: Callable[[int], None]) -> Any:
        fit, row, plan = self.fits[number], self._rows[number], self.schedule.plan
        state = self._model.init(row, self._noise(fit, member, "init"))
        stream = RowStream(fit.rows, seed_of(fit.seed, member, "rows"))
        noise, images = (self._noise(fit, member, purpose) for purpose in ("update", "augment"))
        shape = self.method.batches_per_update, self.schedule.minibatch
        places = torch.arange(math.prod(shape), device=self.data.x.device).reshape(shape)
        for update in range(1, plan.n_updates + 1):
            dealt = torch.tensor(stream.take(math.prod(shape)), device=self.data.x.device)
            x, y = self.data.x[dealt], self.data.y[dealt]
            if self._augment:
                x = self._augment(x, images)
            count = torch.tensor(float(update), dtype=self._model.dtype, device=self.data.x.device)
            step = Step(count, self.method.phase(update, plan))
            here = self._annealed_row(row, (update - 1) / plan.n_updates)
            state = self._model.update(here, x, y, places, state, noise, step)
            watch(update)
        return state

    def _annealed_row(self, row: Row, done: float) -> Row:
        if not self._annealed:
            return row
        return row._replace(hparams=row.hparams | {"lr": row.hparams["lr"] * (0.5 + 0.5 * math.cos(math.pi * done))})

    def _sweep(self, number: int, state: Any) -> Any:
        fit, row = self.fits[number], self._rows[number]
        reference, at_once = self._reference(fit), self._few(POINTS_AT_ONCE)
        model = self._model.with_reference(len(reference))
        for first in range(0, len(fit.rows), at_once):
            own = torch.tensor(fit.rows[first : first + at_once], device=self.data.x.device)
            index = torch.cat([reference, own])
            present = (torch.arange(len(index), device=own.device) >= len(reference)).to(model.dtype)
            state = model.sweep(row, self.data.x, self.data.y, index, present, state)
        return state

    def _predict(self, place: int, x: Tensor, index: Tensor, n_samples: int) -> Predictive:
        """Of one member: the same samples at all points, whatever number of them is looked at together."""
        number, member = self._members[place]
        fit, row, posterior = self.fits[number], self._rows[number], self.posteriors[place]
        reference = self.data.x[self._reference(fit)]
        model = self._model.with_reference(len(reference))

        def predict(pixels: Tensor, first: int, count: int) -> Predictive:
            noise = self._noise(fit, member, "predict", first)
            found = model.predict(row, posterior, torch.cat([reference, pixels]), noise, count)
            return tree_map(lambda part: part[:, len(reference) :], found)

        # Several samples of a large network's weights at once would cost memory and gain nothing.
        at_once = n_samples if self.method.one_pass else 1
        if at_once == 1 and len(predict(x[index[:1]], 0, 2)[0]) == 1:
            n_samples = 1  # a point estimate
        samples = [
            _joined([predict(x[part], first, at_once) for part in index.split(self._few(POINTS_AT_ONCE))], dim=1)
            for first in range(0, n_samples, at_once)
        ]
        return _joined(samples, dim=0)

    def _reference(self, fit: Fit) -> Tensor:
        """Rows (R,) of training images that go through the network before others; none where rows are independent."""
        n_rows = self._few(REFERENCE_ROWS) if self._model.network.couples_rows else 0
        order = np.random.default_rng(seed_of(fit.seed, "reference")).permutation(fit.rows)
        return torch.tensor(order[:n_rows], dtype=torch.int64, device=self.data.x.device)

    def _few(self, number: int) -> int:
        """As many images as go through the network together, where small ones would be `number`."""
        return number if self.data.x.shape[1] < LARGE else number // 10

    def _noise(self, fit: Fit, *purpose: Any) -> LiveNoise:
        generator = torch.Generator(device=self.data.x.device).manual_seed(seed_of(fit.seed, *purpose))
        return LiveNoise(generator, self._model.dtype)


def _joined(parts: Sequence[Predictive], dim: int) -> Predictive:
    return tree_map(lambda *pieces: torch.cat(pieces, dim=dim), *parts)
