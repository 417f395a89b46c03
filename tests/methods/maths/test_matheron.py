"""Matheron's rule against the dense joint Gaussian of weights and inducing weights."""

import pytest
import torch
from joint_gaussian import D_IN, D_OUT, Joint, eye, normal, vec
from torch.func import grad, jacrev

from lockstep_bench.methods.maths.matheron import orthonormal

# Fewer, as many, and more inducing rows and columns than the layer has.
sizes = pytest.mark.parametrize(("m_out", "m_in"), [(1, 1), (2, 3), (3, 4), (5, 2), (4, 6)])


@sizes
def test_weight_sample_has_conditional_mean_and_scaled_covariance(m_out, m_in):
    joint, whitened, scale = Joint.random(m_out, m_in), normal(m_out, m_in), torch.tensor(0.3, dtype=torch.float64)
    mean = joint.sample(whitened, scale, torch.zeros(D_OUT + m_out, D_IN + m_in, dtype=torch.float64))
    torch.testing.assert_close(vec(mean), joint.to_mean @ vec(joint.unwhitened(whitened)))
    to_noise = joint.jacobian(whitened, scale)
    torch.testing.assert_close(to_noise @ to_noise.T, scale**2 * joint.conditional)


@sizes
def test_inducing_weights_from_the_prior_give_prior_weights(m_out, m_in):
    joint, one = Joint.random(m_out, m_in), torch.tensor(1.0, dtype=torch.float64)
    whitened = normal(m_out, m_in)
    unit = torch.zeros(D_OUT + m_out, D_IN + m_in, dtype=torch.float64)
    to_inducing = jacrev(lambda v: vec(joint.sample(v, one, unit)))(whitened).reshape(D_OUT * D_IN, -1)
    to_noise = joint.jacobian(whitened, one)
    covariance = to_inducing @ to_inducing.T + to_noise @ to_noise.T
    torch.testing.assert_close(covariance, joint.sigma**2 * eye(D_OUT * D_IN))


def test_outputs_equal_those_of_a_sparse_gaussian_process():
    # With Z_r = I, U is the paper's U_c: noisy inducing outputs at the rows of Z_c under a linear kernel (12, 13).
    joint = Joint(eye(D_OUT), normal(2, D_IN, seed=2), torch.zeros(D_OUT).double(), torch.full((2,), 0.3).double(), 0.7)
    x, whitened, one = normal(5, D_IN, seed=6), normal(D_OUT, 2), torch.tensor(1.0, dtype=torch.float64)
    inducing = joint.unwhitened(whitened)
    noisy = joint.sigma**2 * joint.psi_c  # covariance of the outputs at Z_c with noise of sd sigma D_c
    cross = joint.sigma**2 * x @ joint.z_c.T
    gain = cross @ torch.linalg.inv(noisy)
    conditional = joint.sigma**2 * x @ x.T - gain @ cross.T

    silent = torch.zeros(2 * D_OUT, D_IN + 2, dtype=torch.float64)
    torch.testing.assert_close(joint.sample(whitened, one, silent) @ x.T, joint.sigma * inducing @ gain.T)
    weights = joint.jacobian(whitened, one)
    to_outputs = torch.kron(x, eye(D_OUT)) @ weights
    torch.testing.assert_close(to_outputs @ to_outputs.T, torch.kron(conditional, eye(D_OUT)))


@sizes
def test_whitening_uses_the_cholesky_factor(m_out, m_in):
    joint = Joint.random(m_out, m_in)
    whitened = orthonormal(joint.z_r, joint.d_r)
    factor = torch.linalg.cholesky(joint.psi_r)
    torch.testing.assert_close(factor @ whitened, torch.cat([joint.z_r, torch.diag(joint.d_r)], dim=1))


def test_float32_whitening_survives_a_singular_gram_matrix():
    z, d = normal(1, 7).float().expand(5, 7), torch.full((5,), 1e-3)
    found = orthonormal(z, d)
    torch.testing.assert_close(found @ found.T, torch.eye(5), atol=1e-5, rtol=0)
    gradient = grad(lambda z: orthonormal(z, d)[:, :7].square().sum())(z.contiguous())
    assert gradient.isfinite().all()
