"""Slots on devices."""

import pytest

from lockstep_bench.bench.execution.workers import Worker, workers_on


def test_single_cpu_worker_has_exclusive_use():
    (worker,) = workers_on(["cpu"], 1)
    assert worker.exclusive
    assert worker.environment == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def test_workers_on_one_cpu_count_as_neighbours():
    assert workers_on(["cpu"], 3) == [Worker(f"cpu {number}", neighbours=2) for number in range(3)]


@pytest.mark.parametrize(("each", "neighbours"), [(1, 0), (2, 1)])
def test_workers_see_only_their_own_gpu(monkeypatch, each, neighbours):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-b")
    workers = workers_on(["cuda:0", "cuda:1"], each)
    assert [worker.environment["CUDA_VISIBLE_DEVICES"] for worker in workers] == ["4"] * each + ["GPU-b"] * each
    assert {worker.device for worker in workers} == {"cuda"}
    assert {worker.neighbours for worker in workers} == {neighbours}
    assert len({worker.name for worker in workers}) == 2 * each
