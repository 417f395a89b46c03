"""BatchEnsemble against the layers of its paper and autograd of the documented objective."""

import pytest
import torch
from torch.distributions import Normal

from lockstep_bench.methods.batch_ensemble import BatchEnsemble, BatchEnsembleState
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.maths.noise import LiveNoise, Noise
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Step, Task
from lockstep_bench.methods.training.optim import SGD

SIZE = 3


@pytest.fixture
def params(problem):
    noise = LiveNoise(torch.Generator().manual_seed(0), torch.float64)
    start = BatchEnsemble(SIZE).init(problem, noise).params
    return start + 0.3 * noise.normal(len(start))


def outputs_of_member(params, number, x):
    """Return a member's outputs by the equation of a layer, with 3 inputs, 4 hidden units and 1 output."""
    first, _, second, _ = params[:21].split([12, 4, 4, 1])
    r_1, s_1, b_1, r_2, s_2, b_2 = params[21:].reshape(SIZE, -1)[number].split([3, 4, 4, 4, 1, 1])
    hidden = torch.relu((x * r_1) @ first.reshape(3, 4) * s_1 + b_1)
    return (hidden * r_2) @ second.reshape(4, 1) * s_2 + b_2


def test_batch_ensemble_layers_follow_the_paper(problem, batches, params):
    x, method = batches(1).x[0], BatchEnsemble(SIZE)
    members = method.sample(problem, params, Noise(None), 10)
    assert members.shape == (SIZE, problem.dim)
    for number, weights in enumerate(members):
        torch.testing.assert_close(problem.network(weights, x), outputs_of_member(params, number, x))


def test_update_follows_the_gradient_of_the_documented_objective(problem, hparams, batches, params):
    batch, leaf = batches(1), params.clone().requires_grad_()
    sd = (hparams.noise_precision * problem.y_scale**2) ** -0.5
    fits = [Normal(outputs_of_member(leaf, number, batch.x[0])[:, 0], sd) for number in range(SIZE)]
    nll = -torch.stack([fit.log_prob(batch.y[0]) for fit in fits]).mean()
    shared = torch.cat([leaf[:12], leaf[16:20]])  # without biases
    objective = problem.n_train * nll + 0.5 * hparams.prior_precision * shared.square().sum()
    (gradient,) = torch.autograd.grad(objective, leaf)
    state = BatchEnsembleState(params, SGD())
    after, reported = BatchEnsemble(SIZE).update(problem, state, batch, Noise(None), Step(torch.tensor(1.0), None))
    torch.testing.assert_close(after.params, params - hparams.lr * gradient)
    torch.testing.assert_close(reported["objective"], objective.detach())


def test_member_scales_start_as_random_signs(problem):
    noise = LiveNoise(torch.Generator().manual_seed(0), torch.float64)
    params = BatchEnsemble(SIZE).init(problem, noise).params
    members = params[problem.dim :].reshape(SIZE, -1)
    signs = torch.cat([members[:, :7], members[:, 11:16]], 1)
    assert signs.abs().unique().tolist() == [1]
    assert len(signs.unique(dim=0)) == SIZE
    assert torch.equal(members[:, 7:11], params[12:16].expand(SIZE, -1))
    assert torch.equal(members[:, 16:], params[20:21].expand(SIZE, -1))


def test_batch_ensemble_excludes_image_networks():
    images = Task("any", Categorical(10), preresnet_20())
    assert "multilayer perceptron" in BatchEnsemble().excludes(images)
