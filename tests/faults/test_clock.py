"""A clock that somebody sets while cells run, forward and backward."""

import shutil
import subprocess

import pandas as pd
import pytest
from runs import command, rows

# Shifts every reading of the time of day, between ten days back and a year ahead, and leaves steady clocks alone.
JUMPING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) {
    static long readings;
    return __sync_fetch_and_add(&readings, 1) / 7 % 2 ? -10 * 86400L : 365 * 86400L;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, now);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec, now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    return where ? (*where = precise.tv_sec) : precise.tv_sec;
}
"""


@pytest.fixture
def jumping(environment, tmp_path) -> dict[str, str]:
    """The environment of processes whose clock jumps."""
    if not (compiler := shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("no C compiler")
    (tmp_path / "jumping.c").write_text(JUMPING)
    library = tmp_path / "jumping.so"
    made = [compiler, "-shared", "-fPIC", "-o", str(library), str(tmp_path / "jumping.c"), "-ldl"]
    if subprocess.run(made, capture_output=True).returncode:
        pytest.skip("this system cannot replace the clock of a program")
    return environment | {"LD_PRELOAD": str(library)}


@pytest.mark.slow
def test_system_clock_jumps_do_not_change_results(run, jumping, tmp_path):
    arguments = ("--methods", "map,vifa", "--splits", "0-1", "--timeout", "300", "--out")
    assert run(*arguments, "calm").returncode == 0
    done = subprocess.run(command(*arguments, "r"), cwd=tmp_path, env=jumping, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(rows(tmp_path / "r"), rows(tmp_path / "calm"))
    stored = pd.read_parquet(tmp_path / "r" / "cells")
    assert stored["elapsed_seconds"].between(0, 300).all()
    assert (pd.Timestamp.now("UTC") - stored["finished_at"]).abs().min() > pd.Timedelta(days=5)  # the clock was set
