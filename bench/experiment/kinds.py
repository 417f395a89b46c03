"""What the cells of a suite are: which methods there are for them, and who runs them. Imports nothing heavy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

import datasets
import methods
from bench.experiment import estimators
from bench.experiment.protocol import IMAGES, STREAMS, VECTORS, Protocol, in_words

if TYPE_CHECKING:
    from methods.problem import Task


@dataclass(frozen=True)
class Kind:
    """Cells in which methods of the registry are trained on a data set.

    Attributes:
        runner: "module:class" of the `bench.evaluation.evaluation.Evaluation` that runs them.
    """

    runner: str
    data: ClassVar[str] = VECTORS  # fields of a protocol say for which data they are

    @property
    def evaluation(self) -> type:
        """What is called with (job, device, tell) and returns a `bench.evaluation.evaluation.Evaluation`."""
        return resolve_name(self.runner)

    def names(self) -> tuple[str, ...]:
        """All methods that may be asked for."""
        return methods.names()

    def headline(self) -> tuple[str, ...]:
        """One method for each idea."""
        return methods.headline()

    def problem_with(self, name: str) -> str | None:
        """Why a method cannot be used at all, or None. Imports it."""
        return methods.problem_with(name)

    def belongs(self, name: str, suite: str) -> bool:
        """Whether a usable method runs in a suite without being asked for by name."""
        return suite in methods.get(name).suites

    def in_words(self, protocol: Protocol) -> str:
        """Return the budget of a cell as a phrase for people."""
        return in_words(json.loads(protocol.to_json()), self.data)

    def rows_of(self, method: str, protocol: Protocol) -> int:
        """Rows of the largest stack that a cell fills by itself: the most trials at a time, on every fold, all members.

        0 where fits are trained one after the other.
        """
        used = methods.get(method)
        fits = [(end - start) * protocol.folds for start, end in protocol.rounds()]
        return max([1, *fits]) * used.members if used.stackable else 0

    def lacks(self, dataset: str) -> tuple[str, str] | None:
        """What besides the data is missing here to run a data set, and the remedy; None if nothing is."""
        return None

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        """Why a method cannot be used on a data set, of which `task` makes the task, or None."""
        found = task()
        return methods.get(method).suited_to(found).excludes(found)


class Streams(Kind):
    """Cells in which estimators are fitted to streams of vectors; no network is trained."""

    data = STREAMS

    def names(self) -> tuple[str, ...]:
        return estimators.names()

    def headline(self) -> tuple[str, ...]:
        return estimators.names()

    def problem_with(self, name: str) -> str | None:
        known = estimators.names()
        return None if name in known else f"estimator {name!r} is unknown. Allowed: {', '.join(known)}"

    def belongs(self, name: str, suite: str) -> bool:
        return True

    def in_words(self, protocol: Protocol) -> str:
        return in_words({"stream_length": protocol.stream_length})

    def rows_of(self, method: str, protocol: Protocol) -> int:
        return 1

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        return estimators.excludes(method, dataset)


class Images(Kind):
    """Cells in which one network at a time is trained on images."""

    data = IMAGES

    def rows_of(self, method: str, protocol: Protocol) -> int:
        return 0


@dataclass(frozen=True)
class Fidelity(Kind):
    """Cells in which a posterior is compared with the true one: of the weights, or of a network's function."""

    def lacks(self, dataset: str) -> tuple[str, str] | None:
        from methods.mcmc import nuts

        source = datasets.entry(dataset)
        if source.model is None:
            return "it names no model whose posterior would be the truth", "give its `datasets.Source` a `model`"
        solved = not source.model.hidden and (source.task == "regression" or source.n_features <= 2)
        if solved or nuts.is_installed():
            return None
        return "its truth has to be sampled, and JAX, NumPyro or arviz-stats is not installed", nuts.REMEDY

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        in_weights = not datasets.entry(dataset).model.hidden
        if in_weights and not methods.get(method).weight_posterior:
            return "it does not approximate the posterior of the weights under the prior N(0, I / prior_precision)"
        return super().excludes(method, dataset, task)
