"""A cell whose method predicts no probability distribution fails, and its row says why."""

import json
import re

import pytest
import torch
from cell_runs import TINY, outcome_of

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.predictive import Normals, Quantiles

PREDICT = MAP.predict
NAN = float("nan")


@pytest.fixture
def cell(tmp_path):
    def row(dataset: str, **changes) -> dict:
        protocol = TINY.changed(**changes)
        return outcome_of(
            Job((Cell("uci", dataset, "map", 0, "tiny", protocol, 0),), (tmp_path / f"{dataset}.log",), None)
        ).row

    return row


def first_point(predictive: Normals, value: float) -> Normals:
    """Return a predictive whose variance has another value at the first point."""
    return predictive._replace(
        variance=torch.cat([predictive.variance[:, :1] * 0 + value, predictive.variance[:, 1:]], 1)
    )


FLAWS = {
    "log probabilities + 3": (
        "wdbc",
        lambda p: p._replace(log_probs=p.log_probs + 3),
        r"sum to 20\.09 and not to 1 at",
    ),
    "probabilities": ("wdbc", lambda p: p._replace(log_probs=p.log_probs.exp()), "and not to 1 at"),
    "twice the log probabilities": ("wdbc", lambda p: p._replace(log_probs=p.log_probs * 2), "and not to 1 at"),
    "one class twice": (
        "wdbc",
        lambda p: p._replace(log_probs=p.log_probs[..., :1] * torch.ones(2)),
        "and not to 1 at",
    ),
    "NaN log probabilities": ("wdbc", lambda p: p._replace(log_probs=p.log_probs * NAN), "log_probs is NaN at"),
    "negative variance": (
        "diabetes",
        lambda p: p._replace(variance=-p.variance),
        r"variance is negative at (\d+) of \1",
    ),
    "one negative variance": ("diabetes", lambda p: first_point(p, -1.0), "variance is negative at 1 of"),
    "NaN variance": ("diabetes", lambda p: p._replace(variance=p.variance * NAN), "variance is NaN at"),
    "no variance": ("diabetes", lambda p: first_point(p, 0.0), "variance is 0 at 1 of"),
    "infinite mean": ("diabetes", lambda p: p._replace(mean=p.mean + float("inf")), "mean is infinite at"),
    "crossing quantiles": (
        "diabetes",
        lambda p: Quantiles(
            torch.tensor([0.1, 0.9]).expand(1, p.mean.shape[1], 2), p.mean[..., None].expand(-1, -1, 2)
        ),
        "must increase strictly",
    ),
}


@pytest.mark.parametrize("name", FLAWS)
@pytest.mark.parametrize("tuned", [True, False], ids=["tuned", "given"])
def test_invalid_predictions_fail_the_cell_with_reason(cell, monkeypatch, name, tuned):
    dataset, changed, reason = FLAWS[name]
    monkeypatch.setattr(MAP, "predict", lambda *arguments: changed(PREDICT(*arguments)))
    row = cell(dataset, **({} if tuned else {"sampler": "centre"}))
    assert (row["status"], row["nmll"]) == ("diverged", None)
    before = "all 3 trials diverged: .*; in trial 0 " if tuned else "the final fit predicts no distribution: "
    assert re.match(f"{before}.*{reason}", row["error"]), row["error"]
    if " is " in reason:
        assert row["error"].endswith("validation points" if tuned else "test points")


def test_invalid_predictions_fail_only_the_affected_trials(cell, monkeypatch):
    def predict(self, problem, *arguments):
        normals = PREDICT(self, problem, *arguments)
        return normals._replace(variance=torch.where(problem.hparams.lr > 0.004, 1, -1) * normals.variance)

    monkeypatch.setattr(MAP, "predict", predict)
    row = cell("diabetes", trials=10)
    assert row["status"] == "ok"
    assert 0 < row["n_trials_failed"] < 10
    assert json.loads(row["hparams"])["lr"] > 0.004


def test_reason_for_invalid_predictions_survives_an_interruption(cell, monkeypatch):
    monkeypatch.setattr(MAP, "predict", lambda *arguments: first_point(PREDICT(*arguments), -1.0))
    first = cell("diabetes")
    monkeypatch.setattr(
        "lockstep_bench.bench.engine.stacked_fits.StackedFits.predict", None
    )  # the study is read, not run again
    assert cell("diabetes")["error"] == first["error"]
