"""Bandits: regret of known policies against closed forms, and properties of evaluations."""

import json

import numpy as np
import pytest
from decisions import evaluation_of, outcomes

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import bandits
from lockstep_bench.bench.evaluation.bandits import Play, block_ends
from lockstep_bench.datasets.synthetic.bandits import wheel_rewards


def play_of(expected, seed=0):
    return Play(np.arange(expected.size).reshape(expected.shape), expected, seed)


def wheel(delta):
    source, loaded = datasets.entry(f"wheel-{delta}"), datasets.load(f"wheel-{delta}")
    return source.expected(loaded).reshape(-1, 5)


def test_oracle_policy_has_no_regret():
    expected = wheel(0.5)
    play = play_of(expected)
    play.take_best(np.stack([expected, 2 * expected]))
    assert (play.regret() == 0).all()


@pytest.mark.parametrize("delta", [0.5, 0.7, 0.95])
def test_uniform_policy_has_closed_form_regret(delta):
    """Equal values leave the choice to chance. All 20,000 rounds of the ten splits are played as one bandit."""
    expected = wheel(delta)
    play = play_of(expected)
    play.take_best(np.zeros((1, *expected.shape)))
    n_rounds, inside = len(expected), delta**2
    closed = inside * 1.2 + (1 - inside) * 50 - sum(reward * share for reward, share in wheel_rewards(delta).items())
    assert closed == pytest.approx(inside * 0.8 * 0.2 + (1 - inside) * (0.8 * 49 - 0.04), rel=1e-12)
    sd = (expected.max(axis=1) - expected.mean(axis=1)).std()
    assert play.regret_uniform()[-1] / n_rounds == pytest.approx(closed, abs=4 * sd / np.sqrt(n_rounds))
    taken = expected[np.arange(n_rounds), play.actions] - expected.mean(axis=1)
    assert play.regret()[-1] == pytest.approx(play.regret_uniform()[-1], abs=4 * taken.std() * np.sqrt(n_rounds))
    assert np.bincount(play.actions) == pytest.approx(np.full(5, n_rounds / 5), rel=0.06)


def test_exact_thompson_sampling_beats_chance_in_a_linear_bandit():
    """Rewards are x^T theta_a + noise; the posterior of theta under the prior N(0, I) is known in closed form."""
    generator = np.random.default_rng(1)
    n_rounds, n_actions, dim, noise_sd = 300, 4, 3, 0.5
    theta = generator.standard_normal((n_actions, dim))
    contexts = generator.standard_normal((n_rounds, dim))
    play = play_of(contexts @ theta.T)
    precision, shift = np.stack([np.eye(dim)] * n_actions), np.zeros((n_actions, dim))
    for context in contexts:
        centre, factors = np.linalg.solve(precision, shift[..., None]), np.linalg.cholesky(np.linalg.inv(precision))
        draws = (centre + factors @ generator.standard_normal((50, n_actions, dim, 1)))[..., 0]
        play.take_best((draws @ context)[:, None])
        action = play.actions[-1]
        precision[action] += np.outer(context, context) / noise_sd**2
        shift[action] += context * (theta[action] @ context + noise_sd * generator.standard_normal()) / noise_sd**2
    regret, chance = play.regret(), play.regret_uniform()
    assert regret[-1] < 0.2 * chance[-1]
    assert regret[-1] - regret[149] < 0.05 * (chance[-1] - chance[149])  # it goes on learning


def test_each_round_follows_one_random_sample():
    values = np.zeros((2, 4000, 3))
    values[0, :, 0] = values[1, :, 2] = 1.0
    play = play_of(np.zeros((4000, 3)))
    play.take_best(values)
    counts = np.bincount(play.actions, minlength=3)
    assert counts[1] == 0
    assert counts[0] == pytest.approx(2000, abs=130)  # 4 standard deviations


def test_values_that_are_not_finite_leave_the_choice_to_chance():
    play = play_of(np.zeros((300, 3)))
    play.take_best(np.full((1, 300, 3), np.nan))
    assert np.bincount(play.actions, minlength=3).min() > 60


def test_single_round_is_refused():
    with pytest.raises(ValueError, match="a bandit needs 2 rounds"):
        evaluation_of("map", "wdbc-bandit", length=1)


def test_blocks_are_about_equal_and_end_with_the_last_round():
    assert block_ends(500) == list(range(25, 501, 25))
    assert block_ends(7) == [1, 2, 3, 4, 5, 6, 7]
    assert np.ptp(np.diff([0, *block_ends(569)])) <= 1


def test_outcome_has_regret_its_ratio_to_chance_and_a_curve(monkeypatch):
    monkeypatch.setattr(bandits, "BLOCKS", 4)
    (outcome,) = outcomes("map", "wdbc-bandit", length=60)
    assert outcome.status == "ok"
    curve = outcome.tables["regrets"].to_pandas()
    assert curve["round"].tolist() == block_ends(60)
    last = curve.iloc[-1]
    assert outcome.metrics["regret"] == last["regret"]
    assert last["regret_uniform"] == 60 * 0.5
    assert outcome.metrics["regret_uniform_ratio"] == last["regret"] / 30
    assert json.loads(outcome.fit.diagnostics)["regret_uniform"] == 30
    assert outcome.tuning.n_trials == 0
    assert {"nmll", "nmll_joint_10", "rmse"} <= set(outcome.metrics)


def test_first_block_takes_actions_in_turn(monkeypatch):
    monkeypatch.setattr(bandits, "BLOCKS", 4)
    evaluation = evaluation_of("map", "digits-bandit", length=60)
    *_, _ = evaluation.run()
    assert evaluation.plays[0].actions[:15].tolist() == [*range(10), *range(5)]
    assert len(evaluation.plays[0].actions) == 60
