"""posteriors 0.1.3: vi.dense factors L L^T although it has L, and fails if rounding makes L L^T singular."""

import torch
import torchopt
from posteriors.vi import dense

torch.manual_seed(0)
precisions = torch.logspace(0, 7, 40)  # of a posterior with independent weights


def log_posterior(weights, _):
    return -0.5 * (precisions * weights.square()).sum(), torch.tensor([])


transform = dense.build(log_posterior, torchopt.adam(lr=0.03), init_L=0.05)
state = transform.init(torch.zeros(40))
for number in range(1000):
    try:
        state, _ = transform.update(state, None)
    except torch.linalg.LinAlgError as error:
        print(f"update {number + 1}: {error}")
        break
