"""Workers that a Dask worker offers, and the resources that they share."""

from lockstep_bench.bench.execution.cluster.members import DaskWorker


def member(number: int, host: str = "one", gpu: str | None = None, threads: int = 1) -> DaskWorker:
    return DaskWorker(f"tcp://10.0.0.1:{number}", f"id {number}", host, gpu, threads)


def workers(*members: DaskWorker) -> list:
    everyone = {one.address: one for one in members}
    return [one.worker(name, everyone) for one in members for name in one.names()]


def test_each_dask_thread_becomes_a_named_worker():
    found = workers(member(1, threads=2), member(2))
    assert [worker.name for worker in found] == ["one 1 0", "one 1 1", "one 2 0"]
    assert {(worker.device, worker.threads) for worker in found} == {("cpu", 1)}
    assert [worker.neighbours for worker in found] == [2, 2, 2]


def test_only_worker_of_a_device_has_exclusive_use():
    assert [worker.exclusive for worker in workers(member(1), member(2, host="two"))] == [True, True]
    on_gpus = workers(member(1, gpu="0"), member(2, gpu="GPU-dae7"), member(3, host="two", gpu="0", threads=2))
    assert [worker.exclusive for worker in on_gpus] == [True, True, False, False]


def test_job_sees_only_its_workers_gpu():
    (worker,) = workers(member(1, gpu="GPU-dae7"))
    assert worker.device == "cuda"
    assert worker.environment["CUDA_VISIBLE_DEVICES"] == "GPU-dae7"
    (worker,) = workers(member(1))
    assert "CUDA_VISIBLE_DEVICES" not in worker.environment
