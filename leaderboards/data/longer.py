"""Gains of longer training, from results whose networks were trained again with the same hyper-parameters.

Each was trained twice: for the original length, and for a multiple of it.
"""

import json
from math import isclose
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data.frames import records
from lockstep_bench.shared.schema import cell_key

CONVERGENCE = ("objective_gain", "objective_gain_stderr", "still_improving")  # fields of a row's diagnostics
# Nats up to which a repetition is the same training: rounding on another machine, which training amplifies, moved the
# NMLL of `map`, `slang` and `vifa` on yacht by 0.01 to 0.06 (preset tuned, split 0).
SAME_NMLL = 0.1
CELL = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]


class LongerTraining(NamedTuple):
    """One method on one split, trained again for the original length and for `factor` times that, from the same seeds.

    Attributes:
        suite, dataset, method, preset, protocol_hash, split, seed: identify the result that was trained again.
        factor: how many times as long the longer training is.
        nmll: NMLL of the test rows after the original length of training; nats.
        nmll_longer: NMLL of the test rows after `factor` times that length; NaN if this training diverged.
        validation_nmll: mean validation NMLL over the cross-validation folds, after the original length.
        validation_nmll_longer: mean validation NMLL over the folds, after `factor` times that length.
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
        """Key of the result that was trained again (`shared.schema.cell_key`)."""
        return cell_key(self.suite, self.dataset, self.method, self.preset, self.protocol_hash, self.split, self.seed)

    @property
    def gain(self) -> float:
        """Decrease of the test NMLL by longer training, in nats."""
        return self.nmll - self.nmll_longer

    @property
    def validation_gain(self) -> float:
        """Decrease of the validation NMLL by longer training, in nats."""
        return self.validation_nmll - self.validation_nmll_longer


def longer_trainings(rows: pd.DataFrame) -> list[LongerTraining]:
    """Return each result that was trained again, with its scores after both lengths of training.

    Args:
        rows: columns of `shared.schema.LONGER`.
    """
    latest = rows.sort_values("finished_at", kind="stable").drop_duplicates([*CELL, "factor"], keep="last")
    scores = [*CELL, "factor", "nmll", "validation_nmll"]
    before = latest.loc[latest["factor"] == 1, scores].drop(columns="factor")
    pairs = latest.loc[latest["factor"] > 1, scores].merge(before, on=CELL, suffixes=("_longer", ""))
    ordered = pairs.sort_values([*CELL, "factor"], kind="stable")
    return list(records(ordered, LongerTraining))


def with_convergence(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the results, with missing convergence diagnostics taken from repeated trainings of the same cell.

    Old results have none, because the objective was not recorded then. A repetition with `factor` 1 has the cell's
    hyper-parameters, seeds and length of training, so that the cell need not be tuned again. Its diagnostics are taken
    if its NMLL is within `SAME_NMLL` of the cell's.

    Args:
        cells: columns of `shared.schema.CELLS`.
        rows: columns of `shared.schema.LONGER`.
    """
    repeated = rows[(rows["factor"] == 1) & rows["diagnostics"].notna()]
    keys, scores = repeated[CELL].itertuples(index=False, name=None), repeated[["nmll", "diagnostics"]]
    said = dict(zip(keys, scores.itertuples(index=False, name=None), strict=True))
    if not said:
        return cells
    diagnostics = cells["diagnostics"].tolist()
    for place, (*key, nmll) in enumerate(cells[[*CELL, "nmll"]].itertuples(index=False, name=None)):
        if tuple(key) in said:
            again, of_repetition = said[tuple(key)]
            own = json.loads(diagnostics[place]) if isinstance(diagnostics[place], str) else {}
            found = {name: value for name, value in json.loads(of_repetition).items() if name in CONVERGENCE}
            if isclose(nmll, again, rel_tol=0, abs_tol=SAME_NMLL):
                diagnostics[place] = json.dumps(found | own)
    return cells.assign(diagnostics=pd.Series(diagnostics, cells.index, cells["diagnostics"].dtype))
