"""Bandits: regret of known policies against closed forms, and properties of evaluations."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import bandits
from lockstep_bench.bench.evaluation.bandits import BanditEvaluation, Play, block_ends
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.datasets.synthetic.bandits import wheel_rewards
from lockstep_bench.shared.protocol import Protocol

PROTOCOL = Protocol(sampler="centre", max_minibatches=5, batch_size=8, samples=7, stream_length=60)


@pytest.fixture
def few_blocks(monkeypatch):
    monkeypatch.setattr(bandits, "BLOCKS", 4)


def play_of(expected, seed=0):
    return Play(np.arange(expected.size).reshape(expected.shape), expected, seed)


def evaluation_of(method, name="wdbc-bandit", splits=(0,), seed=0, rows=150, protocol=PROTOCOL):
    cells = tuple(Cell("decisions", name, method, split, "tiny", protocol, seed) for split in splits)
    job = Job(cells, tuple(Path("unused") for _ in cells), None, stack_rows=rows)
    return BanditEvaluation(job, torch.device("cpu"), lambda progress: None)


def outcomes(*arguments, **options):
    *_, last = evaluation_of(*arguments, **options).run()
    return last


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
        evaluation_of("map", protocol=PROTOCOL.changed(stream_length=1))


def test_blocks_are_about_equal_and_end_with_the_last_round():
    assert block_ends(500) == list(range(25, 501, 25))
    assert block_ends(7) == [1, 2, 3, 4, 5, 6, 7]
    assert np.ptp(np.diff([0, *block_ends(569)])) <= 1


@pytest.mark.usefixtures("few_blocks")
def test_outcome_has_regret_its_ratio_to_chance_and_a_curve():
    (outcome,) = outcomes("map")
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


@pytest.mark.usefixtures("few_blocks")
def test_first_block_takes_actions_in_turn():
    evaluation = evaluation_of("map", "digits-bandit")
    *_, _ = evaluation.run()
    assert evaluation.plays[0].actions[:15].tolist() == [*range(10), *range(5)]
    assert len(evaluation.plays[0].actions) == 60


@pytest.mark.usefixtures("few_blocks")
def test_method_without_preference_acts_as_chance():
    """The baseline `constant` predicts the same reward for every action."""
    ratios = [outcome.metrics["regret_uniform_ratio"] for outcome in outcomes("constant", splits=range(10))]
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(10))


@pytest.mark.usefixtures("few_blocks")
@pytest.mark.parametrize("method", ["mfvi", "deep-ensemble"])
def test_equal_seeds_give_equal_bits_whatever_the_neighbours(method):
    alone = outcomes(method, splits=(1,))[0]
    for options in ({"splits": (1,)}, {"splits": (0, 1)}, {"splits": (0, 1), "rows": 2}):
        *_, beside = outcomes(method, **options)
        assert beside.metrics == alone.metrics
        assert beside.tables["regrets"].equals(alone.tables["regrets"])
    other = outcomes(method, splits=(1,), seed=1)[0]
    assert not other.tables["regrets"].equals(alone.tables["regrets"])


@pytest.mark.usefixtures("few_blocks")
def test_cell_whose_predictions_are_not_finite_diverged(monkeypatch):
    evaluation = evaluation_of("map", splits=(0, 1))
    monkeypatch.setitem(evaluation.fits.hparams[0], "lr", float("nan"))
    *_, (broken, sound) = evaluation.run()
    assert (broken.status, broken.metrics) == ("diverged", {})
    assert sound.metrics == outcomes("map", splits=(1,))[0].metrics
