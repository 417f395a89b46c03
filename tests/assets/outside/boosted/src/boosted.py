"""Gradient boosting of quantiles by scikit-learn.

One ensemble of trees is fitted to each level q. It minimises the mean of the pinball loss
max(q (y - f(x)), (q - 1) (y - f(x))).
"""

import torch
from optuna.distributions import IntDistribution
from sklearn.ensemble import HistGradientBoostingRegressor

from lockstep_bench.methods.api import FullBatchMethod, LogUniform, Paper, Quantiles

LEVELS = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95])
LEAST_STEP = 1e-3  # between neighbouring quantiles, in standard deviations of the target


class Boosted(FullBatchMethod):
    """Quantile regression by boosted trees. Tunes the learning rate and the number of leaves."""

    name = "boosted"
    title = "Boosted quantiles"
    paper = Paper("Friedman 2001", "Greedy Function Approximation: A Gradient Boosting Machine")
    likelihoods = ("gaussian", "heteroscedastic")
    deterministic = True
    suites = ("uci", "own")

    def search_space(self, task):
        return {"lr": LogUniform(0.02, 0.3), "leaves": IntDistribution(2, 16)}

    def fit(self, problem, x, y, seed):
        options = {"learning_rate": problem.hparams.lr.item(), "max_leaf_nodes": int(problem.hparams.leaves)}
        x, y = x.cpu().numpy(), y.cpu().numpy()
        return [
            HistGradientBoostingRegressor(loss="quantile", quantile=q, **options).fit(x, y) for q in LEVELS.tolist()
        ]

    def predict(self, problem, posterior, x, noise, n_samples):
        values = torch.stack([x.new_tensor(model.predict(x.cpu().numpy())) for model in posterior], dim=1)
        # Quantiles that were fitted one by one may cross or be equal.
        steps = values.sort(dim=1).values.diff(dim=1).clamp(min=LEAST_STEP)
        lowest = values.min(dim=1, keepdim=True).values
        values = torch.cat([lowest, lowest + steps.cumsum(1)], dim=1)
        return Quantiles.of(LEVELS, problem.y_mean + problem.y_scale * values)
