"""Published errors on the splits of the suite `uci-gp`: `lair_net.csv`, four columns of a paper's Table 4.

The paper uses the files and splits of treforevans/uci_datasets. It standardises inputs and targets on the training
rows of a split, and computes the mean squared error in the target's original units. It prints the mean and the standard
deviation over the ten splits. Its errors of linear regression, which involve no chance, are those on our copies of the
splits (`tests/datasets/tabular/test_uci_gp.py`). The columns of the file are dataset and method, as named there, mse
and sd.

Pages show an RMSE: the root of the mean squared error m of ten splits with the standard deviation s. Its standard error
is s / (2 sqrt(10 m)), by the delta method. The RMSE has three digits, because m has two to six, and its standard error
has two. The mean of the splits' roots, which is measured here, cannot be larger.
"""

from pathlib import Path

import numpy as np
import pandas as pd

SOURCE = (
    "Goswami, Bhambu and Karmakar, LAIR-Net: Leaky Alignment-Impulse Residual Networks for Tabular Regression, "
    "arXiv:2610.11538"
)
NOTE = (
    "the ten splits of `uci-gp`; each method is tuned in each split by 5-fold cross-validation, the forest has 20 "
    "trees; computed here from a mean squared error and its standard deviation"
)
INCOMPARABLE = "the root of the mean squared error over splits; here the mean of each split's root, which is not larger"

METHODS = {"LAIR-Net": "lair-net", "MLP": "mlp", "RF": "random-forest", "LR": "linear-regression"}
N_SPLITS = 10


def read() -> pd.DataFrame:
    """Return the published numbers, columns `frames.PUBLISHED`: one RMSE for each row of the file."""
    table = read_errors()
    root = np.sqrt(table["mse"])
    return pd.DataFrame(
        {
            "source": SOURCE,
            "table": "Table 4",
            "suite": "uci-gp",
            "dataset": "gp-" + table["dataset"],
            "method": table["method"].map(METHODS),
            "metric": "rmse",
            "statistic": "mean",
            "value": root.map("{:.3g}".format).astype(float),
            "stderr": (table["sd"] / np.sqrt(N_SPLITS) / (2 * root)).map("{:.2g}".format).astype(float),
            "n": float(N_SPLITS),
            "note": NOTE,
            "incomparable": INCOMPARABLE,
        }
    )


def read_errors() -> pd.DataFrame:
    """Return the mean squared errors as the paper prints them, columns dataset, method, mse and sd."""
    return pd.read_csv(Path(__file__).with_name("lair_net.csv"))
