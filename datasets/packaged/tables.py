"""Tables in installed packages: where they lie, what is said if they are missing, and their arrays and splits.

No package is imported. Its files are pinned by SHA-256 and compared before they are read, so that another version of
the package cannot change a data set. A copy of the package's folder in the data folder serves as well.
"""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep_bench.datasets.own.columns import features_of
from lockstep_bench.datasets.own.dummies import with_inputs
from lockstep_bench.datasets.records import Arrays
from lockstep_bench.datasets.splits import fixed_splits

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

N_SPLITS = 10
OWN_SPLITS = "Its 10 splits are this project's own, so no published table compares with them."


@cache
def installed(package: str) -> str:
    """Return the folder of an installed package, or its name, for a folder below the data folder. Imports nothing."""
    spec = find_spec(package)
    return str(Path(spec.origin).parent) if spec and spec.origin else package


def advice(package: str, command: str) -> str:
    """Return what to do if a package's files are missing or differ, for `Source.by_hand`.

    Args:
        package: import name of the package.
        command: command that installs the version whose files are pinned.
    """
    return f"run `{command}`, or put that package's folder {package} at"


def rows_of(beside: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a table with a heading and tabs, by column.

    Args:
        beside: path of the module in whose folder the table lies.
        name: name of the file.
    """
    heading, *lines = Path(beside).with_name(name).read_text(encoding="utf-8").splitlines()
    return [dict(zip(heading.split("\t"), line.split("\t"), strict=True)) for line in lines]


def arrays(inputs: "pd.DataFrame", y: "np.ndarray", seed: int) -> Arrays:
    """Return x (N, P), y (N,) and `N_SPLITS` random splits of 90 % training rows.

    Texts become columns of zeros and ones as in a user's own table (`datasets.own.columns`).

    Args:
        inputs: table of N rows, numbers and texts.
        y: (N,), targets or class numbers.
        seed: of the splits.
    """
    features = features_of(inputs, "")
    return features.x, y, with_inputs(fixed_splits(len(y), N_SPLITS, seed), features.x, features.dummies)


def only(contents: Mapping[str, bytes]) -> bytes:
    """Return the contents of a set's single file."""
    (content,) = contents.values()
    return content
