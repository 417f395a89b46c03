"""What a worker's slots are, and what they share with others."""

from bench.execution.cluster.members import Member


def member(number: int, host: str = "one", gpu: str | None = None, threads: int = 1) -> Member:
    return Member(f"tcp://10.0.0.1:{number}", f"id {number}", host, gpu, threads)


def slots(*members: Member) -> list:
    everyone = {one.address: one for one in members}
    return [one.slot(name, everyone) for one in members for name in one.names()]


def test_a_slot_for_each_thread_with_a_name_of_its_own():
    found = slots(member(1, threads=2), member(2))
    assert [slot.name for slot in found] == ["one 1 0", "one 1 1", "one 2 0"]
    assert {(slot.device, slot.threads) for slot in found} == {("cpu", 1)}
    assert [slot.neighbours for slot in found] == [2, 2, 2]


def test_times_are_exclusive_on_a_host_or_gpu_that_has_one_slot():
    assert [slot.exclusive for slot in slots(member(1), member(2, host="two"))] == [True, True]
    on_gpus = slots(member(1, gpu="0"), member(2, gpu="GPU-dae7"), member(3, host="two", gpu="0", threads=2))
    assert [slot.exclusive for slot in on_gpus] == [True, True, False, False]


def test_a_job_is_shown_its_workers_gpu():
    (slot,) = slots(member(1, gpu="GPU-dae7"))
    assert slot.device == "cuda"
    assert slot.environment["CUDA_VISIBLE_DEVICES"] == "GPU-dae7"
    (slot,) = slots(member(1))
    assert "CUDA_VISIBLE_DEVICES" not in slot.environment
