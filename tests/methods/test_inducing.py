"""Inducing weights against the dense joint Gaussian that they are defined by."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from joint_gaussian import D_IN, D_OUT, Joint, eye, normal, vec
from torch.distributions import MultivariateNormal, Normal, kl_divergence
from torch.func import grad, jacrev
from torch.nn.functional import softplus

from lockstep_bench.bench.reference.conjugate import orthogonal
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.inducing import (
    Inducing,
    InducingEnsemble,
    InducingFCG,
    InducingFFG,
    InducingState,
)
from lockstep_bench.methods.maths import gradients
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.maths.triangular import lower_triangle, raw_diagonal
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.layers import Matrix
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet, ResNet, preresnet_20
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.training.annealing import Annealing
from lockstep_bench.methods.training.optim import SGD

METHODS = [InducingFFG, InducingFCG, InducingEnsemble]


def test_conditional_kl_equals_that_of_dense_gaussians():
    joint, scale = Joint.random(2, 2), 0.02
    mean = normal(D_OUT * D_IN)
    dense = kl_divergence(
        MultivariateNormal(mean, scale**2 * joint.conditional), MultivariateNormal(mean, joint.conditional)
    )
    method = InducingFFG()
    raw = torch.tensor(scale / method.max_scale, dtype=torch.float64).logit()
    own = SimpleNamespace(z_r=joint.z_r, z_c=joint.z_c, raw_scale=raw)
    torch.testing.assert_close(method.conditional_kl(own), dense)


def test_factorised_inducing_kl_equals_torch():
    mean, raw = normal(2, 3), normal(2, 3, seed=1)
    q = Normal(mean, 0.1 * raw.sigmoid())
    dense = kl_divergence(q, Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum()
    torch.testing.assert_close(InducingFFG().inducing_kl((mean, raw)), dense)


def test_full_inducing_kl_and_covariance_equal_dense():
    mean, raw = normal(2, 3), normal(21, seed=1)
    factor = lower_triangle(raw, 6)
    assert (factor.triu(1) == 0).all()
    q = MultivariateNormal(mean.flatten(), scale_tril=factor)
    method, prior = InducingFCG(), MultivariateNormal(torch.zeros(6, dtype=torch.float64), eye(6))
    torch.testing.assert_close(method.inducing_kl((mean, raw)), kl_divergence(q, prior))
    to_sample = jacrev(lambda tape: method.inducing_sample((mean, raw), Noise(tape), 1).flatten())(normal(6))
    torch.testing.assert_close(to_sample @ to_sample.T, q.covariance_matrix)


def test_inducing_ensemble_has_no_inducing_kl():
    method, points = InducingEnsemble(), normal(5, 2, 2)
    found = method.inducing_sample((points,), None, 20)
    assert all((found == point).all((1, 2)).sum() == 4 for point in points)
    assert method.inducing_kl((points,)) == 0


def problem_of(network, hparams: HParams | None = None) -> Problem:
    one = torch.tensor(1.0, dtype=torch.float64)
    given = hparams or HParams(prior_precision=one)
    return Problem(network, Gaussian((0.01, 1.0)), given, 12 * one, 2 * one, 3 * one)


def started(method: Inducing, problem: Problem) -> torch.Tensor:
    return method.init(problem, NoiseGauge(torch.float64)).params


@pytest.mark.parametrize("method", METHODS)
def test_initial_state_equals_that_of_the_paper(method):
    method = method(size=40)
    problem = problem_of(MLP(60, (50,)))
    own = method.layers_of(problem.network, started(method, problem))[0]
    torch.testing.assert_close(softplus(torch.cat([own.raw_d_r, own.raw_d_c])), torch.full((80,), 1e-3).double())
    torch.testing.assert_close(method.max_scale * own.raw_scale.sigmoid(), torch.tensor(1e-3).double())
    assert own.z_r.shape == (40, 50)
    assert own.z_c.shape == (40, 61)
    for z in (own.z_r, own.z_c):
        assert z.std().item() == pytest.approx(40**-0.5, rel=0.1)


def test_full_and_factorised_gaussians_start_as_in_paper():
    problem = problem_of(MLP(6, (50,)))
    ffg, fcg = InducingFFG(size=20), InducingFCG(size=5)
    mean, raw = ffg.layers_of(problem.network, started(ffg, problem))[0].q
    assert abs(mean.std().item() - 1) < 0.1
    torch.testing.assert_close(0.1 * raw.sigmoid(), torch.full_like(raw, 1e-3))
    mean, raw = fcg.layers_of(problem.network, started(fcg, problem))[0].q
    torch.testing.assert_close(lower_triangle(raw, 25), 1e-3 * eye(25))


def test_ensemble_members_start_near_one_another():
    problem = problem_of(MLP(60, (50,)))
    method = InducingEnsemble(size=40)
    (points,) = method.layers_of(problem.network, started(method, problem))[0].q
    assert points.mean(0).std().item() == pytest.approx(1, rel=0.1)
    assert points.std(0).mean().item() == pytest.approx(0.094, rel=0.05)  # 0.1 x the mean sample sd of five


@pytest.mark.parametrize(("method", "cap"), [(InducingFFG, 0.03), (InducingFCG, 0.03), (InducingEnsemble, 0.1)])
def test_lambda_and_standard_deviations_respect_their_caps(method, cap):
    method, network = method(size=2), MLP(3, ())
    params = torch.full_like(started(method, problem_of(network)), 50.0)
    (own,) = method.layers_of(network, params)
    d = network.dim
    assert method.conditional_kl(own).item() == pytest.approx(d * (cap**2 / 2 - np.log(cap) - 0.5))
    if isinstance(method, InducingFFG):
        tape = torch.ones(4, dtype=torch.float64)
        assert (method.inducing_sample(own.q, Noise(tape), 1) - own.q[0]).max().item() == pytest.approx(0.1)


@pytest.mark.parametrize("network", [MLP(3, (4,)), ConvNet((1, 4, 4), (2, 3))], ids=["dense", "conv"])
def test_weight_samples_have_each_layers_conditional_moments(network):
    method, alpha = InducingEnsemble(size=2), torch.tensor(0.6, dtype=torch.float64)
    params = started(method, problem_of(network))
    params = params + 0.3 * normal(len(params))
    gauge = NoiseGauge(torch.float64)
    method._weights(network, params, alpha, gauge)

    def flat(tape):
        return method._weights(network, params, alpha, Noise(tape))[0]

    silent = torch.zeros(gauge.used, dtype=torch.float64)
    means, to_noise = flat(silent), jacrev(flat)(silent)
    ends = np.cumsum([sum(layer.sizes) for layer in network.layers])
    for layer, own, end in zip(network.layers, method.layers_of(network, params), ends, strict=True):
        size = sum(layer.sizes)
        here = slice(end - size, end)
        d_r, d_c = softplus(own.raw_d_r), softplus(own.raw_d_c)
        scale = method.max_scale * own.raw_scale.sigmoid()
        joint = Joint(own.z_r, own.z_c, d_r, d_c, (alpha * layer.shape[1]) ** -0.5)
        matrices = eye(size).reshape(size, *reversed(layer.shape)).mT
        to_flat = torch.stack([torch.cat(layer.pieces(matrix)) for matrix in matrices], dim=1)
        torch.testing.assert_close(means[here], to_flat @ joint.to_mean @ vec(joint.unwhitened(own.q[0][0])))
        covariance = to_noise[here] @ to_noise[here].T
        torch.testing.assert_close(covariance, scale**2 * to_flat @ joint.conditional @ to_flat.T)


def prior_covariance(method: InducingFCG, network, alpha: torch.Tensor) -> torch.Tensor:
    """Covariance of the weights (D, D) where q(U) is the prior of U and lambda is 1."""
    params = started(method, problem_of(network)).clone()
    for own in method.layers_of(network, params):
        own.raw_scale.fill_(40.0)
        mean, raw = own.q
        raw.copy_(raw_diagonal(1.0, mean.flatten()))
        mean.zero_()
    gauge = NoiseGauge(torch.float64)
    method._weights(network, params, alpha, gauge)
    silent = torch.zeros(gauge.used, dtype=torch.float64)
    to_noise = jacrev(lambda tape: method._weights(network, params, alpha, Noise(tape))[0])(silent)
    return to_noise @ to_noise.T


@pytest.mark.parametrize(("prior", "precisions"), [("isotropic", (1, 1)), ("fan-in", (4, 5))])
def test_every_weights_prior_has_the_stated_precision(prior, precisions):
    network, alpha = MLP(3, (4,)), torch.tensor(5.0, dtype=torch.float64)
    covariance = prior_covariance(InducingFCG(size=3, max_scale=1.0, prior=prior), network, alpha)
    precision = torch.tensor([precisions[0]] * 16 + [precisions[1]] * 5)
    torch.testing.assert_close(covariance, torch.diag(1 / (alpha * precision)))


def test_reference_posterior_tasks_use_the_references_prior():
    task = Task("toy", Gaussian((100.0, 100.0)), MLP(1, (50,)), has_reference=True)
    method = InducingFFG().suited_to(task)
    assert (method.prior, method.max_sd, method.n_points) == ("isotropic", 1.0, 4)
    first, second = (
        layer.q[0].shape for layer in method.layers_of(task.network, started(method, problem_of(task.network)))
    )
    assert (first, second) == ((16, 2), (1, 16))
    assert InducingFFG().suited_to(replace(task, has_reference=False)).prior == "fan-in"


def test_row_and_column_numbers_can_be_set():
    network = MLP(6, (50, 40), n_outputs=3)

    def sizes_of(method):
        return [tuple(layer.q[0].shape) for layer in method.layers_of(network, started(method, problem_of(network)))]

    assert sizes_of(InducingFFG(size=9)) == [(9, 9)] * 3
    assert sizes_of(InducingFFG(size=9, size_out=7, last_size_out=3)) == [(7, 9), (7, 9), (3, 9)]
    assert sizes_of(InducingFFG(size_out=4, size_in=2)) == [(4, 2)] * 3


def test_unknown_prior_name_is_refused():
    with pytest.raises(ValueError, match="prior is 'flat'; it must be one of fan-in, isotropic"):
        InducingFFG(prior="flat")


def test_zero_caps_make_the_weights_deterministic():
    method, problem = InducingFFG(size=2, max_scale=0.0, max_sd=0.0), problem_of(MLP(3, (4,)))
    params = started(method, problem)
    first, *others = method.sample(problem, params, NoiseGauge(torch.float64), 5)
    assert all(torch.equal(first, other) for other in others)
    squares = sum(own.q[0].square().sum() for own in method.layers_of(problem.network, params))
    torch.testing.assert_close(method.kl(problem.network, params), 0.5 * squares)


@pytest.mark.parametrize("method", METHODS)
def test_update_follows_the_gradient_of_the_objective(method, hparams, batches):
    method, problem, batch = method(size=2), problem_of(MLP(3, (4,)), hparams), batches(1)
    params = started(method, problem)
    gauge = NoiseGauge(torch.float64)
    method._weights(problem.network, params, hparams.prior_precision, gauge)
    tape = normal(gauge.used, seed=5)

    def objective(params):
        weights = method._weights(problem.network, params, hparams.prior_precision, Noise(tape))
        nll = sum(problem.nll(one, batch) for one in weights) / len(weights)
        kl = 0.0
        for own in method.layers_of(problem.network, params):
            scale = method.max_scale * own.raw_scale.sigmoid()
            size = own.z_r.shape[1] * own.z_c.shape[1]
            kl = kl + size * (scale**2 / 2 - scale.log() - 0.5) + method.inducing_kl(own.q)
        return problem.n_train * nll + weight * kl

    weight = 0.25
    step = Step(torch.tensor(15.0, dtype=torch.float64), Annealing(10, 20))  # a quarter of the way up
    state, reported = method.update(problem, InducingState(params, SGD()), batch, Noise(tape), step)
    after = state.params
    torch.testing.assert_close(after, params - hparams.lr * grad(objective)(params))
    weight = 1.0  # the ELBO is recorded with the full divergence
    torch.testing.assert_close(reported["elbo"], problem.elbo(objective(params)))


def test_kl_weight_is_annealed():
    plan = Plan(400, 20.0)
    assert {InducingFFG().phase(update, plan) for update in (1, 400)} == {Annealing.over(plan)}


@pytest.mark.parametrize(("method", "prior"), [(InducingFFG, 3), (InducingFCG, 3), (InducingEnsemble, 0)])
def test_linear_model_mean_is_exact_under_the_methods_prior(method, prior):
    # Of precision alpha d_in, and none for the means of an ensemble, which has no KL on U.
    problem = orthogonal(0)
    exact = problem._replace(alpha=problem.alpha * prior).posterior()
    stack = problem.fit(method(), lr=0.01, updates=2000, batch_size=30, seeds=range(8))
    bias = problem.weight_samples(stack, 200).mean(axis=(0, 1)) - exact.mean
    assert (np.abs(bias) / np.sqrt(np.diag(exact.covariance))).max() < 0.1


def test_resnet_18_has_the_papers_number_of_parameters():
    task = Task("any", Categorical(10), ResNet())
    assert task.network.dim == 11_173_962
    method = InducingFFG().suited_to(task)
    assert len(method.init(problem_of(task.network), NoiseGauge(torch.float32)).params) == 5_352_853


def test_smaller_last_inducing_matrix_saves_parameters():
    network = ResNet()
    method = InducingFFG(last_size_out=10).suited_to(Task("any", Categorical(10), network))
    assert len(method.init(problem_of(network), NoiseGauge(torch.float32)).params) == 5_321_347


@pytest.mark.parametrize("network", [MLP(200, (200,)), preresnet_20()], ids=["no images", "too small to save any"])
def test_networks_other_than_resnet_use_default_size(network):
    method = InducingFFG()
    assert method.suited_to(Task("any", Categorical(10), network)) is method
    assert len(method.init(problem_of(network), NoiseGauge(torch.float32)).params) <= network.dim
    explicit = InducingFFG(size=2)
    assert explicit.suited_to(Task("any", Categorical(10), ResNet())) is explicit


def residual_problem(norm: str = "group", hparams: HParams | None = None) -> Problem:
    one = torch.tensor(1.0, dtype=torch.float64)
    network = PreActResNet((2, 4, 4), 3, widths=(3, 4), blocks=1, norm=norm)
    return Problem(network, Categorical(3), hparams or HParams(prior_precision=one), 12 * one, 0 * one, one)


IMAGES = Batch(normal(1, 5, 32, seed=8), torch.tensor([[0.0, 1, 2, 1, 0]]).double())


def of_others(network, weights: torch.Tensor) -> torch.Tensor:
    """Return those of the flat weights that belong to layers which are no matrices."""
    pairs = zip(network.layers, network.split(weights), strict=True)
    return torch.cat([piece for layer, own in pairs if not isinstance(layer, Matrix) for piece in own])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("norm", ["batch", "filter-response"])
def test_normalisation_weights_are_equal_in_all_samples(method, norm):
    method, problem = method(size=2), residual_problem(norm)
    params, network = started(method, problem), problem.network
    start = of_others(network, network.initial_weights(NoiseGauge(torch.float64)))
    assert torch.equal(params[-len(start) :], start)
    own = normal(len(start), seed=6)
    posterior = torch.cat([params[: -len(start)], own])
    samples = method.sample(problem, posterior, NoiseGauge(torch.float64), 10)
    assert samples.shape == (10, problem.dim)
    for one in samples:
        assert torch.equal(of_others(network, one), own)


def test_deterministic_weights_get_only_the_likelihood_gradient(hparams):
    method, problem = InducingFFG(size=2), residual_problem(hparams=hparams)
    params = started(method, problem)
    gauge = NoiseGauge(torch.float64)
    method._weights(problem.network, params, hparams.prior_precision, gauge)
    tape = normal(gauge.used, seed=5)
    step = Step(torch.tensor(15.0, dtype=torch.float64), Annealing(10, 20))
    after = method.update(problem, InducingState(params, SGD()), IMAGES, Noise(tape), step)[0].params
    (weights,) = method._weights(problem.network, params, hparams.prior_precision, Noise(tape))
    gradient = of_others(problem.network, grad(problem.nll)(weights, IMAGES))
    torch.testing.assert_close((params - after)[-len(gradient) :], hparams.lr * 12 * gradient)


def test_large_ensemble_members_train_sequentially(hparams, monkeypatch):
    method, problem = InducingEnsemble(size=2), residual_problem("batch", hparams)
    params = started(method, problem)
    monkeypatch.setattr(gradients, "AT_ONCE", 0)
    gauge = NoiseGauge(torch.float64)
    method._weights(problem.network, params, hparams.prior_precision, gauge)
    tape = normal(gauge.used, seed=5)

    def objective(params):
        noise, nlls = Noise(tape), []
        for point in range(5):
            (one,) = method._weights(problem.network, params, hparams.prior_precision, noise, points=[point])
            nlls.append(problem.nll(one, IMAGES))
        return 12 * sum(nlls) / 5 + 0.25 * method.kl(problem.network, params)

    step = Step(torch.tensor(15.0, dtype=torch.float64), Annealing(10, 20))
    after = method.update(problem, InducingState(params, SGD()), IMAGES, Noise(tape), step)[0].params
    torch.testing.assert_close(after, params - hparams.lr * grad(objective)(params))


def test_few_samples_come_from_distinct_equiprobable_members():
    method, problem = InducingEnsemble(size=2), problem_of(MLP(3, (4,)))
    params = started(method, problem)
    quiet = params.clone()  # lambda so small that a sample is its point
    for own in method.layers_of(problem.network, quiet):
        own.raw_scale.fill_(-40)
    points = method._weights(problem.network, quiet, problem.hparams.prior_precision, NoiseGauge(torch.float64))
    noise, count = NoiseGauge(torch.float64), torch.zeros(5, dtype=torch.long)
    for _ in range(300):
        found = method.sample(problem, quiet, noise, 2)
        which = torch.cdist(found, points).argmin(1)
        assert found.shape == (2, problem.dim)
        assert which[1] == (which[0] + 1) % 5
        count[which] += 1
    assert ((count - 120).abs() < 40).all()  # four standard deviations of 600 draws


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_inputs", [4, 13, 60])
def test_default_parameter_count_is_at_most_network_weights(method, n_inputs):
    problem = problem_of(MLP(n_inputs, (50,)))
    assert len(started(method(), problem)) <= problem.dim
    m_out, m_in = method().layers_of(problem.network, started(method(), problem))[0].q[0].shape[-2:]
    larger = method(size=max(m_out, m_in) + 1)
    assert len(started(larger, problem)) > problem.dim


def test_layer_parameter_counts_follow_table_1():
    d_out, d_in, m_out, m_in = 30, 41, 5, 7
    network = MLP(d_in - 1, (), n_outputs=d_out)
    shared = d_in * m_in + d_out * m_out + (m_in + m_out + 1)  # D and lambda, which the table leaves out
    for method, inducing in ((InducingFFG, 2 * m_in * m_out), (InducingEnsemble, 5 * m_in * m_out)):
        params = started(method(size_out=m_out, size_in=m_in), problem_of(network))
        assert len(params) == shared + inducing
