"""The method contract. A method is one file with the mathematics of ONE Bayesian neural network.

The engine trains thousands of fits in lockstep under `torch.func.vmap`. A method therefore

- never branches on the value of a tensor; it branches on training progress only through `step.phase`;
- draws random numbers from `noise` only, and the same amount at every update of a phase;
- returns from `update` a state with the structure, shapes and data types of the state that it received.

`python -m methods check NAME` tests this.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from copy import copy
from inspect import signature
from typing import Any, NamedTuple, Self

from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.maths.gaussian import LowRankNormal, LowRankPrecision
from lockstep_bench.methods.maths.likelihoods import KINDS, Likelihood
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.methods.maths.search_spaces import for_images, widened
from lockstep_bench.methods.networks.mlp import Network
from lockstep_bench.methods.problem import Batch, Problem, Step, Sweep, Task


class Paper(NamedTuple):
    """Reference of a method.

    Attributes:
        authors: authors and year, as in "Blundell et al. 2015".
        title: title of the paper.
    """

    authors: str
    title: str


class Plan(NamedTuple):
    """Length of training, known before it starts.

    Attributes:
        n_updates: number of calls of `update`.
        updates_per_epoch: number of calls per pass over the training rows.
    """

    n_updates: int
    updates_per_epoch: float


# Kinds of Gaussians by what their covariance can be.
COVARIANCES = {
    "full": "any covariance",
    "diagonal": "independent weights",
    "spherical": "independent weights of equal variance",
}


class Described:
    """Facts about a method besides its mathematics, as class attributes; built-in methods get them from `cards.toml`.

    Attributes:
        name: key in the registry.
        title: display name.
        paper: reference.
        suites: suites that include the method by default; in others it must be requested by name.
        limits: further limits, for people: "networks of up to 2,000 weights".
        covariance: a key of `COVARIANCES`: the kind of covariance that the method's Gaussian posterior can have.
            `check` fits a linear model and compares the spread with that of the best Gaussian of this kind.
        mean_caveat: reason why the method's posterior mean of a linear model differs by design from the exact mean;
            empty if they agree. If a reason is given, `check` compares neither mean nor spread.
        spread_caveat: reason why the posterior's spread differs by design from the exact spread, as in "a point
            estimate"; empty if they agree. If a reason is given, `check` compares only the mean.
        wide_ranges: ranges of single hyper-parameters in `wide_space`, where its default ranges do not suit the method.
        image_ranges: ranges of single hyper-parameters in `image_space`, where its default ranges do not suit the
            method.
        options: constructor arguments that the user wrote in the method's name, as in "mfvi(tempering=0.1)".
    """

    name: str
    title: str
    paper: Paper
    suites: tuple[str, ...] = ("uci", "own", "uci-gap", "uci-tail", "posterior", "toy", "images", "retinopathy")
    limits: str = ""
    covariance: str = "full"
    mean_caveat: str = ""
    spread_caveat: str = ""
    wide_ranges: Mapping[str, BaseDistribution] = {}
    image_ranges: Mapping[str, BaseDistribution] = {}
    options: Mapping[str, Any] = {}


class Method(Described, ABC):
    """Base of every method. Hyper-parameters arrive as attributes of `problem.hparams`, each a tensor ().

    Attributes:
        batches_per_update: L, number of minibatches per update; an epoch has L times fewer updates.
        full_batch: whether every update gets all training rows at once, as a single minibatch (`Batch.present`). Each
            member has its own random order of the rows, which is the same at every update.
        members: number of independent fits that make up the method. Each has its own seed and order of minibatches;
            their predictives are pooled.
        chains: whether each member is a Markov chain. `sample` then returns the chain's draws in their order, and all
            of them if `n_samples` is at least their number.
        joint: whether sample s of the predictive is one function at all test points, so that the samples have a joint
            distribution of labels. False for closed forms that give each point its own distribution.
        likelihoods: kinds of likelihood that the method supports (`methods.maths.likelihoods.KINDS`).
        sweeps: whether `sweep` is called after the last update.
        one_pass: whether `predict` evaluates the network at x once for any number of samples. A large network then
            predicts with all samples in one call; otherwise there is one call per sample.
        constant_rate: whether the learning rate must not be scheduled. True if the method relies on SGD at a constant
            rate, or if the rate is more than a step length.
        stackable: False if fits must run one by one, as for a wrapper of another library.
        deterministic: whether a fit and its predictions draw no random numbers, so that no seed changes them.
        mean_network: whether to predict with the posterior mean of the weights alone, in methods that support it.
        weight_posterior: whether the method approximates the posterior of the network's weights under the prior
            N(0, I / prior_precision), so that it can be compared with the exact one.
    """

    batches_per_update: int = 1
    full_batch: bool = False
    members: int = 1
    chains: bool = False
    joint: bool = True
    likelihoods: tuple[str, ...] = KINDS
    sweeps: bool = False
    one_pass: bool = False
    constant_rate: bool = False
    stackable: bool = True
    deterministic: bool = False
    mean_network: bool = False
    weight_posterior: bool = True

    def __init_subclass__(cls) -> None:
        """Check the signatures of an adapter's functions.

        Raises:
            TypeError: if a function cannot be called as the contract says. The message says what to change.
        """
        super().__init_subclass__()
        for hook in HOOKS & vars(cls).keys():
            _check_signature(cls, hook)

    @abstractmethod
    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        """Return the hyper-parameters to tune, in the ranges of the method's paper: name -> Optuna distribution."""

    def wide_space(self, task: Task) -> dict[str, BaseDistribution]:
        """Return the hyper-parameters to tune, in ranges wide enough for a fair comparison on any data set."""
        return {**widened(self.search_space(task)), **self.wide_ranges}

    def image_space(self, task: Task) -> dict[str, BaseDistribution]:
        """Return the search space for image classifiers. Runs that do not tune take the middle of each range.

        Networks that start from trained weights (`task.pretrained`) have other ranges.
        """
        return {**for_images(self.search_space(task), pretrained=task.pretrained), **self.image_ranges}

    def likelihood(self, task: Task) -> Likelihood:
        """Return the likelihood to use; by default the task's."""
        return task.likelihood

    def network(self, task: Task) -> Network:
        """Return the network to train; by default the task's."""
        return task.network

    def excludes(self, task: Task) -> str | None:
        """Return the reason why the method cannot be used on a task, in a few words, or None if it can."""
        kind = task.likelihood.kind
        return None if kind in self.likelihoods else f"no {kind} likelihood"

    def suited_to(self, task: Task) -> "Method":
        """Return the method with settings for a task; by default the method itself.

        Deep networks of images need other settings than small ones: a start near trained weights, small variances, a
        weight of the KL divergence that grows during training. The engine trains the method that this returns.
        """
        return self

    def changed(self, **settings: Any) -> Self:
        """Return a copy with changed attributes, except those that the user set in the method's name (`options`)."""
        suited = copy(self)
        for name in settings.keys() - self.options.keys():
            setattr(suited, name, settings[name])
        return suited

    def sampling(self) -> Self:
        """Return a copy that predicts with weight samples, even if `mean_network` is true."""
        method = copy(self)
        method.mean_network = False
        return method

    def proxy(self) -> "Method":
        """Return a cheaper method for tuning, whose scores rank hyper-parameters alike; by default this method."""
        return self

    def updates(self, plan: Plan) -> int:
        """Return the number of updates of a fit; by default as many as the protocol plans.

        Methods that run Markov chains override this, because a protocol's number of epochs is meant for optimisers.

        Args:
            plan: plan of the protocol. It counts updates on the protocol's minibatches, even if the method uses full
                batches.
        """
        return plan.n_updates

    def phase(self, update: int, plan: Plan) -> Hashable:
        """Return the phase of an update, which `update` receives as `step.phase` and may branch on.

        Args:
            update: number of the update, from 1 to `plan.n_updates`.
            plan: plan of the fit.
        """
        return None

    @abstractmethod
    def init(self, problem: Problem, noise: Noise) -> Any:
        """Return the state before the first update: a pytree of tensors, best a NamedTuple."""

    @abstractmethod
    def update(self, problem: Problem, state: Any, batch: Batch, noise: Noise, step: Step) -> Any:
        """Return the state after one more update, on the `batches_per_update` minibatches in `batch`.

        A method may return a pair instead: the state, and a dictionary of diagnostics to record during training, name
        -> tensor (). The engine judges convergence by the diagnostic "objective", which is minimised, or "elbo", which
        is maximised. Both are in nats for all training rows; annealed terms count with their full weight.
        """

    def sweep(self, problem: Problem, state: Any, rows: Sweep) -> Any:
        """Return the state after a part of one pass over all training rows.

        If `sweeps` is true, the engine makes this pass after the last update, and calls `sweep` for each part.
        """
        raise NotImplementedError(f"{type(self).__name__} declares `sweeps` and must override `sweep`")

    def finish(self, problem: Problem, state: Any) -> Any:
        """Return the posterior, a pytree of the tensors that prediction needs; by default the whole last state."""
        return state

    def diagnostics(self, problem: Problem, posterior: Any) -> dict[str, Tensor]:
        """Return further results of the final fit to record, besides its predictions: name -> tensor ().

        The name `kl` is for the divergence of the posterior from the prior, in nats per training example. From it the
        engine estimates the ELBO and records it as `elbo`. Likewise `tempered_kl` gives `tempered_elbo`.
        """
        return {}

    def moments(self, problem: Problem, posterior: Any) -> tuple[Tensor, Tensor] | None:
        """Return mean (D,) and dense covariance (D, D) of the weights, or None without a closed form."""
        if isinstance(posterior, LowRankNormal | LowRankPrecision):
            return posterior.mean, posterior.covariance()
        return None

    def sample(self, problem: Problem, posterior: Any, noise: Noise, n_samples: int) -> Tensor:
        """Return weight samples (S, D) of the posterior; S may be smaller where all samples would be equal."""
        raise NotImplementedError(f"{type(self).__name__} must override `sample`, or `predict` itself")

    def predict(self, problem: Problem, posterior: Any, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        """Return the predictive at standardised x (n, P), in original units; by default from weight samples."""
        samples = self.sample(problem, posterior, noise, n_samples)
        shape = tuple(samples.shape) if isinstance(samples, Tensor) else type(samples).__name__
        if not isinstance(samples, Tensor) or samples.ndim != 2 or samples.shape[1] != problem.dim:
            raise TypeError(
                f"{self.name}.sample must return weights of the shape (S, {problem.dim}); it returned {shape}"
            )
        return problem.predictive(samples, x)


HOOKS = {"init", "update", "sweep", "finish", "fit", "diagnostics", "moments", "sample", "predict"}
UPGRADE = (
    "hyper-parameters are now part of the problem. Remove the parameter `hparams`, and write `problem.hparams.lr` for "
    "`hparams.lr`, `problem.nll(weights, batch)` for `problem.mean_nll(weights, batch, hparams)` and "
    "`problem.predictive(samples, x)` for `problem.predictive(samples, x, hparams)`"
)


def _check_signature(cls: type[Method], hook: str) -> None:
    first = next(base for base in reversed(cls.__mro__) if hook in vars(base))  # where the contract defines it
    given, wanted = signature(vars(cls)[hook]), signature(vars(first)[hook])
    try:
        given.bind(*wanted.parameters)
    except TypeError:
        parameters = ", ".join(list(wanted.parameters)[1:])
        change = UPGRADE if "hparams" in given.parameters else f"its parameters are {', '.join(given.parameters)}"
        raise TypeError(f"{cls.__name__}.{hook} must accept ({parameters}): {change}") from None


class FullBatchMethod(Method):
    """Base of methods that fit all training rows in one call: closed forms, and wrappers of other libraries.

    A subclass overrides `fit` and `predict`. There are no updates and no minibatches, and the protocol's training
    budget has no effect. Fits run one by one.
    """

    stackable = False
    weight_posterior = False

    @abstractmethod
    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Any:
        """Return the posterior: any object that `predict` can use and `torch.save` can store.

        Gradients are enabled. For a library that takes NumPy arrays, pass `x.cpu().numpy()`.

        Args:
            problem: network, likelihood and hyper-parameters. A method need not use any of them.
            x: (N, P), the training inputs, standardised.
            y: (N,), training targets, standardised where they are real numbers, else class numbers.
            seed: seed of all random numbers of the fit.
        """

    @abstractmethod
    def predict(self, problem: Problem, posterior: Any, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        """Return the predictive in original target units, at standardised inputs x (n, P).

        A standardised prediction f is `problem.y_mean + problem.y_scale * f` in original units.
        """

    def init(self, problem: Problem, noise: Noise) -> Any:
        """Raise NotImplementedError: there is no training loop."""
        raise NotImplementedError(f"{self.name} is fitted in one call of `fit` and has no updates")

    def update(self, problem: Problem, state: Any, batch: Batch, noise: Noise, step: Step) -> Any:
        """Raise NotImplementedError: there is no training loop."""
        raise NotImplementedError(f"{self.name} is fitted in one call of `fit` and has no updates")
