"""Shared by all tests: one thread each, since the runner already uses every core."""

import torch

torch.set_num_threads(1)
