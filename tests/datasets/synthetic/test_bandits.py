"""Bandits: the wheel's rewards against their closed form, and classification sets as bandits."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.standardise import noise_precisions
from lockstep_bench.datasets.synthetic import bandits

DELTAS = pytest.mark.parametrize("delta", [0.5, 0.7, 0.95])


@DELTAS
def test_wheel_means_agree_with_closed_form(delta):
    """The squared radius of a uniform point in the disc is uniform, so a context is inside with probability delta^2."""
    generator = np.random.default_rng(0)
    points = generator.uniform(-1, 1, size=(600_000, 2))
    means = bandits.wheel_means(points[np.linalg.norm(points, axis=1) <= 1], delta)
    inside = delta**2
    optimal = inside * 1.2 + (1 - inside) * 50
    uniform = inside * (1.2 + 4 * 1.0) / 5 + (1 - inside) * (1.2 + 3 * 1.0 + 50) / 5
    error = 4 / np.sqrt(len(means)) * 49 * np.sqrt(inside * (1 - inside))
    assert means.max(axis=1).mean() == pytest.approx(optimal, abs=error)
    assert means.mean() == pytest.approx(uniform, abs=error / 5)
    rewards = bandits.wheel_rewards(delta)
    assert sum(rewards.values()) == pytest.approx(1)
    assert sum(reward * probability for reward, probability in rewards.items()) == pytest.approx(uniform)


def test_large_reward_moves_with_the_quadrant():
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * 0.6
    assert (bandits.wheel_means(corners, 0.8)[:, :4] == np.where(np.eye(4) == 1, 50.0, 1.0)).all()
    assert (bandits.wheel_means(corners, 0.9) == [1, 1, 1, 1, 1.2]).all()


@DELTAS
def test_drawn_rewards_are_the_means_with_small_noise(delta):
    name = f"wheel-{delta}"
    source, loaded = datasets.entry(name), datasets.load(name)
    noise = loaded.y - source.expected(loaded)
    assert noise.std() == pytest.approx(0.01, rel=0.02)
    assert abs(noise.mean()) < 4 * 0.01 / np.sqrt(len(noise))
    radius = np.linalg.norm(loaded.x[::5, :2], axis=1)
    assert np.mean(radius <= delta) == pytest.approx(delta**2, abs=0.015)
    assert (loaded.x[:5, 2:] == np.eye(5)).all()
    rounds = source.rounds(loaded.splits[3])
    assert rounds.shape == (2000, 5)
    assert (rounds.ravel() == 3 * 10_000 + np.arange(10_000)).all()


def test_noise_range_is_that_of_a_uniform_policys_rewards():
    for name in ("wheel-0.7", "digits-bandit"):
        assert datasets.entry(name).noise_precisions == pytest.approx(noise_precisions(datasets.load(name).y), rel=0.05)


@pytest.mark.parametrize("name", ["wdbc", "digits"])
def test_classes_are_the_actions_of_a_bandit(name):
    table, bandit, source = datasets.load(name), datasets.load(f"{name}-bandit"), datasets.entry(f"{name}-bandit")
    first, second = (source.rounds(split) for split in bandit.splits[:2])
    assert first.shape == (len(table.y), source.n_actions)
    assert (np.sort(first.ravel()) == np.arange(len(bandit.y))).all()
    assert not np.array_equal(first, second)
    number = first[5, 0] // source.n_actions
    assert (bandit.x[first[5], : table.x.shape[1]] == table.x[number]).all()
    assert bandit.y[first[5]].argmax() == table.y[number]
    assert (bandit.y[first].sum(axis=1) == 1).all()
    assert source.expected(bandit) is bandit.y
