"""Slots on devices."""

import pytest

from bench.execution.workers import Slot, slots_on


def test_a_lone_cpu_slot_has_the_machine_to_itself():
    (slot,) = slots_on(["cpu"], 1)
    assert slot.exclusive
    assert slot.environment == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def test_slots_of_one_cpu_are_neighbours():
    assert slots_on(["cpu"], 3) == [Slot(f"cpu {number}", neighbours=2) for number in range(3)]


@pytest.mark.parametrize(("each", "neighbours"), [(1, 0), (2, 1)])
def test_every_gpu_gets_its_slots_and_shows_itself_alone(monkeypatch, each, neighbours):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-b")
    slots = slots_on(["cuda:0", "cuda:1"], each)
    assert [slot.environment["CUDA_VISIBLE_DEVICES"] for slot in slots] == ["4"] * each + ["GPU-b"] * each
    assert {slot.device for slot in slots} == {"cuda"}
    assert {slot.neighbours for slot in slots} == {neighbours}
    assert len({slot.name for slot in slots}) == 2 * each
