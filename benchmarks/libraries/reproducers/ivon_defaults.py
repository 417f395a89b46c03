"""ivon-opt 0.1.3: after 10,000 updates with the default beta2, standard deviations have hardly moved."""

import ivon
import torch

torch.manual_seed(0)
n, precision = 60, 0.1  # of the noise; the prior is N(0, I)
x = torch.linalg.qr(torch.randn(n, 3)).Q * n**0.5  # so that each exact standard deviation is (1 + n precision)^(-1/2)
y = x @ torch.randn(3) + torch.randn(n) / precision**0.5

for beta2 in (0.99999, 0.999):
    model = torch.nn.Linear(3, 1, bias=False)
    optimiser = ivon.IVON(model.parameters(), lr=0.1, ess=n, weight_decay=1 / n, beta2=beta2)
    for _ in range(10_000):
        with optimiser.sampled_params(train=True):
            optimiser.zero_grad()
            (0.5 * precision * (model(x)[:, 0] - y).square().mean()).backward()
        optimiser.step()
    group = optimiser.param_groups[0]
    sds = (n * (group["hess"] + group["weight_decay"])).rsqrt()
    ratios = sds * (1 + n * precision) ** 0.5
    print(f"beta2 = {beta2}: standard deviations are {ratios.min():.2f} to {ratios.max():.2f} x the exact ones")
