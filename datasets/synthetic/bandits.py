"""Contextual bandits as tables: one row for each action of each round, with the reward that the action would give.

A row is (context, action as one-hot vector), and its target is the reward. A bandit algorithm is shown the context of a
round, chooses one of its K rows, and learns the target of that row alone.

There are two kinds. The wheel bandit is that of Riquelme, Tucker and Snoek 2018, Deep Bayesian Bandits Showdown,
section 5.4. A classification set is a bandit whose actions are its classes: the reward is 1 for the right class and 0
for every other one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from lockstep_bench.datasets.records import Contents, Dataset, Reader, Source, Split
from lockstep_bench.datasets.standardise import NOISE_PRECISIONS
from lockstep_bench.datasets.tabular import sklearn_classification, uci_classification

# Constants of Edward2's generator of this benchmark: mean rewards of the safe action, of an action that is not the
# best, and of the rare best one.
SAFE, OTHER, LARGE = 1.2, 1.0, 50.0
NOISE_SD = 0.01  # of all rewards; the paper's released example has 0.05 for the small ones
DELTAS = (0.5, 0.7, 0.95)  # three of five
WHEEL_ACTIONS, WHEEL_ROUNDS = 5, 2000
CLASSIFICATIONS = ("wdbc", "digits", "australian", "breast-cancer", "a1a", "usps3v5")
N_SPLITS = 10
DECIMALS = 6  # of every number, so that the digest is the same on every machine
SEED = 2018  # the year of the paper; any fixed number would do
LAST_ROUND = "The test part of a split is its last round, which is played like the others."


@dataclass(frozen=True, kw_only=True)
class Bandit(Source):
    """Description of a contextual bandit; the actions of a round are adjacent rows, and a split is an order of rounds.

    Attributes:
        n_actions: K, number of actions.
    """

    n_actions: int

    def expected(self, dataset: Dataset) -> np.ndarray:
        """Return the expected reward (N,) of each row; here the reward itself, which has no noise."""
        return dataset.y

    def rounds(self, split: Split) -> np.ndarray:
        """Return the rows (T, K) of the rounds in the order of the split."""
        return np.concatenate([split.train, split.test]).reshape(-1, self.n_actions)


@dataclass(frozen=True, kw_only=True)
class Wheel(Bandit):
    """Description of a wheel bandit.

    Attributes:
        delta: radius within which the safe action is the best one.
    """

    delta: float

    def expected(self, dataset: Dataset) -> np.ndarray:
        """Return the expected reward (N,) of each row, without its noise."""
        contexts = dataset.x[:: self.n_actions, :2]
        return wheel_means(contexts, self.delta).ravel()


def wheel_means(contexts: np.ndarray, delta: float) -> np.ndarray:
    """Return the expected rewards (T, 5) of the wheel bandit's actions for contexts (T, 2) in the unit disc.

    The last action is safe: it gives `SAFE` everywhere. Each other action gives `LARGE` in one quadrant outside the
    radius delta, and `OTHER` elsewhere.
    """
    means = np.full((len(contexts), WHEEL_ACTIONS), OTHER)
    means[:, -1] = SAFE
    outside = np.flatnonzero(np.linalg.norm(contexts, axis=1) > delta)
    left, below = (contexts[outside] <= 0).T
    means[outside, 2 * left + below] = LARGE
    return means


def read_wheel(delta: float, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the pairs of contexts and actions x (N, 7), rewards y (N,) and the splits, each with rounds of its own.

    Contexts are uniform in the unit disc. `contents` is empty, because the bandits are drawn, not read from files.
    """
    contexts, rewards = [], []
    for number in range(N_SPLITS):
        generator = np.random.default_rng([SEED, round(100 * delta), number])
        radius, turn = np.sqrt(generator.uniform(size=WHEEL_ROUNDS)), generator.uniform(0, 2 * np.pi, WHEEL_ROUNDS)
        contexts.append((radius * np.array([np.cos(turn), np.sin(turn)])).T.round(DECIMALS))
        noise = NOISE_SD * generator.standard_normal((WHEEL_ROUNDS, WHEEL_ACTIONS))
        rewards.append((wheel_means(contexts[-1], delta) + noise).round(DECIMALS))
    x, y = _pairs(np.concatenate(contexts), np.concatenate(rewards))
    return x, y, tuple(map(_split, np.arange(len(y)).reshape(N_SPLITS, WHEEL_ROUNDS, WHEEL_ACTIONS)))


def read_classes(read: Reader, n_classes: int, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the pairs of features and classes x (N, P + K), rewards y (N,) and the splits, each another random order.

    Args:
        read: reader of the classification set.
        n_classes: K.
        contents: verified contents of its files.
    """
    features, classes, *_ = read(contents)
    x, y = _pairs(features, np.eye(n_classes)[classes.astype(int)])
    rounds = np.arange(len(y)).reshape(-1, n_classes)
    orders = [np.random.default_rng([SEED, number]).permutation(len(rounds)) for number in range(N_SPLITS)]
    return x, y, tuple(_split(rounds[order]) for order in orders)


def _pairs(contexts: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (T K, P + K) and rewards (T K,) of contexts (T, P) with rewards (T, K)."""
    n_rounds, n_actions = rewards.shape
    actions = np.tile(np.eye(n_actions), (n_rounds, 1))
    return np.hstack([np.repeat(contexts, n_actions, axis=0), actions]), rewards.ravel()


def _split(rounds: np.ndarray) -> Split:
    return Split(rounds[:-1].ravel(), rounds[-1])


def wheel_rewards(delta: float) -> dict[float, float]:
    """Return the probability of each mean reward of a uniformly random action of the wheel bandit.

    A context is inside the radius delta with the probability delta^2.
    """
    large = (1 - delta**2) / WHEEL_ACTIONS
    safe = 1 / WHEEL_ACTIONS
    return {SAFE: safe, LARGE: large, OTHER: 1 - safe - large}


def _noise_precisions(rewards: Mapping[float, float]) -> tuple[float, float]:
    """Return `NOISE_PRECISIONS` over the variance of a reward with these values and probabilities."""
    values, weights = np.array(list(rewards)), np.array(list(rewards.values()))
    variance = float(weights @ values**2 - (weights @ values) ** 2)
    low, high = NOISE_PRECISIONS
    return low / variance, high / variance


def _wheel(delta: float) -> Wheel:
    return Wheel(
        name=f"wheel-{delta}",
        title=f"Wheel bandit, δ = {delta}",
        n_rows=N_SPLITS * WHEEL_ROUNDS * WHEEL_ACTIONS,
        n_features=2 + WHEEL_ACTIONS,
        n_splits=N_SPLITS,
        split_scheme="drawn",
        origin="Riquelme, Tucker and Snoek 2018, Deep Bayesian Bandits Showdown, section 5.4, with this project's own "
        "seeds",
        licence="none needed: drawn at random by this project",
        read=partial(read_wheel, delta),
        suites=("decisions",),
        noise_precisions=_noise_precisions(wheel_rewards(delta)),
        notes=(LAST_ROUND,),
        n_actions=WHEEL_ACTIONS,
        delta=delta,
    )


def _of_classes(source: Source) -> Bandit:
    """Return the bandit whose actions are the classes of a classification set."""
    assert source.n_classes is not None
    return Bandit(
        name=f"{source.name}-bandit",
        title=f"{source.title}, as a bandit",
        n_rows=source.n_rows * source.n_classes,
        n_features=source.n_features + source.n_classes,
        n_splits=N_SPLITS,
        origin=source.origin,
        licence=source.licence,
        read=partial(read_classes, source.read, source.n_classes),
        suites=("decisions",),
        noise_precisions=_noise_precisions({1.0: 1 / source.n_classes, 0.0: 1 - 1 / source.n_classes}),
        notes=("A reward is 1 for the right class and 0 for every other one.", LAST_ROUND),
        files=source.files,
        folder=source.folder,
        base_url=source.base_url,
        n_actions=source.n_classes,
    )


@cache
def sources() -> tuple[Bandit, ...]:
    """Return the descriptions of all bandits."""
    tables = {source.name: source for source in (*sklearn_classification.SOURCES, *uci_classification.sources())}
    return (*map(_wheel, DELTAS), *(_of_classes(tables[name]) for name in CLASSIFICATIONS))
