"""Slips in Direct Uncertainty Quantification that docs/errata.md lists, each against a quadrature or exact algebra."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, invgamma, norm

ALPHA, GAMMA, BETA = 0.7, 0.3, 0.4


def log_softmax(z: np.ndarray) -> np.ndarray:
    return z - np.log(np.exp(z).sum())


def gaussian_kl(mean: float, variance: float, prior_mean: float, prior_variance: float) -> float:
    ratio = variance / prior_variance
    return 0.5 * (ratio - 1 - math.log(ratio) + (mean - prior_mean) ** 2 / prior_variance)


def test_cross_entropy_has_lipschitz_constant_root_2():
    # Appendix A.1 says 1, in the 2-norm of assumption 3.1.
    z, step = np.array([-20.0, 20.0]), np.array([-1e-3, 1e-3])
    slope = abs(log_softmax(z + step)[0] - log_softmax(z)[0]) / np.linalg.norm(step)
    assert slope == pytest.approx(math.sqrt(2))


def test_bounded_exponential_needs_min_instead_of_max():
    # Appendix A.1 prints max{exp(l), B_g}, whose slope has no bound; min{exp(l), B_g} is B_g-Lipschitz.
    bound, points = 2.0, np.linspace(-10, 10, 20_001)
    slopes = {choose: np.abs(np.diff(choose(np.exp(points), bound)) / np.diff(points)).max() for choose in (max_, min_)}
    assert slopes[max_] > 1e4
    assert slopes[min_] <= bound


def max_(values: np.ndarray, bound: float) -> np.ndarray:
    return np.maximum(values, bound)


def min_(values: np.ndarray, bound: float) -> np.ndarray:
    return np.minimum(values, bound)


def test_determinant_of_eq_8_is_zero_for_more_rows_than_inputs():
    generator = np.random.default_rng(0)
    x = generator.standard_normal((2, 5))  # d = 2, N = 5
    prior, posterior = (factor @ factor.T for factor in generator.standard_normal((2, 2, 2)))
    product = np.linalg.pinv(x.T @ prior @ x) @ (x.T @ posterior @ x)
    assert np.linalg.det(product) == pytest.approx(0, abs=1e-12)
    # The product of its non-zero eigenvalues is what eq. 10 has.
    eigenvalues = np.linalg.eigvals(product).real
    assert np.sort(eigenvalues)[-2:].prod() == pytest.approx(np.linalg.det(np.linalg.solve(prior, posterior)))
    assert np.trace(product) == pytest.approx(np.trace(np.linalg.solve(prior, posterior)))


@pytest.mark.parametrize("x", [0.8, -0.8])
def test_mean_of_a_random_relu_unit_is_corrected(x):
    # Eq. 18 and 19 take the mean of u beyond its own mean, not E[max(0, u x)].
    mean, sd = 0.5, 1.2
    exact = quad(lambda u: max(0.0, u * x) * norm.pdf(u, mean, sd), -15, 15, points=[0])[0]
    side = math.copysign(1, x)
    corrected = (mean * norm.cdf(side * mean / sd) + side * sd * norm.pdf(mean / sd)) * x
    printed = (mean + side * norm.pdf(0) / norm.cdf(0) * sd) * x
    assert exact == pytest.approx(corrected)
    assert abs(printed - exact) > 0.1


def test_empirical_bayes_penalty_includes_the_hyperprior_term():
    # Appendix B.3 prints - sum log sigma_q^2 where it is - 1/2 sum log sigma_q^2: compare two posteriors.
    def exact(mean: np.ndarray, variance: np.ndarray) -> float:
        k, square = len(mean), mean @ mean + variance.sum()
        best = (square + 2 * BETA) / (k + 2 * ALPHA + 2)
        kl = 0.5 * (k * math.log(best) - np.log(variance).sum() - k + square / best)
        return kl + (ALPHA + 1) * math.log(best) + BETA / best

    def written(mean: np.ndarray, variance: np.ndarray, weight: float) -> float:
        k, square = len(mean), mean @ mean + variance.sum()
        best = (square + 2 * BETA) / (k + 2 * ALPHA + 2)
        return 0.5 * (k + 2 * ALPHA + 2) * math.log(best) - weight * np.log(variance).sum()

    one, other = (np.array([0.3, -1.0]), np.array([0.5, 0.2])), (np.array([0.1, 2.0]), np.array([0.9, 1.5]))
    difference = exact(*one) - exact(*other)
    assert written(*one, 0.5) - written(*other, 0.5) == pytest.approx(difference)
    assert abs(written(*one, 1.0) - written(*other, 1.0) - difference) > 0.5


@pytest.fixture
def outputs() -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (N,) of one output of a network at N inputs."""
    generator = np.random.default_rng(0)
    return generator.standard_normal(4), generator.uniform(0.2, 2, size=4)


def regularizer(means: np.ndarray, variances: np.ndarray, mean: float, variance: float) -> float:
    """Sum over inputs of E_q(mu_p) KL(q(z | x) || p(z | mu_p)) + KL(q(mu_p) || p(mu_p))."""
    # E over mu_p of (mu_q - mu_p)^2 adds the variance of mu_p.
    inner = [gaussian_kl(m, v, mean, GAMMA) + 0.5 * variance / GAMMA for m, v in zip(means, variances, strict=True)]
    return sum(inner) + len(means) * gaussian_kl(mean, variance, 0.0, ALPHA)


def test_optimal_prior_mean_is_the_shrunk_mean(outputs):
    # The third line of appendix C.1 prints the mean of mu_q; the factor alpha / (alpha + gamma) comes a line later.
    means, variances = outputs
    shrunk = ALPHA / (ALPHA + GAMMA) * means.mean()
    best = regularizer(means, variances, shrunk, ALPHA * GAMMA / (ALPHA + GAMMA))
    for other in (means.mean(), shrunk - 0.01, shrunk + 0.01):
        assert regularizer(means, variances, other, ALPHA * GAMMA / (ALPHA + GAMMA)) > best


def test_only_the_last_line_of_equation_23_holds(outputs):
    means, variances = outputs
    n, total = len(means), ALPHA + GAMMA
    mean, variance = ALPHA / total * means.mean(), ALPHA * GAMMA / total
    exact = regularizer(means, variances, mean, variance)
    last_line = (
        ((variances + means**2) / (2 * GAMMA) - 0.5 * np.log(variances)).sum()
        - n / 2 * (1 / GAMMA - 1 / total) * means.mean() ** 2
        + n / 2 * math.log(total)
        - n / 2
    )
    assert last_line == pytest.approx(exact)

    squares = ((means - mean) ** 2 + variance).sum()  # E over mu_p

    def first_line(half: float, sign: float, power: float) -> float:
        inner = n * math.log(GAMMA) - np.log(variances).sum() - n + (variances.sum() + sign * squares) / GAMMA
        outer = math.log(total / GAMMA) - 1 + GAMMA / total + ALPHA**power / total**2 * means.mean() ** 2
        return half * inner + n / 2 * outer

    assert first_line(half=0.5, sign=1, power=1) == pytest.approx(exact)
    assert abs(first_line(half=1, sign=-1, power=2) - exact) > 0.1  # as printed


def test_marginal_over_the_prior_mean_needs_factor_half():
    # Appendix C.2: log of the integral over mu_p is 1/2 log(2 pi s / (t + 1)), without a further 1/2 before the log.
    t, s = 0.11, 0.6
    integral = quad(lambda m: math.exp(-(t + 1) / (2 * s) * (m - 0.3 / (t + 1)) ** 2), -20, 20)[0]
    assert math.log(integral) == pytest.approx(0.5 * math.log(2 * math.pi * s / (t + 1)))


def test_prior_of_appendix_c2_is_on_variance_not_precision():
    # Eq. 26 has the density of sigma^2 ~ IG(alpha, beta). If 1/sigma^2 were IG, sigma^2 would be Gamma(alpha, beta).
    points = np.array([0.2, 0.9, 3.0])
    written = -(ALPHA + 1) * np.log(points) - BETA / points
    inverse_gamma = invgamma(ALPHA, scale=BETA).logpdf(points)
    np.testing.assert_allclose(np.diff(written), np.diff(inverse_gamma))
    assert not np.allclose(np.diff(written), np.diff(gamma(ALPHA, scale=1 / BETA).logpdf(points)), atol=0.1)


def test_stl10_times_belong_to_5000_images():
    # Table 1 prints size 500. VI's extra seconds over SGD are those of its minibatches of 512.
    size = {"cifar10": 50_000, "cifar100": 50_000, "svhn": 73_257}
    extra = {"cifar10": 8.51 - 1.97, "cifar100": 8.27 - 1.99, "svhn": 11.56 - 2.46, "stl10": 1.75 - 1.12}
    per_batch = np.mean([extra[name] / math.ceil(size[name] / 512) for name in size])
    assert extra["stl10"] / per_batch == pytest.approx(math.ceil(5000 / 512), rel=0.1)
