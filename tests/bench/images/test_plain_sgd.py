"""The unit of cost."""

import numpy as np

from bench.images.plain_sgd import seconds_per_minibatch
from bench.row import Data
from methods.likelihoods import Categorical
from methods.networks import MLP


def test_a_larger_network_costs_more():
    data = Data.of(np.zeros((256, 400), dtype=np.uint8), np.arange(256.0) % 3)
    small, large = (
        seconds_per_minibatch(MLP(400, hidden, 3), Categorical(3), data, 256) for hidden in ((), (2000,) * 2)
    )
    assert 0 < small < large
