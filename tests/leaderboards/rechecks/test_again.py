"""A cell of a real run, run again by the recheck's own command."""

import subprocess

import pytest
from runs import command

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.rechecks.running import NotRun, run_again


@pytest.mark.slow
def test_repeated_cell_gives_bitwise_equal_numbers(tmp_path):
    run = command("--methods", "map", "--splits", "1", "--set", "max_minibatches=5", "--out", tmp_path)
    subprocess.run(run, check=True, capture_output=True)
    (kept,) = read_results(tmp_path).rows.to_dict("records")
    new = run_again(kept)
    assert (new["nmll"], new["hparams"], new["code_identity"]) == (kept["nmll"], kept["hparams"], kept["code_identity"])
    with pytest.raises(NotRun):
        run_again(kept | {"protocol_hash": "other"})
