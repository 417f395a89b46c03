"""Entries and published numbers of a made-up paper."""

import pandas as pd
import pytest

from lockstep_bench.shared.papers.entries import Claim, Entry, Ratio, Run

PAPER = "A made-up paper"


@pytest.fixture
def entry():
    """An entry of one run of vifa and map on two data sets, three splits each, but for what is given."""
    run = Run("uci", "paper", ("vifa", "map", "mfvi(tempering=0.1)"), ("energy", "wine"), "0-1,4")

    def make(**changes) -> Entry:
        defaults = {
            "paper": PAPER,
            "name": "made-up-table-1",
            "table": "Table 1",
            "title": "Scores",
            "protocol": "Three splits.",
            "runs": (run,),
            "claims": (Claim("vifa is better than map (section 3)", "nmll", "vifa", "below", "map"),),
        }
        return Entry(**defaults | changes)

    return make


@pytest.fixture
def ratio():
    """A published time that is compared as a ratio to that of map."""
    return Ratio("sgd_ratio", "map")


@pytest.fixture
def published():
    """Published numbers of energy's NMLL in Table 1, from dictionaries of what differs."""

    def make(*rows: dict) -> pd.DataFrame:
        default = {"source": PAPER, "table": "Table 1", "suite": "uci", "dataset": "energy", "method": "vifa"}
        default |= {"metric": "nmll", "statistic": "mean", "value": 2.0, "stderr": 0.1, "n": 20.0}
        return pd.DataFrame([default | {"note": "", "incomparable": ""} | row for row in rows])

    return make
