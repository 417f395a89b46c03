"""lightning-uq-box 0.2.0: the ELBO of one tensor needs beta = its number of weights; the default is 100."""

from functools import partial

import torch
from lightning_uq_box.uq_methods import BNN_VI_ELBO_Regression

torch.manual_seed(0)
n = 60  # rows; noise and prior have precision 1
x = torch.linalg.qr(torch.randn(n, 3)).Q * n**0.5  # so that the exact posterior is N(x^T y / (1 + n), I / (1 + n))
y = x @ torch.tensor([1.0, 2.0, -1.0])[:, None] + torch.randn(n, 1)
exact, sd = (x.T @ y / (1 + n)).T, (1 + n) ** -0.5


class NLL(torch.nn.Module):
    def forward(self, outputs, targets):
        return 0.5 * (outputs - targets).square().mean()


for beta in (100, 3):
    network = torch.nn.Sequential(torch.nn.Linear(3, 1, bias=False))
    adam = partial(torch.optim.Adam, lr=0.01)
    module = BNN_VI_ELBO_Regression(network, NLL(), 0, beta=beta, num_mc_samples_train=1, optimizer=adam)
    module.num_training_points = n
    optimiser = module.configure_optimizers()["optimizer"]
    for _ in range(3000):
        optimiser.zero_grad()
        module.compute_elbo_loss(x, y)[0].backward()
        optimiser.step()
    layer = module.model[0]
    off = ((layer.mu_weight - exact) / sd).abs().max().item()
    ratio = torch.nn.functional.softplus(layer.rho_weight).mean().item() / sd
    print(f"beta = {beta}: means off by up to {off:.1f} exact standard deviations, spread {ratio:.2f} x the exact one")
