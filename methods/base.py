"""The method contract. A method is one file that holds the mathematics of ONE Bayesian neural network.

The engine runs thousands of such fits in lockstep under `torch.func.vmap`, so a method

- never branches on a tensor's value, and branches on time only through `t.phase`;
- takes randomness from `noise` alone, the same amount at every update of a phase;
- returns from `update` a state of the same structure, shapes and types as it got.

`python -m methods check NAME` says whether an adapter keeps to this.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from methods.likelihoods import Predictive
from methods.networks import Network
from methods.noise import Noise
from methods.problem import Batch, Problem, Step, Task


class Paper(NamedTuple):
    """Where a method comes from."""

    authors: str  # with the year: "Blundell et al. 2015"
    title: str


class Plan(NamedTuple):
    """How long training is, known before it starts."""

    n_updates: int
    updates_per_epoch: float


class Method(ABC):
    """Base of every method. Hyper-parameters arrive as attributes of `hparams`, each a tensor ().

    Attributes:
        name: the registry's key.
        title: for people.
        paper: reference.
        batches_per_update: L, minibatches that one update consumes; an epoch has L times fewer updates.
        members: independent fits (own seed, own order of minibatches) whose predictive samples are pooled.
        stackable: False for a wrapper round a foreign library, whose fits then run one by one.
        gaussian: whether its posteriors include every factorised Gaussian; `check` then holds its spread to the exact
            posterior of a linear model, and its mean in any case.
    """

    name: str
    title: str
    paper: Paper
    batches_per_update: int = 1
    members: int = 1
    stackable: bool = True
    gaussian: bool = False

    @abstractmethod
    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        """What the tuner may choose: name -> Optuna distribution."""

    def network(self, task: Task) -> Network:
        """The network to train; by default the task's."""
        return task.network

    def phase(self, update: int, plan: Plan) -> Any:
        """A hashable that `update` may branch on as `t.phase`, for update number 1 to `plan.n_updates`."""
        return None

    @abstractmethod
    def init(self, problem: Problem, hparams, noise: Noise) -> Any:
        """The state before the first update: a pytree of tensors, best a NamedTuple."""

    @abstractmethod
    def update(self, problem: Problem, state: Any, batch: Batch, hparams, noise: Noise, t: Step) -> Any:
        """The state after one more update on `batch`, which holds `batches_per_update` minibatches."""

    def finish(self, problem: Problem, state: Any, hparams) -> Any:
        """The posterior: what of the last state prediction needs, a pytree of tensors; by default all of it."""
        return state

    def sample(self, problem: Problem, posterior: Any, noise: Noise, n_samples: int) -> Tensor:
        """Weight samples (S, D) of the posterior; S may be smaller where all samples would be equal."""
        raise NotImplementedError(f"{type(self).__name__} must override `sample`, or `predict` itself")

    def predict(self, problem: Problem, posterior: Any, x: Tensor, hparams, noise: Noise, n_samples: int) -> Predictive:
        """The predictive at standardised x (n, P), in original units; by default that of weight samples."""
        return problem.predictive(self.sample(problem, posterior, noise, n_samples), x, hparams)
