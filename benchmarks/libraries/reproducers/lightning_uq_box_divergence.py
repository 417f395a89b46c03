"""lightning-uq-box 0.2.0: the divergence is averaged over each tensor, and `prior_sigma` is a standard deviation."""

import torch
from lightning_uq_box.models.bnn_layers import LinearVariational
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import softplus

torch.manual_seed(0)
layer = LinearVariational(3, 8, prior_sigma=2.0)
tensors = [(layer.mu_weight, layer.rho_weight), (layer.mu_bias, layer.rho_bias)]
n_weights = sum(mean.numel() for mean, _ in tensors)
for prior, words in ((2.0, "standard deviation"), (2.0**0.5, "variance")):
    parts = [kl_divergence(Normal(mean, softplus(rho)), Normal(0, prior)) for mean, rho in tensors]
    total, averages = sum(part.sum() for part in parts), sum(part.mean() for part in parts)
    print(f"prior of {words} 2: KL {total:.1f} nats, sum of averages over tensors {averages:.2f}")
print(f"kl_loss() is {layer.kl_loss():.2f}, times {n_weights} weights {n_weights * layer.kl_loss():.1f}")
