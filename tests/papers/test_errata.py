"""Slips that docs/errata.md lists in the VIFA paper, in Variational Laplace and in the inducing weights."""

import numpy as np
import pytest
import torch
from scipy.special import expit

from lockstep_bench.methods.inducing import InducingFFG, numbers

DIM = 3


def test_likelihood_of_eq_47_ignores_the_labels():
    # VIFA paper: sigma^y sigma^(1 - y) in eq. 47 and below it, where the second factor is 1 - sigma.
    logits = np.array([-2.0, 0.3, 1.7])
    printed = [expit(logits) ** y * expit(logits) ** (1 - y) for y in (0, 1)]
    corrected = [expit(logits) ** y * (1 - expit(logits)) ** (1 - y) for y in (0, 1)]
    np.testing.assert_allclose(printed[0], printed[1])
    np.testing.assert_allclose(corrected[0] + corrected[1], 1)


@pytest.fixture
def log_joint() -> tuple[np.ndarray, np.ndarray]:
    """Mode mu and Hessian of a quadratic log joint: (D,) and (D, D), negative definite."""
    factor = np.random.default_rng(0).standard_normal((DIM, DIM))
    return np.array([0.5, -1.0, 2.0]), -(factor @ factor.T + np.eye(DIM))


def test_elbo_of_eq_9_needs_the_negative_hessian(log_joint):
    # Variational Laplace, eq. 9: log |H| of an odd number of weights is not a real number.
    _, hessian = log_joint
    assert np.linalg.det(hessian) < 0
    # ELBO - log joint at mu, with covariance (-H)^-1: E[1/2 d^T H d] + entropy = -1/2 log |-H| + D/2 log 2 pi.
    covariance = np.linalg.inv(-hessian)
    entropy = 0.5 * (DIM * np.log(2 * np.pi * np.e) + np.linalg.slogdet(covariance)[1])
    exact = 0.5 * np.trace(hessian @ covariance) + entropy
    assert exact == pytest.approx(-0.5 * np.linalg.slogdet(-hessian)[1] + DIM / 2 * np.log(2 * np.pi))


def test_quadratic_term_of_eq_17_and_18_needs_the_hessian(log_joint):
    # Printed: 1/2 Tr(Sigma), which eq. 18 equates with 1/2 sum sigma^2 H.
    _, hessian = log_joint
    variances = np.array([0.1, 0.4, 0.2])
    wanted = 0.5 * (variances * np.diag(hessian)).sum()
    assert 0.5 * np.trace(hessian @ np.diag(variances)) == pytest.approx(wanted)
    assert 0.5 * np.trace(np.diag(variances)) > 0 > wanted


def test_stationary_sgd_covariance_needs_an_outer_product():
    # Variational Laplace, appendix A: E[v^T v] is a number; E[v v^T] gives the recursion's next line.
    generator = np.random.default_rng(0)
    transition, noise = generator.standard_normal((2, DIM, DIM))
    weights, draws = generator.standard_normal((2, DIM, 200_000))
    samples = transition @ weights + noise @ draws
    outer = samples @ samples.T / samples.shape[1]
    np.testing.assert_allclose(outer, transition @ transition.T + noise @ noise.T, atol=0.1)
    inner = (samples * samples).sum(axis=0).mean()
    assert inner == pytest.approx(np.trace(outer))


def test_inducing_weights_last_layer_has_128_outputs():
    # Section 4.2: M_out = 10 in CIFAR-10's last layer, and 5,352,853 parameters. That is the number for M_out = 128.
    method, last = InducingFFG(), (10, 513)  # outputs, and inputs with the bias
    saved = numbers([method.shapes(*last, 128, 128)]) - numbers([method.shapes(*last, 10, 128)])
    assert 5_352_853 - saved == 5_321_347


def test_cholesky_of_zz_fails_for_more_rows_than_columns():
    # Eq. 10 takes Cholesky(Z_r Z_r^T); section 4.2 has M = 128 for layers of 64 outputs too.
    z = torch.randn(128, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.linalg.matrix_rank(z @ z.T) == 64
    assert torch.linalg.cholesky_ex(z @ z.T).info > 0
