"""Thousands of trivial cells, while the driver and its workers are killed at random: every row, and little memory."""

import os
import subprocess
import sys
import time
from random import Random

import pyarrow as pa
import pytest
import soak
from runs import ROOT, wait_for

from benchmarks.trivial import trivial_cells
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.rows.reader import CellFiles

LARGEST_GROWTH = 0.1  # of the driver's resident memory, from its first hundredth of the cells to its last
START_SECONDS = 300
N_KILLS = 6
MANY = int(os.environ.get("SOAK_CELLS", "3000"))


def start(out, count: int, log) -> subprocess.Popen:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
    environment = os.environ | {"PYTHONPATH": path, "BENCH_ROWS_CACHE": str(out.with_name("cache"))}
    return subprocess.Popen([sys.executable, soak.__file__, str(out), str(count)], env=environment, stderr=log)


def samples(out) -> list[tuple[int, int]]:
    """Return the number of cells that a driver had stored, and its resident bytes, in the order of time."""
    path = out / soak.SAMPLES
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(stored), int(resident)) for stored, resident in map(str.split, lines)]


@pytest.mark.slow
def test_random_kills_lose_no_row_and_the_drivers_memory_stays_flat(tmp_path):
    out, moments, count = tmp_path / "r", Random(0), MANY
    with (tmp_path / "log").open("w+") as log:
        for after in sorted(moments.sample(range(1, 30), N_KILLS)):
            process = start(out, count, log)
            wait_for(lambda: len(samples(out)) >= after or process.poll() is not None, START_SECONDS)  # noqa: B023
            time.sleep(moments.uniform(0, 0.2))
            process.kill()  # which does nothing if it ended meanwhile
            process.wait()
        before = len(samples(out))
        assert start(out, count, log).wait() == 0, log.seek(0) or log.read()
    expected = pa.Table.from_pylist([soak.result_of(cell).row for cell in trivial_cells(count)], schema=CELLS)
    order = [("seed", "ascending"), ("split", "ascending")]
    stored = CellFiles(out, cached=False).table.sort_by(order)
    assert [name for name in CELLS.names if not stored[name].equals(expected.sort_by(order)[name])] == []
    resident = [each for _, each in samples(out)[before:]]
    print(f"driver: {resident[0] / 2**20:.0f} MiB at first, {max(resident) / 2**20:.0f} at most")
    assert max(resident) < (1 + LARGEST_GROWTH) * resident[0]
