"""Scores of joint predictions: the labels of several test points at once.

Sample s of the predictive is one function at all points. The S samples therefore give a joint distribution of the
labels of several points: a mixture of S product distributions. Marginal scores see each point alone. Joint scores also
see how the labels of points depend on each other (Osband et al. 2022, Evaluating high-order predictive distributions in
deep learning).

Test points are put into random groups, the same for every method. There are at least `GROUPS` groups, for which a small
test part is shuffled several times. The scores then depend little on the random groups.
"""

import math

import numpy as np
import torch
from scipy import special
from torch import Tensor

from lockstep_bench.bench.metrics import classification, regression
from lockstep_bench.methods.maths.predictive import Classes, NormalMixtures, Normals, Predictive, StudentT

LABELS = 10  # of a group, tau
ANCHORS = 2  # points of a dyadic group, kappa
GROUPS = 1000
DRAWS = 100  # joint draws of the labels of a group, for the energy score
DRAWN_GROUPS = 200


def evaluate(predictive: Predictive, y: Tensor, y_scale: float) -> dict[str, float]:
    """Return those metrics of `shared.schema.JOINT` for targets y (n,) whose groups need at most n points.

    Args:
        predictive: predictive at n test points; sample s is one function at all of them.
        y: (n,), targets in original units, or class numbers.
        y_scale: standard deviation of the training targets; ignored for classes.
    """
    if isinstance(predictive, Classes):
        components = classification.log_densities(predictive, y).numpy()
    else:
        components = regression.log_densities(predictive, y).numpy()
    n_points, values = len(y), {}
    if n_points >= ANCHORS:
        values["nmll_dyadic"] = dyadic_nmll(components, groups(n_points, ANCHORS, GROUPS))
    if n_points >= LABELS:
        values["nmll_joint_10"] = joint_nmll(components, groups(n_points, LABELS, GROUPS))
        if isinstance(predictive, Normals | NormalMixtures | StudentT):
            values["energy_score"] = energy_score(predictive, y, groups(n_points, LABELS, DRAWN_GROUPS)) / y_scale
    return values


def groups(n_points: int, size: int, at_least: int) -> np.ndarray:
    """Return G random groups of `size` different points, (G, size), as point numbers from 0 to `n_points` - 1.

    Points are shuffled and cut into groups, repeatedly until there are `at_least` groups. Points left over from a
    shuffle are not used.
    """
    rng, per_shuffle = np.random.default_rng(0), n_points // size
    shuffles = math.ceil(at_least / per_shuffle)
    shuffled = [rng.permutation(n_points)[: per_shuffle * size] for _ in range(shuffles)]
    return np.concatenate(shuffled).reshape(-1, size)


def joint_nmll(components: np.ndarray, points: np.ndarray) -> float:
    """Return the joint NMLL of a group, -log (1/S) sum_s prod_i p_s(y_i), per label, nats, averaged over groups.

    Args:
        components: (S, n), log p_s(y_i), nats.
        points: (G, tau), numbers of the points in each group.
    """
    return _mean_nats(components[:, points].sum(2), points.shape[1])


def dyadic_nmll(components: np.ndarray, pairs: np.ndarray) -> float:
    """Return the joint NMLL of ten labels at two points, per label, nats, averaged over pairs of points.

    Each of the ten labels is drawn at random from the labels of the two points. The number k of labels from the first
    point has a binomial distribution, and the score is the exact mean over k of

        -log (1/S) sum_s p_s(y_1)^k p_s(y_2)^(10 - k) / 10.

    Args:
        components: (S, n), log p_s(y_i), nats.
        pairs: (G, 2), numbers of the two points in each pair.
    """
    first, second = components[:, pairs[:, 0]], components[:, pairs[:, 1]]
    counts = np.arange(LABELS + 1)
    probabilities = special.binom(LABELS, counts) / 2**LABELS
    scores = [_mean_nats(k * first + (LABELS - k) * second, LABELS) for k in counts]
    return float(probabilities @ scores)


def _mean_nats(joint: np.ndarray, n_labels: int) -> float:
    """Return -log (1/S) sum_s exp(joint[s, g]) per label, the mean over groups, nats, from log densities (S, G)."""
    # SciPy's logsumexp takes ten times as long.
    return float((math.log(len(joint)) - torch.from_numpy(joint).logsumexp(0)).mean()) / n_labels


def energy_score(predictive: Normals | NormalMixtures | StudentT, y: Tensor, points: np.ndarray) -> float:
    """Return the energy score of a group's targets, E|Y - y| - E|Y - Y'| / 2, averaged over groups.

    Y and Y' are independent draws of the group's vector of targets from the joint predictive, y is the vector of true
    targets, and |.| is the Euclidean norm (Gneiting and Raftery 2007, section 4.3). The score is in the units of y.
    Both expectations are estimated without bias from `DRAWS` vectors.

    Args:
        predictive: predictive at n points.
        y: (n,), targets, original units.
        points: (G, tau), numbers of the points in each group.
    """
    targets, rng = y.double().cpu().numpy(), np.random.default_rng(0)
    draws = _draws(predictive, rng)
    return float(np.mean([_energy(draws[:, group], targets[group]) for group in points]))


def _draws(predictive: Normals | NormalMixtures | StudentT, rng: np.random.Generator) -> np.ndarray:
    """Return independent vectors of the targets of all points, (`DRAWS`, n), original units."""
    samples = rng.integers(len(predictive[0]), size=DRAWS)
    parts = [part[samples].double().cpu().numpy() for part in predictive]
    if isinstance(predictive, StudentT):
        df, location, scale = parts
        return np.asarray(location + scale * rng.standard_t(df))
    if isinstance(predictive, NormalMixtures):
        log_weights, means, variances = parts
        chosen = (log_weights + rng.gumbel(size=log_weights.shape)).argmax(2)[..., None]
        parts = [np.take_along_axis(part, chosen, 2)[..., 0] for part in (means, variances)]
    mean, variance = parts
    return np.asarray(mean + np.sqrt(variance) * rng.standard_normal(mean.shape))


def _energy(draws: np.ndarray, y: np.ndarray) -> float:
    """Return the energy score from independent draws (M, tau) for one vector y (tau,)."""
    n_draws = len(draws)
    squares = (draws**2).sum(1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * draws @ draws.T, 0))
    np.fill_diagonal(distances, 0)
    return float(np.linalg.norm(draws - y, axis=1).mean() - distances.sum() / (2 * n_draws * (n_draws - 1)))
