"""Exceptions that a limit of the system causes are said in words, and no others."""

import errno
import re

import pytest

from lockstep_bench.shared.limits import in_words


def caused_by(problem: BaseException) -> ImportError:
    outer = ImportError("a library cannot be imported")
    outer.__cause__ = problem
    return outer


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "no more files open .*ulimit -n"),
        (OSError(errno.ENFILE, "Too many open files in system"), "no more files open"),
        (RuntimeError("can't start new thread"), "no more threads or processes"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "no more threads or processes"),
        (MemoryError(), "no memory left"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "no memory left"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "no memory left"),
    ],
)
def test_system_limits_are_reported_with_a_remedy(problem, words):
    for each in (problem, caused_by(problem)):
        assert re.search(words, in_words(each) or "")


@pytest.mark.parametrize("problem", [OSError(errno.ENOENT, "No such file"), RuntimeError("odd"), ImportError("no x")])
def test_other_exceptions_do_not_count_as_system_limits(problem):
    assert in_words(problem) is None
    assert in_words(caused_by(problem)) is None
