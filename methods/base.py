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
    """Facts about a method beside its mathematics. An adapter says it in its class, our methods in `cards.toml`.

    Attributes:
        name: key in the registry.
        title: display name.
        paper: reference.
        suites: suites that include the method by default; in others it must be requested by name.
        limits: further limits, for people: "networks of up to 2,000 weights".
        covariance: Gaussians that can be the posterior of a linear model, a key of `COVARIANCES`. `check` compares the
            spread with that of the best of them.
        mean_caveat: why the posterior mean of a linear model differs by design from the exact one; empty if it does
            not. `check` compares neither mean nor spread if there is a reason.
        spread_caveat: why its spread differs by design from the exact one: "a point estimate". `check` still compares
            the mean.
        wide_ranges: hyper-parameters that `wide_space` gives other ranges than the usual wide ones.
        image_ranges: hyper-parameters that `image_space` gives other ranges than the usual ones for images.
        options: arguments of the constructor that the method's name gave, as in "mfvi(tempering=0.1)".
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
        full_batch: whether every update gets all training rows at once, as a single minibatch (`Batch.present`). Their
            order is random, of each member its own, and the same at every update.
        members: number of independent fits, each with its seed and order of minibatches; their predictives are pooled.
        chains: whether each member is a Markov chain. `sample` then returns its draws in their order, all of them where
            at least as many are asked for.
        joint: whether sample s of the predictive is one function at all test points, so that the samples have a joint
            distribution of labels. False for closed forms that give each point its own distribution.
        likelihoods: kinds of likelihood that the method supports (`methods.maths.likelihoods.KINDS`).
        sweeps: whether `sweep` is called after the last update.
        one_pass: whether `predict` evaluates the network at x once for any number of samples. A large network then
            predicts with all samples in one call; otherwise there is one call per sample.
        constant_rate: whether the learning rate must not be scheduled. True if the method relies on SGD at a constant
            rate, or if the rate has another role besides that of a step length.
        stackable: False if fits must run one by one, as for a wrapper of another library.
        deterministic: whether a fit and its predictions draw no random numbers, so that no seed changes them.
        mean_network: whether to predict with the posterior mean only, for methods that can.
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
        """Return the search space in ranges wide enough for a fair comparison on any data set."""
        return {**widened(self.search_space(task)), **self.wide_ranges}

    def image_space(self, task: Task) -> dict[str, BaseDistribution]:
        """Return the search space for image classifiers; without tuning, the middle of each range is taken.

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
        """Return why the method cannot be used on a task, in a few words, or None if it can."""
        kind = task.likelihood.kind
        return None if kind in self.likelihoods else f"no {kind} likelihood"

    def suited_to(self, task: Task) -> "Method":
        """Return the method with settings for a task; by default the method itself.

        Deep networks of images need other settings than small ones: a start near trained weights, small variances, a
        divergence that grows during training. The engine asks for the method of its task before anything else.
        """
        return self

    def changed(self, **settings: Any) -> Self:
        """Return a copy with other values of attributes, except for those that `options` gives."""
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
        """Return a cheaper method that ranks hyper-parameters alike, to be trained in tuning; by default itself."""
        return self

    def updates(self, plan: Plan) -> int:
        """Return the number of updates of a fit; by default as many as the protocol plans.

        A chain has a length of its own, because a protocol's budget is that of an optimiser.

        Args:
            plan: plan of the protocol, with its minibatches, also for a method of full batches.
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
        """Return the state after one more update on `batch`, which holds `batches_per_update` minibatches.

        A method may return a pair instead: the state, and a dictionary of diagnostics to record along training: name ->
        tensor (). From "objective", which is minimised, or "elbo", which is maximised, rows say whether a fit has
        converged. Both are in nats for all training rows, with the full weight of every term that is annealed.
        """

    def sweep(self, problem: Problem, state: Any, rows: Sweep) -> Any:
        """Return the state after a part of one exact pass over the training rows; called for each part if `sweeps`."""
        raise NotImplementedError(f"{type(self).__name__} declares `sweeps` and must override `sweep`")

    def finish(self, problem: Problem, state: Any) -> Any:
        """Return the posterior, a pytree of tensors: what prediction needs of the last state; by default all of it."""
        return state

    def diagnostics(self, problem: Problem, posterior: Any) -> dict[str, Tensor]:
        """Return what to record of the final fit besides its predictions: name -> tensor ().

        If `kl` is among them, the divergence of the posterior from the prior in nats per training example, an estimate
        of the ELBO is recorded with it as `elbo`, and `tempered_elbo` with `tempered_kl`.
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
        """Return the predictive at standardised x (n, P), in original units; by default that of weight samples."""
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
    """Base of methods whose fits get all training rows in one call: closed forms, and wrappers of other libraries.

    A subclass overrides `fit` and `predict`. There are no updates and no minibatches, and the protocol's training
    budget has no effect. Fits run one by one.
    """

    stackable = False
    weight_posterior = False

    @abstractmethod
    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Any:
        """Return the posterior, any object that `torch.save` can store: what prediction needs of the fit.

        Gradients are enabled. `x.cpu().numpy()` is what a library for arrays wants.

        Args:
            problem: network, likelihood and hyper-parameters. A method need not use any of them.
            x: (N, P), the training inputs, standardised.
            y: (N,), training targets, standardised where they are real numbers, else class numbers.
            seed: seed of all random numbers of the fit.
        """

    @abstractmethod
    def predict(self, problem: Problem, posterior: Any, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        """Return the predictive at standardised x (n, P), in original units: `problem.y_mean + problem.y_scale * f`."""

    def init(self, problem: Problem, noise: Noise) -> Any:
        """Raise NotImplementedError: there is no training loop."""
        raise NotImplementedError(f"{self.name} is fitted in one call of `fit` and has no updates")

    def update(self, problem: Problem, state: Any, batch: Batch, noise: Noise, step: Step) -> Any:
        """Raise NotImplementedError: there is no training loop."""
        raise NotImplementedError(f"{self.name} is fitted in one call of `fit` and has no updates")
