"""Free memory under limits that are written down by hand, in folders like the system's."""

import pytest

from lockstep_bench.bench.environment.machine import free_of_cgroups, gpu_names, memory_kills, this_machine

GIB = 2**30


def group(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def test_out_of_memory_kills_are_read_from_vmstat(tmp_path):
    (tmp_path / "vmstat").write_text("oom_killer 7\noom_kill 3\npgfault 9\n")
    assert memory_kills(tmp_path / "vmstat") == 3
    assert memory_kills(tmp_path / "elsewhere") == 0


def test_free_memory_considers_all_nested_cgroups_and_file_cache(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/user/job\n")
    inactive = f"anon 7\ninactive_file {GIB}"
    group(root / "user/job", {"memory.max": 8 * GIB, "memory.current": 3 * GIB, "memory.stat": inactive})
    group(root / "user", {"memory.max": 6 * GIB, "memory.current": 5 * GIB, "memory.stat": "anon 7"})
    group(root, {"memory.max": "max", "memory.current": 20 * GIB, "memory.stat": "anon 7"})
    assert sorted(free_of_cgroups(root, own)) == [GIB, 6 * GIB]  # 6 - 5 of the outer; 8 - 3 + 1 of the inner


def test_memory_limit_of_a_container_is_at_the_cgroup_root(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/\n")
    group(root, {"memory.max": 4 * GIB, "memory.current": GIB, "memory.stat": "inactive_file 0"})
    assert free_of_cgroups(root, own) == [3 * GIB]


def test_free_memory_is_read_from_cgroup_version_1(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("5:cpu,cpuacct:/a\n4:memory:/a\n")
    limits = {"memory.limit_in_bytes": 2 * GIB, "memory.usage_in_bytes": GIB}
    group(root / "memory/a", limits | {"memory.stat": f"total_inactive_file {GIB // 2}"})
    assert free_of_cgroups(root, own) == [3 * GIB // 2]


def test_cgroup_over_its_memory_limit_has_no_free_memory(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/\n")
    group(root, {"memory.max": GIB, "memory.current": 2 * GIB, "memory.stat": "inactive_file 0"})
    assert free_of_cgroups(root, own) == [0]


def test_missing_cgroup_files_give_no_memory_limit(tmp_path):
    assert free_of_cgroups(tmp_path, tmp_path / "absent") == []


def test_detected_cores_and_memory_are_plausible():
    import psutil

    machine = this_machine()
    assert machine.cores >= 1
    assert 0 < machine.free_bytes <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("shown", "names"),
    [(None, ["0", "2"]), ("", ["0", "2"]), ("5,6,7", ["5", "7"]), ("GPU-a, GPU-b,3", ["GPU-a", "3"])],
)
def test_gpu_names_respect_cuda_visible_devices(monkeypatch, shown, names):
    if shown is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    assert gpu_names(["cuda:0", "cuda:2"]) == names
