"""Kinds of cells, such as predictions on tables or image classification: which methods can run, and the evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from lockstep_bench import datasets, methods
from lockstep_bench.bench.experiment import estimators
from lockstep_bench.shared.protocol import IMAGES, SETTINGS, STREAMS, VECTORS, Protocol, in_words

if TYPE_CHECKING:
    from lockstep_bench.methods.problem import Task


@dataclass(frozen=True)
class Kind:
    """A kind of cells; this one is for methods that are trained on tables and scored by their predictions.

    Attributes:
        runner: "module:function" that returns the evaluation of a job.
        data: kind of data, which decides which fields of a protocol apply (`Setting.data`).
        settled: hyper-parameters that a data set's Bayesian model fixes, so that the user can neither tune nor give
            them.
    """

    runner: str
    data: ClassVar[str] = VECTORS
    settled: ClassVar[frozenset[str]] = frozenset()

    @property
    def evaluation(self) -> Callable[..., Any]:
        """Return the function that makes an evaluation from a job, a torch device and a progress callback.

        The method `run` of an evaluation yields the outcomes of all cells after each step, as far as they are known.
        """
        evaluation: Callable[..., Any] = resolve_name(self.runner)
        return evaluation

    def names(self) -> tuple[str, ...]:
        """Return the names of all methods that can run in cells of this kind."""
        return methods.names()

    def headline(self) -> tuple[str, ...]:
        """Return the names of one method per family, for a first comparison."""
        return methods.headline()

    def canonical(self, name: str) -> str:
        """Return a method's name with its options in a normal form; unchanged if the method cannot be imported."""
        return name if methods.problem_with(name) else methods.get(name).name

    def problem_with(self, name: str) -> str | None:
        """Import a method and return the reason why it cannot be used at all, or None if it can."""
        return methods.problem_with(name)

    def belongs(self, name: str, suite: str) -> bool:
        """Return True if a method runs in a suite by default, False if the user has to name it."""
        return suite in methods.get(name).suites

    def takes(self, setting: str) -> bool:
        """Return True if a field of a protocol applies to cells of this kind."""
        return self.data in SETTINGS[setting].data

    def in_words(self, protocol: Protocol) -> str:
        """Return the budget of a cell in words."""
        return in_words(json.loads(protocol.to_json()), self.data)

    def rows_of(self, method: str, protocol: Protocol) -> int:
        """Return the largest number of networks that one cell trains together; 0 if fits are trained one by one.

        It is the largest number of trials in a round of tuning, times the number of folds and of ensemble members.
        """
        used = methods.get(method)
        fits = [(end - start) * protocol.fits_per_trial for start, end in protocol.rounds()]
        return max([1, *fits]) * used.members if used.stackable else 0

    def lacks(self, dataset: str) -> tuple[str, str] | None:
        """Return what is missing, besides the data, to run a data set, and the remedy; None if nothing is missing."""
        return None

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        """Return the reason why a method cannot be used on a data set, or None; `task` returns the data set's task."""
        made = task()
        return methods.get(method).suited_to(made).excludes(made)


class Streams(Kind):
    """Kind of cells in which estimators fit Gaussians to streams of vectors; no network is trained."""

    data = STREAMS

    def names(self) -> tuple[str, ...]:
        return estimators.names()

    def headline(self) -> tuple[str, ...]:
        return estimators.names()

    def canonical(self, name: str) -> str:
        return name

    def problem_with(self, name: str) -> str | None:
        known = estimators.names()
        return None if name in known else f"estimator {name!r} is unknown. Allowed: {', '.join(known)}"

    def belongs(self, name: str, suite: str) -> bool:
        return True

    def in_words(self, protocol: Protocol) -> str:
        return in_words({"stream_length": protocol.stream_length} | json.loads(protocol.to_json()), self.data)

    def rows_of(self, method: str, protocol: Protocol) -> int:
        return 1

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        return estimators.excludes(method, dataset)


class Images(Kind):
    """Kind of cells in which image classifiers are trained, one network at a time."""

    data = IMAGES

    def rows_of(self, method: str, protocol: Protocol) -> int:
        return 0


@dataclass(frozen=True)
class Fidelity(Kind):
    """Kind of cells in which a posterior, of weights or of predictions, is compared with a reference posterior."""

    settled = frozenset({"prior_precision", "noise_precision"})

    def lacks(self, dataset: str) -> tuple[str, str] | None:
        from lockstep_bench.methods.mcmc import nuts

        source = datasets.entry(dataset)
        if source.model is None:
            return "it names no model, so that it has no reference posterior", "give its `datasets.Source` a `model`"
        solved = not source.model.hidden and (source.task == "regression" or source.n_features <= 2)
        if solved or nuts.is_installed():
            return None
        return (
            "its reference posterior has to be sampled, and JAX, NumPyro or arviz-stats is not installed",
            nuts.REMEDY,
        )

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        model = datasets.entry(dataset).model
        if model and not model.hidden and not methods.get(method).weight_posterior:
            return "it does not approximate the posterior of the weights under the prior N(0, I / prior_precision)"
        likelihood = task().likelihood
        if likelihood.standardises and likelihood.kind != "gaussian":
            return f"its reference posterior has Gaussian noise, not that of the likelihood {likelihood.kind}"
        return super().excludes(method, dataset, task)


class Functions(Fidelity):
    """Kind of cells in which a network's function is compared with draws of its posterior.

    The noise is that of the data set's model, which the network predicts if the model has no noise precision.
    """

    def lacks(self, dataset: str) -> tuple[str, str] | None:
        # Draws that are not kept are sampled by a method of this project, which needs no further package.
        return super().lacks(dataset) if datasets.entry(dataset).model is None else None

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        model = datasets.entry(dataset).model
        if model is None or model.noise_precision is not None:
            return super().excludes(method, dataset, task)
        from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian
        from lockstep_bench.methods.networks.mlp import MLP

        declared = task()
        assert isinstance(declared.network, MLP)
        predicted = HeteroscedasticGaussian()
        network = replace(declared.network, n_outputs=predicted.n_outputs)
        return Kind.excludes(self, method, dataset, lambda: replace(declared, likelihood=predicted, network=network))


class Decisions(Kind):
    """Kind of cells in which a method chooses the actions of a bandit; nothing is tuned.

    The field `stream_length` of a protocol is the largest number of rounds.
    """

    data = "decisions"
    fields = frozenset(
        (
            *("hparams", "epochs", "batch_size", "max_minibatches", "max_updates", "samples", "hidden", "activation"),
            *("space", "stream_length"),
        )
    )

    def takes(self, setting: str) -> bool:
        return setting in self.fields

    def in_words(self, protocol: Protocol) -> str:
        values = {name: value for name, value in json.loads(protocol.to_json()).items() if self.takes(name)}
        return f"up to {protocol.stream_length:,} rounds, " + in_words(
            {"sampler": "centre", **values, "stream_length": None}
        )

    def rows_of(self, method: str, protocol: Protocol) -> int:
        used = methods.get(method)
        return used.members if used.stackable else 0

    def excludes(self, method: str, dataset: str, task: Callable[[], Task]) -> str | None:
        if not methods.get(method).joint:
            return "it draws no functions, of which Thompson sampling needs one"
        return super().excludes(method, dataset, task)
