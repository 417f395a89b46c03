"""Every method that is trained reports its objective, from which rows say whether a fit has converged."""

import numpy as np
import pytest

from lockstep_bench import methods
from lockstep_bench.bench.engine.convergence import SIGNS
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.methods.catalogue.registry import BUILT_IN
from lockstep_bench.methods.catalogue.rows import rows
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

WITHOUT = {
    "constant": "counts targets once",
    "linear": "has a closed form",
    "gp": "is fitted in one call",
    "laplace-marglik-full": "is fitted in one call",
    "laplace-marglik-kron": "is fitted in one call",
    "laplace-marglik-diag": "is fitted in one call",
    "gp-matern": "is fitted in one call",
    **{name: "of another library" for name, row in rows().items() if row.family == "lines"},
    "hmc": "draws samples, and reports R-hat",
    "mile": "draws samples",
    "hmc-leapfrog": "draws samples",
    "csgmcmc": "has one that falls in each cycle, and draws samples",
    "csgld": "has one that falls in each cycle, and draws samples",
}
TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, hidden=(8,)))


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in WITHOUT])
def test_each_trained_method_reports_one_objective(name):
    method = methods.get(name)
    x = np.random.default_rng(0).standard_normal((20, 3))
    hparams = Centred(method.search_space(TASK)).best().hparams
    fits, schedule = [Fit(np.arange(20), hparams, 0)], Schedule(20, 5, 1, method.batches_per_update)
    trained = train_stacked(
        method, TASK, Data.of(x, x.sum(1)), fits, schedule, execution="eager", n_recorded=1, stacked=method.stackable
    )
    (traces,) = trained.training_diagnostics()
    (objective,) = SIGNS.keys() & traces.keys()
    assert np.isfinite(traces[objective].values).all()
