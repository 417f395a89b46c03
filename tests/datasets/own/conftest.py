"""A table of 40 rows with numbers and texts, and a way to write tables to files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def frame() -> pd.DataFrame:
    """Columns area (numbers), city (three texts), heated (two texts), price (numbers) and sold (two texts)."""
    generator = np.random.default_rng(0)
    area = generator.uniform(30, 200, 40)
    return pd.DataFrame(
        {
            "area": area,
            "city": np.resize(["Oslo", "Bern", "Rome"], 40),
            "heated": np.resize(["yes", "no"], 40),
            "price": 2 * area + generator.normal(size=40),
            "sold": np.resize(["no", "no", "yes"], 40),
        }
    )


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """`write(frame, name)`: write a table to a file and return its path."""

    def write(frame: pd.DataFrame, name: str = "houses.csv") -> Path:
        path = tmp_path / name
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
        return path

    return write
