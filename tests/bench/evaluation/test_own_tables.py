"""The units of a user's target do not matter: noise ranges and priors follow its scale."""

import numpy as np
import pandas as pd
import pytest
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation.prediction import evaluation_of
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.shared.protocol import Protocol

PROTOCOL = Protocol(trials=3, folds=2, epochs=5)


@pytest.mark.parametrize("method", ["map", "mfvi", "constant"])
def test_scaling_the_target_keeps_standardised_scores(tmp_path, method):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(60, 3)), columns=["a", "b", "price"])
    frame["price"] = 17 * (frame["a"] + 0.3 * frame["price"])
    outcomes = []
    for scale in (1.0, 1e-3):
        path = tmp_path / f"{scale}.csv"
        frame.assign(price=scale * frame["price"]).to_csv(path, index=False)
        table, _ = datasets.describe(path, "price", name="houses")
        source = table.source()
        dataset = datasets.Dataset("houses", *source.read({}))
        job = Job((Cell("own", "houses", method, 0, "quick", PROTOCOL, 0),), (tmp_path / f"{scale}.json",), None)
        *_, (outcome,) = evaluation_of(job, torch.device("cpu"), lambda progress: None, (source, dataset)).run()
        outcomes.append(outcome)
    plain, small = outcomes
    assert (plain.status, small.status) == ("ok", "ok")
    for name in ("nmll_standardised", "rmse_standardised", "coverage_90"):
        assert small.metrics[name] == pytest.approx(plain.metrics[name], rel=1e-4)
    assert small.metrics["rmse"] == pytest.approx(1e-3 * plain.metrics["rmse"], rel=1e-4)
    assert small.metrics["nmll"] == pytest.approx(plain.metrics["nmll"] + np.log(1e-3), rel=1e-4)
