"""What longer training is worth: cells that were trained again with their hyper-parameters, once for longer."""

from typing import NamedTuple

import pandas as pd

from bench.schema import cell_key
from leaderboards.data.frames import records

CELL = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]


class LongerTraining(NamedTuple):
    """A cell trained for as long as before, and for `factor` times as long, from the same seeds.

    Attributes:
        suite, dataset, method, preset, protocol_hash, split, seed: of the cell.
        factor: how many times as long.
        nmll: of the test part, trained as long as before; nats.
        nmll_longer: trained `factor` times as long; NaN where that diverged.
        validation_nmll: mean over the folds of the search, trained as long as before.
        validation_nmll_longer: trained `factor` times as long.
    """

    suite: str
    dataset: str
    method: str
    preset: str
    protocol_hash: str
    split: int
    seed: int
    factor: int
    nmll: float
    nmll_longer: float
    validation_nmll: float
    validation_nmll_longer: float

    @property
    def key(self) -> str:
        """Key of the cell (`bench.schema.cell_key`)."""
        return cell_key(self.suite, self.dataset, self.method, self.preset, self.protocol_hash, self.split, self.seed)

    @property
    def gain(self) -> float:
        """How much longer training lowers the NMLL of the test part, nats."""
        return self.nmll - self.nmll_longer

    @property
    def validation_gain(self) -> float:
        """How much longer training lowers the NMLL of the validation rows, nats."""
        return self.validation_nmll - self.validation_nmll_longer


def longer_trainings(rows: pd.DataFrame) -> list[LongerTraining]:
    """Return the pairs of trainings, in the order of their cells.

    Args:
        rows: columns of `bench.schema.LONGER`.
    """
    latest = rows.sort_values("finished_at", kind="stable").drop_duplicates([*CELL, "factor"], keep="last")
    scores = [*CELL, "factor", "nmll", "validation_nmll"]
    before = latest.loc[latest["factor"] == 1, scores].drop(columns="factor")
    pairs = latest.loc[latest["factor"] > 1, scores].merge(before, on=CELL, suffixes=("_longer", ""))
    ordered = pairs.sort_values([*CELL, "factor"], kind="stable")
    return list(records(ordered, LongerTraining))
