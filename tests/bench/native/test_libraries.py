"""Compiled loops stay in a folder of the user's own, and come back from there."""

import ctypes
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockstep_bench.bench.native import compiler, libraries, library_cache
from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.bench.native.libraries import compiled
from lockstep_bench.bench.native.library_cache import CACHE_VARIABLE, cache_folder

SOURCE = 'extern "C" int answer() {{ return {}; }}'
OLD = time.time() - 10 * library_cache.IN_USE_SECONDS


@pytest.fixture(autouse=True)
def folder(empty_cache, monkeypatch) -> Path:
    """The cache's; the compiler has passed its trial."""
    monkeypatch.setattr(libraries, "obstacle", lambda: None)
    return empty_cache


def stored_libraries() -> list[Path]:
    return sorted(cache_folder().glob("*"))


def reason_of(number: int) -> str:
    with pytest.raises(NoCompiler) as reason:
        compiled(SOURCE.format(number))
    return str(reason.value)


def in_other_process(number: int) -> subprocess.Popen:
    program = (
        "from lockstep_bench.bench.native import libraries; libraries.obstacle = lambda: None; "
        f"print(libraries.compiled({SOURCE.format(number)!r}).answer())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True)


def test_cache_folder_comes_from_the_environment_variable(tmp_path):
    assert cache_folder() == tmp_path / "cache"


def test_cache_folder_is_the_users_by_default(monkeypatch):
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_folder().parts[-2:] == ("lockstep-bench", "native")


def test_compiled_libraries_are_cached(monkeypatch):
    assert compiled(SOURCE.format(42)).answer() == 42
    (library,) = stored_libraries()
    monkeypatch.setattr(libraries, "compile_library", None)  # cannot be called
    assert compiled(SOURCE.format(42)).answer() == 42
    assert stored_libraries() == [library]


def truncate(library: Path) -> None:
    os.truncate(library, 9000)  # loading it would end the process with SIGBUS


def replace_by_pipe(library: Path) -> None:
    library.unlink()
    os.mkfifo(library)


@pytest.mark.parametrize("damage", [truncate, replace_by_pipe])
def test_damaged_cached_library_is_compiled_again(damage):
    assert in_other_process(5).communicate(timeout=60)[0] == "5\n"
    (library,) = stored_libraries()
    whole = library.read_bytes()
    damage(library)
    assert in_other_process(5).communicate(timeout=60)[0] == "5\n"
    assert [path.read_bytes() for path in stored_libraries()] == [whole]


def test_folder_in_place_of_a_cached_library_is_reported():
    compiled(SOURCE.format(6))
    (library,) = stored_libraries()
    library.unlink()
    library.mkdir()
    reason = reason_of(6)
    assert "directory" in reason
    assert f"set {CACHE_VARIABLE}" in reason


def test_cache_key_depends_on_source_flags_and_headers(monkeypatch, tmp_path):
    compiled(SOURCE.format(1))
    compiled(SOURCE.format(2))
    assert len(stored_libraries()) == 2
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O1"))
    compiler.target.cache_clear()
    compiled(SOURCE.format(1))
    assert len(stored_libraries()) == 3
    (tmp_path / "header.hpp").write_text("// other")
    monkeypatch.setattr(compiler, "INCLUDE", tmp_path)
    compiler.target.cache_clear()
    compiled(SOURCE.format(1))
    assert len(stored_libraries()) == 4


@pytest.mark.parametrize("script", ["echo 'error: out of order' >&2; exit 1", "kill -9 $$", "true"])
def test_failing_compiler_leaves_no_cached_file(use_compiler, script):
    use_compiler(script)
    assert "could not compile a training loop" in reason_of(1)
    assert stored_libraries() == []


def test_library_that_cannot_be_loaded_is_reported(monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(libraries, "compile_library", lambda source, folder: broken)
    assert "cannot be loaded" in reason_of(7)


def test_concurrent_processes_compile_a_source_only_once(tmp_path, monkeypatch):
    calls, script = tmp_path / "calls", tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\ncase "$*" in *loop.cpp*) echo called >> {calls};; esac\nexec c++ "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    processes = [in_other_process(3) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["3\n"] * 3
    assert len(stored_libraries()) == 1
    assert calls.read_text() == "called\n"


def test_loops_compile_on_a_disk_without_file_locks(monkeypatch):
    def acquire(*arguments, **options):
        raise NotImplementedError("no flock")

    monkeypatch.setattr(library_cache.FileLock, "acquire", acquire)
    assert compiled(SOURCE.format(4)).answer() == 4


# ---- Where nothing can be written, or others can


def beneath_a_file(folder: Path) -> None:
    folder.write_text("")


def link_to_nowhere(folder: Path) -> None:
    folder.symlink_to(folder.parent / "nowhere" / "else")


def link_to_itself(folder: Path) -> None:
    folder.symlink_to(folder)


def no_permission(folder: Path) -> None:
    folder.symlink_to("/proc/cache")


def too_long(folder: Path) -> None:
    os.environ[CACHE_VARIABLE] = str(folder / ("x" * 1000))


@pytest.mark.parametrize("obstruct", [beneath_a_file, link_to_nowhere, link_to_itself, no_permission, too_long])
def test_error_names_a_cache_folder_that_cannot_be_made(folder, monkeypatch, obstruct):
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))  # restores what `too_long` changes
    obstruct(folder)
    reason = reason_of(1)
    assert str(folder) in reason
    assert reason.endswith(f"; mend that, or set {CACHE_VARIABLE} to another folder")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no disk that is always full")
def test_error_names_a_full_disk(folder, monkeypatch):
    def fill(source, scratch):
        with open("/dev/full", "w") as file:
            file.write(source)

    monkeypatch.setattr(libraries, "compile_library", fill)
    first, second = reason_of(1), reason_of(2)
    assert first == second
    assert f"{folder}, cannot be written: No space left on device" in first


def test_cached_libraries_load_from_a_read_only_disk(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(30, "Read-only file system")

    compiled(SOURCE.format(1))
    for name in ("utime", "mkdir", "chmod"):
        monkeypatch.setattr(os, name, refuse)
    assert compiled(SOURCE.format(1)).answer() == 1
    assert "cannot be written: Read-only file system" in reason_of(2)


def test_cache_folder_is_accessible_only_to_the_user(folder, monkeypatch):
    before = os.umask(0)
    try:
        compiled(SOURCE.format(1))
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o707, 0o720, 0o2775, 0o1777])
def test_cache_folder_writable_by_others_is_refused(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    reason = reason_of(1)
    assert f"others may write to the cache of compiled loops, {folder}," in reason
    assert "chmod 700" in reason
    assert list(folder.iterdir()) == []
    assert stat.S_IMODE(folder.stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_cache_folder_readable_by_others_is_used(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    assert compiled(SOURCE.format(1)).answer() == 1


def test_default_cache_folder_loses_group_write_permission(monkeypatch, tmp_path):
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setattr(library_cache, "user_cache_path", lambda name: tmp_path / name)
    folder = tmp_path / "lockstep-bench" / "native"
    folder.mkdir(parents=True)
    folder.chmod(0o775)
    assert compiled(SOURCE.format(1)).answer() == 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_symbolic_link_to_an_own_folder_is_followed(folder, tmp_path):
    (tmp_path / "scratch").mkdir(0o700)
    folder.symlink_to(tmp_path / "scratch")
    assert compiled(SOURCE.format(1)).answer() == 1


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_cache_folder_of_another_user_is_refused(folder, monkeypatch, mode):
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert f"{folder}, belongs to another user" in reason_of(1)


def test_cached_library_of_another_user_is_recompiled(monkeypatch):
    compiled(SOURCE.format(1))
    (library,) = stored_libraries()
    monkeypatch.setattr(library_cache, "_is_own", lambda path: path.suffix != ".so")
    before = library.stat().st_ino
    assert compiled(SOURCE.format(1)).answer() == 1
    assert library.stat().st_ino != before


# ---- What is removed


def grow(folder: Path, *ages: float) -> list[Path]:
    """Put libraries of 1,000 bytes into the cache, used `ages` seconds before `OLD`, and return them."""
    folder.mkdir(mode=0o700, exist_ok=True)
    paths = [folder / f"{number:032x}-{number:032x}.so" for number in range(len(ages))]
    for path, age in zip(paths, ages, strict=True):
        path.write_bytes(bytes(1000))
        os.utime(path, (OLD - age, OLD - age))
    return paths


def test_least_recently_used_libraries_are_deleted_first(folder, monkeypatch):
    paths = grow(folder, 1, 3, 2, 0)
    compiled(SOURCE.format(1))
    new = next(path for path in stored_libraries() if path not in paths)
    monkeypatch.setattr(library_cache, "MOST_BYTES", 2 * new.stat().st_size + 2500)
    compiled(SOURCE.format(2))
    assert [path.exists() for path in paths] == [True, False, False, True]
    assert new.exists()


def test_loading_a_library_updates_its_time_of_use(folder, monkeypatch):
    compiled(SOURCE.format(1))
    (library,) = stored_libraries()
    os.utime(library, (OLD, OLD))
    compiled(SOURCE.format(1))
    monkeypatch.setattr(library_cache, "MOST_BYTES", 0)
    compiled(SOURCE.format(2))
    assert library.exists()
    assert len(stored_libraries()) == 2


def test_loaded_library_works_after_its_file_is_deleted(monkeypatch):
    loaded = compiled(SOURCE.format(1))
    (library,) = stored_libraries()
    os.utime(library, (OLD, OLD))
    monkeypatch.setattr(library_cache, "MOST_BYTES", 0)
    compiled(SOURCE.format(2))
    assert not library.exists()
    assert loaded.answer() == 1
    assert isinstance(loaded, ctypes.CDLL)
    assert compiled(SOURCE.format(1)).answer() == 1


def test_leftover_folders_of_killed_compilers_are_removed(folder):
    folder.mkdir(mode=0o700)
    for name, age in (("tmpold", OLD), ("tmpyoung", time.time())):
        (folder / name).mkdir()
        (folder / name / "loop.cpp").write_text("")
        os.utime(folder / name / "loop.cpp", (age, age))
    compiled(SOURCE.format(1))
    assert [path.name for path in stored_libraries() if path.is_dir()] == ["tmpyoung"]


def test_other_files_in_the_cache_folder_are_kept(folder, monkeypatch):
    monkeypatch.setattr(library_cache, "MOST_BYTES", 0)
    folder.mkdir(mode=0o700)
    for name in ("libm.so", "tmpfile", "notes.txt"):
        (folder / name).write_text("mine")
        os.utime(folder / name, (OLD, OLD))
    (folder / "tmpown").mkdir()
    os.utime(folder / "tmpown", (OLD, OLD))
    compiled(SOURCE.format(1))
    assert {path.name for path in stored_libraries()} > {"libm.so", "tmpfile", "notes.txt", "tmpown"}


def test_failed_deletion_from_the_cache_raises_no_error(folder, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    grow(folder, 1, 2)
    monkeypatch.setattr(library_cache, "MOST_BYTES", 0)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert compiled(SOURCE.format(1)).answer() == 1
