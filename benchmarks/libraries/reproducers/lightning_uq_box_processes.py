"""lightning-uq-box 0.2.0: one seed gives other weights in another process, unless PYTHONHASHSEED is equal too.

`map_stochastic_modules` collects the names of layers in a set, so that layers draw in an order that hashes decide.
"""

import os
import subprocess
import sys

CODE = """
import torch
from lightning_uq_box.uq_methods import BNN_VI_ELBO_Regression
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
module = BNN_VI_ELBO_Regression(network, torch.nn.MSELoss(), 0)
print(module.model[0].mu_weight[0].tolist())
"""

for seed in ("1", "2"):
    run = subprocess.run(
        [sys.executable, "-c", CODE], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True
    )
    print(f"PYTHONHASHSEED={seed}: {run.stdout.strip() or run.stderr}")
