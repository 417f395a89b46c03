"""Variational Laplace: a factorised Gaussian posterior without sampling weights, by a penalty on squared gradients.

For q(theta) = N(mu, diag(sigma^2)) and the prior N(0, s^2 I), s^2 = 1 / alpha, the expected log-likelihood in the ELBO
is expanded to second order around mu, with the Fisher information in place of the Hessian. One minibatch of S of the N
training examples then gives the objective (Unlu and Aitchison 2021, last display of their methods section)

    -1/S log p(y | x, mu) + S/2 sum_l sigma_l^2 g_l^2 + tempering / N KL(q || p).

g is the gradient at mu of the minibatch's mean log-likelihood of labels drawn from the model, not of the observed
labels. The mean of S N g^2 is the diagonal of the Fisher information. The objective is differentiated through g with
the drawn labels held fixed. For a Gaussian likelihood this is the penalty's true gradient on average. For classes it
ignores that the distribution of the labels depends on mu. Because g is differentiated again, activations are softplus.

On networks for images, the penalty's gradient in mu is replaced by a finite difference of gradients,

    d/dmu S/2 sum_l sigma_l^2 g_l^2 = [g(mu + h v) - g(mu)] / h + O(h),      v = S sigma^2 g.

One gradient at mu + h v, of the NLL of the drawn labels plus h times the NLL of the observed labels, serves both terms.
A minibatch then takes two gradients. Differentiating g costs as much as three gradients and keeps every activation of
the first. In single precision the objective's gradient was within 0.02 to 0.13 per cent of the exact one, and the
penalty's part within 0.1 to 2.1 per cent (LeNet-5 and PreAct ResNet-18, one minibatch of noise and one of CIFAR-10
each, before and after some updates). `STEP` was chosen on minibatches of noise. In 16-bit precision rounding would
dominate the difference, so g is differentiated instead.

With `hessian`, the expansion keeps the Hessian of the NLL, which is VL(H) (eq. 20). The weighted sum over the Hessian's
diagonal is estimated by one second derivative along a random direction. With entries of z equal to +1 or -1 with equal
probability:

    sum_l sigma_l^2 H_ll = E_z[v^T H v],      v = sigma * z.

If the log-likelihood has a second derivative in a weight that exceeds 1 / s^2, the best sigma of that weight is
infinite (eq. 24). The paper therefore keeps to the Fisher information.

log sigma starts at log s - 3 and has ten times the learning rate of mu. With equal rates, training would end before the
variances have converged. `elbo_laplace`, minus the objective's mean over the last epoch, shows convergence.

The expansion considers one weight at a time. If the outgoing weights of a unit are near zero, its incoming weights have
no curvature and return to the prior. In a sample the outgoing weights are not zero, so sampled networks spread wider
than the objective assumes. A small `tempering` keeps q narrow. The paper tries several; its Table 1 shows the best.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    LogUniform,
    Method,
    Network,
    Noise,
    Plan,
    Problem,
    Step,
    Task,
    grad,
    grad_and_value,
    kl_diagonal,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.gradients import value_and_pull_back
from lockstep_bench.methods.networks.mixed_precision import Mixed

INITIAL_LOG_SD = -3.0  # relative to the prior's
STEP = 0.015  # h |v| = STEP sqrt(eps E|theta|^2), eps the machine precision and theta ~ q


class VariationalLaplaceState(NamedTuple):
    """State of training by variational Laplace.

    Attributes:
        params: (2, D), posterior mean and log standard deviation.
        optim: optimiser of `params`.
        objectives: (), sum of the objective over the updates of the last epoch.
        updates: (), the number of updates in that sum.
    """

    params: Tensor
    optim: Adam
    objectives: Tensor
    updates: Tensor


class VariationalLaplacePosterior(NamedTuple):
    """Factorised Gaussian posterior.

    Attributes:
        params: (2, D), posterior mean and log standard deviation.
        objective: (), mean of the objective over the last epoch.
    """

    params: Tensor
    objective: Tensor


@catalogued("variational-laplace")
class VariationalLaplace(Method):
    """Variational Laplace with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    The paper has no experiment of this size, so `lr` and alpha have the ranges of mean-field VI. The paper does not say
    whether it predicts with weight samples or with the mean. By default the method predicts with weight samples, but on
    networks for images with the mean. (Example: LeNet-5 after ten epochs on 6,000 images of Fashion-MNIST, alpha = 1.
    On 1,000 other images, the NLL is 71 with ten samples and 1.1 with the mean.)

    Args:
        tempering: beta, the weight of the KL; 1 for the ELBO, less for a colder posterior.
        sd_lr_ratio: ratio of the learning rate of log sigma to that of mu.
        mean_network: whether to predict with mu alone.
        difference: whether to approximate the gradient in mu of the squared-gradient penalty by a finite difference.
        hessian: whether to use the Hessian of the observed labels' NLL instead of the Fisher information.
    """

    def __init__(
        self,
        tempering: float = 1.0,
        sd_lr_ratio: float = 10.0,
        mean_network: bool = False,
        difference: bool = False,
        hessian: bool = False,
    ):
        self.tempering = tempering
        if tempering != 1:  # a tempered posterior is not the exact one
            self.weight_posterior = False
        self.sd_lr_ratio = sd_lr_ratio
        self.mean_network = mean_network
        self.difference = difference
        self.hessian = hessian

    def suited_to(self, task: Task) -> "VariationalLaplace":
        if self.network(task).image is None:
            return self
        return self.changed(mean_network=True, difference=True)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def network(self, task: Task) -> Network:
        return replace(task.network, activation="softplus")

    def phase(self, update: int, plan: Plan) -> bool:
        """Return whether the update belongs to the last epoch."""
        return update > plan.n_updates - plan.updates_per_epoch

    def init(self, problem: Problem, noise: Noise) -> VariationalLaplaceState:
        mean = problem.initial_weights(noise)
        log_sd = INITIAL_LOG_SD - 0.5 * problem.hparams.prior_precision.log()
        params = torch.stack([mean, log_sd.expand_as(mean)])
        zero = torch.zeros_like(mean[0])
        return VariationalLaplaceState(params, Adam.init(params), zero, zero)

    def update(
        self, problem: Problem, state: VariationalLaplaceState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[VariationalLaplaceState, dict[str, Tensor]]:
        gradient, value = self._gradient_and_value(problem)(problem, state.params, batch, noise)
        ratios = torch.tensor([[1.0], [self.sd_lr_ratio]], dtype=value.dtype, device=value.device)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr * ratios, step)
        last_epoch = float(bool(step.phase))
        after = VariationalLaplaceState(
            params, optim, state.objectives + last_epoch * value, state.updates + last_epoch
        )
        return after, {"elbo": problem.elbo(problem.n_train * value)}

    def finish(self, problem: Problem, state: VariationalLaplaceState) -> VariationalLaplacePosterior:
        return VariationalLaplacePosterior(state.params, state.objectives / state.updates)

    def diagnostics(self, problem: Problem, posterior: VariationalLaplacePosterior) -> dict[str, Tensor]:
        """Return divergence and approximate ELBO in nats per training example, and how wide the posterior q is.

        `kl` is the divergence of q from the prior, and `tempered_kl` is `tempering` times it. `elbo_laplace` is minus
        the mean of the objective over the last epoch, for targets in original units; it contains `tempering`.
        `median_sd` is the median standard deviation of a weight. `max_log_sd_ratio` is the largest log (sigma / s),
        where s is the standard deviation of the prior. At the optimum, it is at most 0 with the Fisher information,
        and can be infinite with the Hessian.
        """
        mean, log_sd = posterior.params.unbind()
        divergence = kl_diagonal(mean, log_sd, problem.hparams.prior_precision) / problem.n_train
        return {
            "kl": divergence,
            "tempered_kl": self._tempering(problem) * divergence,
            "elbo_laplace": -posterior.objective - problem.y_scale.log(),
            "median_sd": log_sd.median().exp(),
            "max_log_sd_ratio": log_sd.max() + 0.5 * problem.hparams.prior_precision.log(),
        }

    def moments(self, problem: Problem, posterior: VariationalLaplacePosterior) -> tuple[Tensor, Tensor]:
        mean, log_sd = posterior.params.unbind()
        return mean, torch.diag(torch.exp(2 * log_sd))

    def sample(self, problem: Problem, posterior: VariationalLaplacePosterior, noise: Noise, n_samples: int) -> Tensor:
        mean, log_sd = posterior.params.unbind()
        if self.mean_network:
            return mean[None]
        return mean + log_sd.exp() * noise.normal(n_samples, problem.dim)

    def _gradient_and_value(self, problem: Problem) -> Callable[[Problem, Tensor, Batch, Noise], tuple[Tensor, Tensor]]:
        if self.hessian:
            return self._by_hessian
        by_difference = self.difference and not isinstance(problem.network, Mixed)
        return self._by_difference if by_difference else self._by_differentiation

    def _by_hessian(self, problem: Problem, params: Tensor, batch: Batch, noise: Noise) -> tuple[Tensor, Tensor]:
        """Return the gradient (2, D) of the objective of VL(H), and its value ()."""
        signs = torch.where(noise.normal(problem.dim) < 0, -1.0, 1.0).to(params.dtype)

        def nll(weights: Tensor) -> Tensor:
            return problem.nll(weights, batch)

        def objective(params: Tensor) -> Tensor:
            direction = params[1].exp() * signs

            def slope(weights: Tensor) -> Tensor:
                return (grad(nll)(weights) * direction).sum()

            curvature = (grad(slope)(params[0]) * direction).sum()
            return nll(params[0]) + 0.5 * curvature + self._divergence(problem, params)

        return grad_and_value(objective)(params)

    def _by_differentiation(
        self, problem: Problem, params: Tensor, batch: Batch, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """Return the gradient (2, D) of the objective, and its value ()."""

        def objective(params: Tensor) -> Tensor:
            drawn = _drawn_labels(problem, params[0], batch, noise)
            fit = _mean_nll(problem, drawn.outputs, batch.y.flatten())
            return fit + self._penalty(problem, params, drawn.gradient, batch)

        return grad_and_value(objective)(params)

    def _by_difference(self, problem: Problem, params: Tensor, batch: Batch, noise: Noise) -> tuple[Tensor, Tensor]:
        """Return the gradient (2, D) of the objective, and its value (), with a difference for the penalty's in mu."""
        (mean, log_sd), x, y = params.unbind(), batch.x.flatten(0, 1), batch.y.flatten()
        drawn = _drawn_labels(problem, mean, batch, noise)
        fit = _mean_nll(problem, drawn.outputs, y)
        direct, penalty = grad_and_value(lambda params: self._penalty(problem, params, drawn.gradient, batch))(params)

        direction = len(y) * torch.exp(2 * log_sd) * drawn.gradient
        numbers = torch.finfo(mean.dtype)
        length = STEP * numbers.eps**0.5 * (mean.square() + torch.exp(2 * log_sd)).sum().sqrt()
        h: Tensor = length / direction.norm().clamp(min=numbers.tiny**0.5)

        def ahead(weights: Tensor) -> Tensor:
            outputs = problem.network(weights, x)
            return _mean_nll(problem, outputs, drawn.labels) + h * _mean_nll(problem, outputs, y)

        by_mean = (grad(ahead)(mean + h * direction) - drawn.gradient) / h
        return direct + torch.stack([by_mean, torch.zeros_like(by_mean)]), fit + penalty

    def _penalty(self, problem: Problem, params: Tensor, gradient: Tensor, batch: Batch) -> Tensor:
        """Return the last two terms of the objective, (), given g (D,)."""
        curvature = 0.5 * batch.y.numel() * (torch.exp(2 * params[1]) * gradient**2).sum()
        return curvature + self._divergence(problem, params)

    def _divergence(self, problem: Problem, params: Tensor) -> Tensor:
        """Return the last term of the objective, ()."""
        mean, log_sd = params.unbind()
        divergence = kl_diagonal(mean, log_sd, problem.hparams.prior_precision)
        return self._tempering(problem) / problem.n_train * divergence

    def _tempering(self, problem: Problem) -> Tensor | float:
        return self.tempering


class DrawnLabels(NamedTuple):
    """Labels drawn from the model at mu, and the gradient of their NLL.

    Attributes:
        outputs: (S, O), outputs of the network at mu.
        labels: (S,), labels drawn from these outputs.
        gradient: (D,), g, gradient of the labels' mean NLL at mu.
    """

    outputs: Tensor
    labels: Tensor
    gradient: Tensor


def _drawn_labels(problem: Problem, mean: Tensor, batch: Batch, noise: Noise) -> DrawnLabels:
    x = batch.x.flatten(0, 1)
    outputs, gradient_of = value_and_pull_back(lambda weights: problem.network(weights, x), mean)
    labels = problem.draw(outputs.detach(), noise)
    by_outputs = grad(lambda outputs: _mean_nll(problem, outputs, labels))(outputs)
    return DrawnLabels(outputs, labels, gradient_of(by_outputs))


def _mean_nll(problem: Problem, outputs: Tensor, targets: Tensor) -> Tensor:
    return problem.nll_of_outputs(outputs, targets).mean()


@catalogued("variational-laplace-tempered")
class TemperedVariationalLaplace(VariationalLaplace):
    """Variational Laplace with `tempering` as a further hyper-parameter, as in the paper's experiments."""

    weight_posterior = False

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return super().search_space(task) | {"tempering": LogUniform(0.01, 1)}

    def _tempering(self, problem: Problem) -> Tensor:
        return problem.hparams.tempering
