"""posteriors 0.1.3: SGLD takes explicit steps, which diverge if they are longer than 2 / the largest curvature."""

import torch
from posteriors.sgmcmc import sgld

torch.manual_seed(0)
n = 60  # rows; noise and prior have precision 1
x = torch.linalg.qr(torch.randn(n, 3)).Q * n**0.5  # so that each curvature of the log posterior is 1 + n
y = x @ torch.randn(3) + torch.randn(n)


def log_posterior(weights, _):
    return -0.5 * (x @ weights - y).square().sum() - 0.5 * weights.square().sum(), torch.tensor([])


for step in (0.1, 1.9, 2.1):
    transform = sgld.build(log_posterior, lr=step / (1 + n))
    state = transform.init(torch.zeros(3))
    for _ in range(1000):
        state, _ = transform.update(state, None)
    print(f"a step of {step} over the curvature: finite after 1,000 updates: {bool(state.params.isfinite().all())}")
