"""Variational Laplace: a factorised Gaussian posterior without sampling weights, by a penalty on squared gradients.

For q(theta) = N(mu, diag(sigma^2)) and the prior N(0, s^2 I), s^2 = 1 / alpha, the expected log-likelihood in the ELBO
is expanded to second order round mu, with the Fisher information for the Hessian. One minibatch of S of the N training
examples then gives (Unlu and Aitchison 2021, the last display of their methods section)

    -1/S log p(y | x, mu) + S/2 sum_l sigma_l^2 g_l^2 + tempering / N KL(q || p),

g the gradient at mu of the minibatch's mean log-likelihood of labels drawn from the model, not of those observed: the
mean of S N g^2 is the diagonal of the Fisher information. The gradient of the objective goes through g with the drawn
labels held fixed, which for a Gaussian likelihood is the penalty's true gradient on average, and for classes leaves out
how the labels' distribution changes with mu. It takes a second derivative, so the activations become softplus.

On networks of images the penalty's gradient in mu is a difference of gradients instead,

    d/dmu S/2 sum_l sigma_l^2 g_l^2 = [g(mu + h v) - g(mu)] / h + O(h),      v = S sigma^2 g.

That at mu + h v is taken of the drawn labels and, h times, of those observed at once, which makes two gradients per
minibatch; to differentiate g costs three and holds every activation of the first. In single precision the objective's
gradient was then within 0.02 to 0.13 per cent of the exact one, and the penalty's part of it within 0.1 to 2.1 (LeNet-5
and PreAct ResNet-18, one minibatch of noise and one of CIFAR-10 each, before and after some updates; `STEP` was chosen
on such of noise). In 16 bits the difference would drown in rounding, and there g is differentiated.

log sigma starts at log s - 3 with ten times the weights' learning rate, because with the same rate training would end
before the variances have converged. Whether they have shows in the ELBO, -N times the objective's mean over the last
epoch, which is recorded.

The expansion sees one weight at a time. The weights into a unit that is not used, those out of it being near zero,
have no curvature and return to the prior; but in a sample those out of it are not zero, and so samples of the network
spread wider than the objective believes. A small tempering keeps q narrow; the paper sweeps it, and its Table 1 is of
the best.
"""

from copy import copy
from dataclasses import replace
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vjp

from methods.base import Method, Paper, Plan
from methods.maths.gaussian import kl_diagonal
from methods.maths.gradients import grad, grad_and_value
from methods.maths.noise import Noise
from methods.maths.search_spaces import LogUniform
from methods.networks.mixed_precision import Mixed
from methods.networks.mlp import Network
from methods.problem import Batch, Problem, Step, Task
from methods.training.optim import Adam

INITIAL_LOG_SD = -3.0  # relative to the prior's
STEP = 0.015  # h |v|, in roots of the number format's precision and of E |theta|^2 under q


class State(NamedTuple):
    """State of a fit.

    Attributes:
        params: (2, D): posterior mean and log standard deviation.
        optim: of both.
        objectives: (), sum of the objective over the updates of the last epoch.
        updates: (), how many those were.
    """

    params: Tensor
    optim: Adam
    objectives: Tensor
    updates: Tensor


class Posterior(NamedTuple):
    """Attributes:
    params: (2, D), as in `State`.
    objective: (), its mean over the last epoch.
    """

    params: Tensor
    objective: Tensor


class VariationalLaplace(Method):
    """Variational Laplace with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    The paper has no experiment of this size, so `lr` and alpha have mean-field VI's ranges. Nor does it say whether its
    predictions are those of the mean network, though of mean-field VI's it shows both and of its own one: by default
    they are made of weight samples, as of any other posterior, and on networks of images of the mean. (LeNet-5 after
    ten epochs of 6,000 images of Fashion-MNIST, alpha = 1: NLL 71 of ten samples on 1,000 others, 1.1 of the mean.)

    Args:
        tempering: beta, the weight of the KL; 1 for the ELBO, less for a colder posterior.
        sd_lr_ratio: learning rate of log sigma over that of mu.
        mean_network: predict with mu alone.
        difference: take the penalty's gradient in mu by a difference of gradients.
    """

    name = "variational-laplace"
    title = "Variational Laplace"
    paper = Paper("Unlu and Aitchison 2021", "Gradient Regularization as Approximate Variational Inference")

    gaussian = True

    def __init__(
        self,
        tempering: float = 1.0,
        sd_lr_ratio: float = 10.0,
        mean_network: bool = False,
        difference: bool = False,
    ):
        self.tempering = tempering
        self.sd_lr_ratio = sd_lr_ratio
        self.mean_network = mean_network
        self.difference = difference

    def suited_to(self, task: Task) -> "VariationalLaplace":
        if self.network(task).image is None:
            return self
        suited = copy(self)
        suited.mean_network = suited.difference = True
        return suited

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def network(self, task: Task) -> Network:
        return replace(task.network, activation="softplus")

    def phase(self, update: int, plan: Plan) -> bool:
        """Whether the update belongs to the last epoch."""
        return update > plan.n_updates - plan.updates_per_epoch

    def init(self, problem: Problem, noise: Noise) -> State:
        mean = problem.initial_weights(noise)
        log_sd = INITIAL_LOG_SD - 0.5 * problem.hparams.prior_precision.log()
        params = torch.stack([mean, log_sd.expand_as(mean)])
        zero = torch.zeros_like(mean[0])
        return State(params, Adam.init(params), zero, zero)

    def update(
        self, problem: Problem, state: State, batch: Batch, noise: Noise, step: Step
    ) -> tuple[State, dict[str, Tensor]]:
        by_difference = self.difference and not isinstance(problem.network, Mixed)
        slope = self._by_difference if by_difference else self._by_differentiation
        gradient, value = slope(problem, state.params, batch, noise)
        ratios = torch.tensor([[1.0], [self.sd_lr_ratio]], dtype=value.dtype, device=value.device)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr * ratios, step)
        last_epoch = float(step.phase)
        after = State(params, optim, state.objectives + last_epoch * value, state.updates + last_epoch)
        return after, {"elbo": problem.elbo(problem.n_train * value)}

    def finish(self, problem: Problem, state: State) -> Posterior:
        return Posterior(state.params, state.objectives / state.updates)

    def diagnostics(self, problem: Problem, posterior: Posterior) -> dict[str, Tensor]:
        """`elbo`: its approximation, in nats, of all training targets in original units; tempered as the objective."""
        return {"elbo": -problem.n_train * (posterior.objective + problem.y_scale.log())}

    def moments(self, problem: Problem, posterior: Posterior) -> tuple[Tensor, Tensor]:
        mean, log_sd = posterior.params
        return mean, torch.diag(torch.exp(2 * log_sd))

    def sample(self, problem: Problem, posterior: Posterior, noise: Noise, n_samples: int) -> Tensor:
        mean, log_sd = posterior.params
        if self.mean_network:
            return mean[None]
        return mean + log_sd.exp() * noise.normal(n_samples, problem.dim)

    def _by_differentiation(
        self, problem: Problem, params: Tensor, batch: Batch, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """Gradient (2, D) of the objective, and its value ()."""

        def objective(params: Tensor) -> Tensor:
            outputs, _, gradient = _of_drawn_labels(problem, params[0], batch, noise)
            fit = _mean_nll(problem, outputs, batch.y.flatten())
            return fit + self._penalty(problem, params, gradient, batch)

        return grad_and_value(objective)(params)

    def _by_difference(self, problem: Problem, params: Tensor, batch: Batch, noise: Noise) -> tuple[Tensor, Tensor]:
        """The same; the penalty's part in the gradient by mu from two gradients of the likelihood."""
        (mean, log_sd), x, y = params, batch.x.flatten(0, 1), batch.y.flatten()
        outputs, drawn, gradient = _of_drawn_labels(problem, mean, batch, noise)
        fit = _mean_nll(problem, outputs, y)
        direct, penalty = grad_and_value(lambda own: self._penalty(problem, own, gradient, batch))(params)

        direction = len(y) * torch.exp(2 * log_sd) * gradient
        numbers = torch.finfo(mean.dtype)
        length = STEP * numbers.eps**0.5 * (mean.square() + torch.exp(2 * log_sd)).sum().sqrt()
        h = length / direction.norm().clamp(min=numbers.tiny**0.5)

        def ahead(weights: Tensor) -> Tensor:
            outputs = problem.network(weights, x)
            return _mean_nll(problem, outputs, drawn) + h * _mean_nll(problem, outputs, y)

        by_mean = (grad(ahead)(mean + h * direction) - gradient) / h
        return direct + torch.stack([by_mean, torch.zeros_like(by_mean)]), fit + penalty

    def _penalty(self, problem: Problem, params: Tensor, gradient: Tensor, batch: Batch) -> Tensor:
        """Curvature and divergence, given the gradient (D,) of the drawn labels' mean log-likelihood."""
        mean, log_sd = params
        curvature = 0.5 * batch.y.numel() * (torch.exp(2 * log_sd) * gradient**2).sum()
        divergence = kl_diagonal(mean, log_sd, problem.hparams.prior_precision)
        return curvature + self._tempering(problem) / problem.n_train * divergence

    def _tempering(self, problem: Problem) -> Tensor | float:
        return self.tempering


def _of_drawn_labels(problem: Problem, mean: Tensor, batch: Batch, noise: Noise) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs (S, O) at mu, labels (S,) drawn of them, and the gradient (D,) of these labels' mean NLL."""
    x = batch.x.flatten(0, 1)
    outputs, pull_back = vjp(lambda weights: problem.network(weights, x), mean)
    drawn = problem.draw(outputs.detach(), noise)
    by_outputs = grad(lambda outputs: _mean_nll(problem, outputs, drawn))(outputs)
    (gradient,) = pull_back(by_outputs, retain_graph=False)
    return outputs, drawn, gradient


def _mean_nll(problem: Problem, outputs: Tensor, targets: Tensor) -> Tensor:
    return problem.nll_of_outputs(outputs, targets).mean()


class TemperedVariationalLaplace(VariationalLaplace):
    """Variational Laplace whose `tempering` is a hyper-parameter too, as in the paper's experiments."""

    name = "variational-laplace-tempered"
    title = "Variational Laplace, tempered"

    gaussian = False
    weight_posterior = False

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return super().search_space(task) | {"tempering": LogUniform(0.01, 1)}

    def _tempering(self, problem: Problem) -> Tensor:
        return problem.hparams.tempering
