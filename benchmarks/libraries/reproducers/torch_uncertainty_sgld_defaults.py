"""torch-uncertainty 0.13.0: with the default noise_factor, SGLD's draws have a hundredth of the posterior's spread."""

import torch
from torch_uncertainty.optim import SGLD

torch.manual_seed(0)
n = 60  # rows; noise and prior have precision 1
x = torch.linalg.qr(torch.randn(n, 3)).Q * n**0.5  # so that each exact standard deviation is (1 + n)^(-1/2)
y = x @ torch.randn(3) + torch.randn(n)

for settings in ({}, {"noise_factor": 1.0}):
    weights = torch.zeros(3, requires_grad=True)
    optimiser = SGLD([weights], lr=0.1 / (n + 1), weight_decay=1.0, **settings)
    draws = []
    for _ in range(5000):
        optimiser.zero_grad()
        (0.5 * (x @ weights - y).square().sum()).backward()
        optimiser.step()
        draws.append(weights.detach().clone())
    ratios = torch.stack(draws[1000:]).std(0) * (1 + n) ** 0.5
    name = settings or "defaults"
    print(f"{name}: standard deviations are {ratios.min():.3f} to {ratios.max():.3f} x the exact ones")
