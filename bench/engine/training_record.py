"""Recording of a method's diagnostics during training: at which updates, and with which values."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.environment.clock import now

MOST_PAIRS = 15
PAIRS_APART = 10  # a pair is a tenth of training apart

Inputs = TypeVar("Inputs")


class Trace(NamedTuple):
    """Values of one diagnostic of one fit during training."""

    updates: np.ndarray  # (U,), numbers of the recorded updates, 1 for the first
    values: np.ndarray  # (U,), float64


class TrainingRecord:
    """Record of the diagnostics that a method's updates return, such as the objective, at evenly spaced updates.

    Args:
        n_updates: number of updates of each fit.
        n_recorded: largest number of updates at which diagnostics are recorded, the last update included; 0 for none.
        in_pairs: whether diagnostics are also recorded at the updates of `pairs`.

    Attributes:
        seconds: time that the computation of diagnostics has added to the training.
    """

    def __init__(self, n_updates: int, n_recorded: int, in_pairs: bool = False):
        count = min(n_recorded, n_updates)
        self._earlier = pairs(n_updates) if in_pairs else {}
        evenly_spaced = np.linspace(n_updates, 1, count).round().astype(int).tolist()
        self._recorded = frozenset([*evenly_spaced, *self._earlier, *self._earlier.values()])
        self._kept: dict[int, object] = {}
        self._values: dict[str, dict[int, list[Tensor]]] = {}
        self.seconds = 0.0

    def wants(self, update: int) -> bool:
        """Return whether diagnostics are recorded at an update, 1 for the first."""
        return update in self._recorded

    def inputs(self, update: int, drawn: Callable[[], Inputs]) -> Inputs:
        """Return the minibatches and random numbers with which the diagnostics of an update are computed.

        The later update of a pair uses those of the earlier one. The difference between the two values is then due to
        the state, not to the minibatch.

        Args:
            update: a recorded update, 1 for the first.
            drawn: returns the update's own inputs.
        """
        earlier = self._earlier.get(update)
        if earlier in self._kept:
            return cast("Inputs", self._kept.pop(earlier))
        own = drawn()
        if update in self._earlier.values():
            self._kept[update] = own
        return own

    @contextmanager
    def timed(self, device: torch.device) -> Iterator[None]:
        """Add the duration of the `with` block to `seconds`."""
        started = now(device)
        yield
        self.seconds += now(device) - started

    def add(self, update: int, diagnostics: Mapping[str, Tensor]) -> None:
        """Record the diagnostics of an update: of all R networks at once, (R,) each, or of one network, () each.

        In the second case, networks are recorded one after the other, in their order.
        """
        for name, values in diagnostics.items():
            self._values.setdefault(name, {}).setdefault(update, []).append(values.reshape(-1))

    def traces(self, n_fits: int, members: int) -> list[dict[str, Trace]]:
        """Return the recorded values of each fit, by the diagnostic's name, averaged over the members of an ensemble.

        Args:
            n_fits: B, number of fits.
            members: m, number of networks per fit. The first B x m recorded networks belong to the fits, in order; any
                further network is padding.
        """
        traces: list[dict[str, Trace]] = [{} for _ in range(n_fits)]
        for name, by_update in self._values.items():
            networks = torch.stack([torch.cat(values)[: n_fits * members] for values in by_update.values()])  # (U, B m)
            means = networks.double().reshape(-1, n_fits, members).mean(2).cpu().numpy()
            for number in range(n_fits):
                traces[number][name] = Trace(np.array(list(by_update)), means[:, number])
        return traces


def pairs(n_updates: int) -> dict[int, int]:
    """Return evenly spaced updates in the last tenth of training, each with the update a tenth of training before."""
    tenth = n_updates // PAIRS_APART
    later = np.linspace(n_updates, n_updates - tenth + 1, min(MOST_PAIRS, tenth)).round().astype(int)
    return {update: update - tenth for update in later.tolist()}


def require_scalars(hook: str, diagnostics: object) -> None:
    """Raise TypeError unless diagnostics of one network are a dictionary: name -> tensor () of a floating type.

    Args:
        hook: name of the method's function that returned the diagnostics, such as "map.update".
        diagnostics: the value that it returned.
    """
    wanted = f"{hook} must return diagnostics as a dictionary of names and tensors of shape () and a floating type"
    if not isinstance(diagnostics, dict):
        raise TypeError(f"{wanted}; it returned a {type(diagnostics).__name__}")
    for name, value in diagnostics.items():
        if not isinstance(name, str):
            raise TypeError(f"{wanted}; {name!r} is not a string")
        if not (isinstance(value, Tensor) and value.shape == () and value.is_floating_point()):
            tensor = isinstance(value, Tensor)
            got = f"a tensor of shape {tuple(value.shape)}, {value.dtype}" if tensor else f"a {type(value).__name__}"
            raise TypeError(f"{wanted}; {name!r} is {got}")
